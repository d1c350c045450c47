"""Tasks that would never run: schedules, time zones and triggers in a circle; and the jobs that our own target makes."""

import json

import pytest

from operable.flow.canonical import canonical_digest, stable_id
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.manifest.failure_handlers import expand
from operable.flow.targets.operable import unschedulable
from tests.flow.manifests import manifest, prompt_task, shell_task, triggered


def found(*tasks):
    return list(unschedulable(expand(manifest(*tasks))))


@pytest.mark.parametrize("cron", ["0 9 * * *", "*/5 0-6 1,15 * MON-FRI", "0 0 L * *", "59 23 31 12 7"])
def test_schedules_that_a_clock_understands_are_fine(cron):
    assert found(shell_task(schedule={"cron": cron, "tz": "Europe/Berlin"})) == []


@pytest.mark.parametrize(
    "cron", ["soon", "@daily", "61 * * * *", "* * * *", "* * * * * *", "0 0 31 2 *", "*/0 * * * *", "\n"]
)
def test_schedules_that_it_does_not_are_named(cron):
    [(path, message)] = found(shell_task(schedule={"cron": cron}))

    assert path == "$.workflows[0].tasks[0].schedule.cron"
    assert message.startswith("is not a schedule: ")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "/etc/localtime", "America", "x\0y"])
def test_time_zones_that_do_not_exist_are_named(zone):
    [(path, _)] = found(shell_task(schedule={"cron": "0 9 * * *", "tz": zone}))

    assert path == "$.workflows[0].tasks[0].schedule.tz"


def test_triggers_in_a_circle_and_what_hangs_on_them_are_named():
    tasks = [
        shell_task(),
        shell_task("fine", **triggered("a")),
        shell_task("x", **triggered("y")),
        shell_task("y", **triggered("x")),
        shell_task("z", **triggered("y")),
    ]

    assert [path for path, _ in found(*tasks)] == [
        f"$.workflows[0].tasks[{number}].trigger.parent" for number in (2, 3, 4)
    ]


def test_a_very_long_chain_is_walked_in_one_go():
    tasks = [shell_task("t0"), *(shell_task(f"t{n}", **triggered(f"t{n - 1}")) for n in range(1, 20_000))]

    assert list(unschedulable({"workflows": [{"id": "w", "tasks": tasks[::-1]}]})) == []


def test_a_job_document_says_all_that_decides_a_run_with_profiles_merged():
    value = manifest(
        shell_task(identity={"ref": "i", "scope": "read"}, on_failure={"prompt": "see"}, approval={"policy": "auto-reject"}),
        identity_profiles=[{"id": "i", "provider": "none", "subject": {"kind": "agent", "principal": "agent://x"}}],
    )  # fmt: skip

    output = compile_manifest(value, "operable", explain=True)

    assert list(output) == [
        "target", "version", "job_version", "manifest_digest", "jobs", "identity_profiles", "explain",
    ]  # fmt: skip
    assert (output["target"], output["job_version"]) == ("operable", 1)
    assert output["manifest_digest"] == canonical_digest(value)
    root, handler = output["jobs"]
    assert (root["id"], root["parent_id"], root["enabled"]) == (stable_id("w", "a"), None, False)
    assert (handler["parent_id"], handler["invocation"]["on"], handler["enabled"]) == (
        root["id"],
        "failure",
        True,
    )
    assert root["identity"]["subject"]["principal"] == "agent://x"
    assert root["identity"]["provider"] == "none"
    assert [entry["invocation_mode"] for entry in output["explain"]] == ["schedule", "trigger"]


def test_a_job_document_shows_no_secret():
    value = manifest(
        shell_task(
            shell={"program": "x", "env": {"A": "canary-1"}, "stdin": "canary-2"},
            identity={"ref": "i", "subject": {"attributes": {"k": "canary-3"}}, "auth": {"inputs": {"token": "canary-4"}}},
            authorization={"ref": "z", "provider_config": {"x": "canary-5"}},
            authorization_proof={"ref": "p"},
            evidence={"ref": "e"},
        ),
        version="0.1",
        identity_profiles=[{"id": "i", "provider": "none", "provider_config": {"key": "canary-6"}}],
        authorization_profiles=[{"id": "z", "provider": "opa", "provider_config": {"endpoint": "canary-7"}}],
        authorization_proof_profiles=[{"id": "p", "method": "jwt", "proof": {"value_from": {"command": "canary-8"}}}],
        evidence_profiles=[{"id": "e", "provider": "ssh", "provider_config": {"key_path": "canary-9"}}],
    )  # fmt: skip

    assert "canary" not in json.dumps(compile_manifest(value, "operable", explain=True))


def test_our_own_target_refuses_what_would_never_run():
    with pytest.raises(FlowError) as refused:
        compile_manifest(manifest(prompt_task(schedule={"cron": "soon"})), "operable")

    assert refused.value.message == "Manifest validation failed"
    assert [error["path"] for error in refused.value.details["validation"]["errors"]] == [
        "$.workflows[0].tasks[0].schedule.cron"
    ]
