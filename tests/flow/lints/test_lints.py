"""Each rule on its own: what it finds, and what it leaves alone."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operable.flow.manifest.lint import lint, rules
from tests.flow.manifests import changed, manifest, prompt_task, shell_task, triggered

TASK = "$.workflows[0].tasks[0]"


def found(rule, value):
    return [(seen.path, seen.hint) for seen in lint(value, [rule])]


def paths(rule, value):
    return [path.removeprefix("$.workflows[0].") for path, _ in found(rule, value)]


@pytest.mark.parametrize("rule", rules())
def test_a_plain_manifest_is_left_alone(rule):
    good = manifest(shell_task(on_failure={"prompt": "look"}), prompt_task(**triggered("a")))

    assert found(rule, good) == []


@pytest.mark.parametrize(
    "cron",
    ["61 * * * *", "* * *", "@daily", "0 0 31 2 *", "0 0 30 2 *", "x" * 5000, "0 9 * * * *", "0 9 * * * * *"],
)
def test_a_schedule_that_no_clock_understands_is_found(cron):
    assert paths("cron-syntax", manifest(shell_task(schedule={"cron": cron}))) == ["tasks[0].schedule.cron"]


@pytest.mark.parametrize("cron", ["*/5 9-17 * * MON-FRI", "0 0 29 2 *", "0 0 L * *", "0 9 * * 5#2"])
def test_unusual_schedules_that_come_are_left_alone(cron):
    assert paths("cron-syntax", manifest(shell_task(schedule={"cron": cron}))) == []


def test_a_time_zone_that_nobody_knows_is_found_with_the_one_that_was_meant():
    wrong = manifest(shell_task(schedule={"cron": "0 9 * * *", "tz": "Europe/Zuric"}))
    right = manifest(shell_task(schedule={"cron": "0 9 * * *", "tz": "America/New_York"}))

    ((path, hint),) = found("time-zone", wrong)
    assert path == f"{TASK}.schedule.tz"
    assert "Europe/Zurich" in hint
    assert found("time-zone", right) == []


def test_tasks_that_wait_for_each_other_are_found_once():
    value = manifest(
        shell_task("root"),
        shell_task("a", **triggered("c")),
        shell_task("b", **triggered("a")),
        shell_task("c", **triggered("b")),
        shell_task("d", **triggered("c")),
    )

    (seen,) = lint(value, ["trigger-cycle"])
    assert seen.level == "error"
    assert sorted(seen.message.removeprefix("waits for itself: ").split(" -> ")[1:]) == ["a", "b", "c"]
    assert paths("unreachable-task", value) == ["tasks[4].trigger.parent"]


def test_what_waits_for_a_disabled_task_is_found():
    value = manifest(
        shell_task("off", enabled=False),
        shell_task("lost", **triggered("off")),
        shell_task("lost-too", **triggered("lost")),
        shell_task("off-too", enabled=False, **triggered("off")),
    )

    assert paths("unreachable-task", value) == ["tasks[1].trigger.parent", "tasks[2].trigger.parent"]


def test_a_handler_that_no_failure_reaches_is_found():
    value = manifest(
        shell_task("off", enabled=False, on_failure={"prompt": "x", "enabled": True}),
        shell_task("b", on_failure={"prompt": "x", "enabled": False}),
        shell_task("c", enabled=False, on_failure={"prompt": "x"}),
        shell_task("d", **triggered("c") | {"trigger": {"parent": "c", "on": "failure"}}),
        shell_task("e", on_failure={"prompt": "x"}),
    )

    assert paths("dead-handler", value) == ["tasks[0].on_failure", "tasks[1].on_failure", "tasks[3]"]


@pytest.mark.parametrize(
    "path, name, meant",
    [
        ("workflows.0.tasks.0.runtime", "timout_ms", "timeout_ms"),
        ("workflows.0.tasks.0.on_failure.reliability", "max_retrys", "max_retries"),
        ("workflows.0.tasks.0.identity.trust.constraints", "max_autonmy", "max_autonomy"),
        ("workflows.0.tasks.0.identity", "principle", "principal"),
        ("workflows.0.contract", "alowed_paths", "allowed_paths"),
        ("workflows.0", "task", "tasks"),
    ],
)
def test_a_typo_at_any_level_is_found_with_what_was_meant(path, name, meant):
    value = changed(manifest(version="0.1"), f"{path}.{name}", 5)

    ((place, hint),) = found("unknown-member", value)
    assert place.endswith(f".{name}")
    assert meant in hint


def test_flat_identities_are_known_in_the_old_version_only():
    value = manifest(shell_task(identity={"principal": "x"}), version="0.1")

    assert found("unknown-member", value) == []
    assert paths("unknown-member", {**value, "version": "0.2"}) == ["tasks[0].identity.principal"]


def test_a_name_that_leads_nowhere_is_found_with_what_was_meant():
    value = manifest(
        shell_task("deploy"),
        shell_task("b", **triggered("deplyo"), identity={"ref": "robt"}),
        identity_profiles=[{"id": "robot", "provider": "none"}],
    )

    assert found("dangling-name", value) == [
        ("$.workflows[0].tasks[1].trigger.parent", "did you mean deploy?"),
        ("$.workflows[0].tasks[1].identity.ref", "did you mean robot?"),
    ]


@pytest.mark.parametrize(
    "program, args",
    [
        ("rm", ["x"]),
        ("/bin/rm", ["-rf", "/x"]),
        ("sudo", ["-u", "postgres", "dropdb", "x"]),
        ("bash", ["-c", "cd /x && rm -rf *"]),
        ("sh", ["-ec", "find . -name '*.o' | xargs rm"]),
        ("bash", ["-c", "bash -c 'rm x'"]),
        ("bash", ["-c", "if true; then rm x; fi"]),
        ("bash", ["-c", "echo $(rm x)"]),
        ("bash", ["-c", 'echo "a; $(/bin/rm x)"']),
        ("mksh", ["-c", "r\\m x"]),
        ("find", [".", "-delete"]),
        ("git", ["push", "--force"]),
        ("kubectl", ["--context", "x", "delete", "pod", "y"]),
        ("terraform", ["destroy"]),
        ("psql", ["-c", "DROP TABLE users"]),
        ("aws", ["ec2", "terminate-instances"]),
        ("mkfs.ext4", ["/dev/sda1"]),
        ("env", ["A=b", "timeout", "5", "dd", "of=/dev/sda"]),
    ],
)
def test_a_destructive_shell_without_approval_is_found_and_with_approval_left_alone(program, args):
    task = shell_task(shell={"program": program, "args": args})

    assert paths("unapproved-destruction", manifest(task)) == ["tasks[0].shell"]
    for approval in ({"policy": "manual"}, {"required": True}, {"policy": "auto-reject"}):
        assert paths("unapproved-destruction", manifest({**task, "approval": approval})) == []
    assert paths("unapproved-destruction", manifest({**task, "approval": {"policy": "auto-approve"}})) != []
    assert paths("unapproved-destruction", manifest({**task, "enabled": False})) == []


@pytest.mark.parametrize(
    "program, args",
    [
        ("echo", ["rm", "-rf"]),
        ("git", ["push"]),
        ("kubectl", ["get", "pods"]),
        ("psql", ["-c", "select 1"]),
        ("bash", ["-c", "echo 'unbalanced"]),
        ("bash", ["-c", "echo 'a; rm x'"]),
        ("bash", ["-c", "echo a # ; rm x"]),
        ("grep", ["-r", "rm", "."]),
    ],
)
def test_a_shell_that_only_looks_is_left_alone(program, args):
    assert (
        paths("unapproved-destruction", manifest(shell_task(shell={"program": program, "args": args}))) == []
    )


def test_a_script_on_standard_input_and_a_check_are_looked_at():
    script = shell_task(shell={"program": "sh", "stdin": "rm -rf /x"})
    check = shell_task(verify={"shell": "rm -f lock"})

    assert paths("unapproved-destruction", manifest(script)) == ["tasks[0].shell"]
    assert paths("unapproved-destruction", manifest(check)) == ["tasks[0].verify.shell"]


CANARY = "c4n4ry-hunter2-c4n4ry"
TOKEN = "ghp_" + CANARY.replace("-", "") + "0123456789"


@pytest.mark.parametrize(
    "path, value, place",
    [
        ("shell.env.DB_PASSWORD", CANARY, "shell.env.DB_PASSWORD"),
        ("shell.args", ["--token", CANARY], "shell.args[1]"),
        ("shell.args", [f"--password={CANARY}"], "shell.args[0]"),
        ("shell.args", ["-H", f"Authorization: Bearer {CANARY}"], "shell.args[1]"),
        ("shell.args", [f"https://user:{CANARY}@example.org/"], "shell.args[0]"),
        ("shell.args", [TOKEN], "shell.args[0]"),
        ("prompt", f"use {TOKEN} for it", "prompt"),
        ("identity.auth.inputs.client_secret", {"value_from": {"literal": CANARY}}, "identity.auth.inputs.client_secret.value_from.literal"),
        ("identity.auth.provider_config.api_key", CANARY, "identity.auth.provider_config.api_key"),
        ("shell.stdin", f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----", "shell.stdin"),
    ],
)  # fmt: skip
def test_a_secret_is_found_and_never_repeated(path, value, place):
    seen = lint(changed(manifest(), f"workflows.0.tasks.0.{path}", value), ["secret-in-manifest"])

    assert [one.path for one in seen] == [f"{TASK}.{place}"]
    assert CANARY not in repr(seen)
    assert TOKEN not in repr(seen)


@pytest.mark.parametrize(
    "path, value",
    [
        ("shell.env.TOKEN_FILE", "/run/token"),
        ("shell.env.API_TOKEN", "${API_TOKEN}"),
        ("identity.auth.inputs.client_secret", {"value_from": {"env": "CLIENT_SECRET"}}),
        ("identity.auth.provider_config.token_env", "MY_TOKEN"),
        ("session.preferred_key", "main"),
        ("shell.args", ["--token-file", "/run/token", "--verbose", "https://example.org/a?b=c"]),
        ("auth_profile", "default"),
    ],
)
def test_a_reference_to_a_secret_is_left_alone(path, value):
    assert lint(changed(manifest(), f"workflows.0.tasks.0.{path}", value), ["secret-in-manifest"]) == []


def test_a_member_named_by_a_secret_is_not_shown():
    seen = lint(changed(manifest(), f"workflows.0.tasks.0.{TOKEN}", 1))

    assert seen
    assert TOKEN not in repr(seen)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from("version workflows tasks id schedule cron tz trigger parent on_failure shell args env".split()) | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)  # fmt: skip


@settings(deadline=None)
@given(_ANY)
def test_no_value_makes_a_rule_raise(value):
    for wrapped in (
        value,
        {"workflows": value},
        {"workflows": [{"tasks": value}]},
        {"workflows": [{"tasks": [value]}]},
    ):
        json.dumps([[seen.path, seen.message, seen.hint] for seen in lint(wrapped)])
