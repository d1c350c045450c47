"""`operable flow exec`, `run`, `approve` and what belongs to them: as processes, in machine mode and for people."""

import json
import os
import pwd
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import PROGRAM, alive, operable, running
from tests.flow.callers import script, signing_caller, until
from tests.flow.executions import bearer
from tests.flow.manifests import Json, manifest, prompt_task, shell_task, triggered
from tests.requirement import requirement
from tests.tool.drive import Outcome

CANARY = "zebra-quilt-ninety-one"


class Place:
    """A folder with a manifest, a home, and a user with a key."""

    def __init__(self, folder: Path) -> None:
        self.by = signing_caller(folder)
        self.work = folder / "work"
        self.env = {
            "HOME": str(folder / "user"),
            "USER": "me",
            "HOSTNAME": "example.com",
            "AGENTCLI_HOME": str(folder / "home"),
        }

    def write(self, value: Json) -> None:
        (self.work / "flow.json").write_text(json.dumps(value))

    def __call__(self, *words: str, env: dict[str, str] | None = None, **options: Any) -> Outcome:
        return operable("flow", *words, env=self.env | (env or {}), cwd=self.work, **options)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_a_task_is_run_and_its_answer_is_an_event(place):
    place.write(manifest())
    done = place("exec", "flow.json", "a")
    (event,) = done.of("flow_execution")

    assert done.exit_code == 0, done
    assert (event["ok"], event["exit_code"], event["answer"]["result"]["stdout"]) == (True, 0, "hi\n")
    assert event["answer"]["attestation"]["method"] == "ssh-signature"


def test_who_lacks_an_approval_is_told_the_command_that_gives_it(place):
    place.write(manifest(script("true", approval={"policy": "manual"})))

    refused = place("exec", "flow.json", "a")
    assert (refused.exit_code, refused.error["hint"]) == (77, "operable flow approve flow.json a")
    assert place(*refused.error["hint"].split()[2:]).exit_code == 0
    assert place("exec", "flow.json", "a").exit_code == 0


def test_who_has_no_key_is_told_to_approve_without_a_signature_where_that_counts(place, tmp_path):
    """The hint of the refusal and that of a failed approval are the same command, and it works."""
    place.write(manifest(script("true", approval={"policy": "manual"})))
    keyless = {"HOME": str(tmp_path / "keyless")}
    line = "operable flow approve flow.json a --signer none"

    refused = place("exec", "flow.json", "a", env=keyless)
    unsigned = place("approve", "flow.json", "a", env=keyless)
    assert (refused.error["hint"], unsigned.error["hint"]) == (line, line)
    assert (unsigned.exit_code, unsigned.error["code"]) == (77, "FLOW_REFUSED")
    assert "keyless" not in unsigned.error
    assert place(*line.split()[2:], env=keyless).exit_code == 0
    assert place("exec", "flow.json", "a", env=keyless).exit_code == 0

    signers = tmp_path / "signers"
    signers.write_text("")
    asked = place("approve", "flow.json", "a", env=keyless | {"AGENTCLI_ALLOWED_SIGNERS": str(signers)})
    assert asked.error["hint"] == "operable flow approve flow.json a --signing-key FILE"


def test_people_see_what_the_task_printed(place):
    place.write(manifest())
    done = place("exec", "flow.json", "a", output=None)

    assert done.exit_code == 0
    assert done.stdout.decode().startswith("hi\n")


@requirement("agentcli:cli:status-of-tasks")
def test_a_task_that_fails_is_an_answer_with_status_65(place):
    place.write(manifest(script("exit 3")))
    done = place("exec", "flow.json", "a")

    assert done.exit_code == 65
    assert done.of("flow_execution")[0]["exit_code"] == 3
    assert done.summary["ok"] is False


def test_a_dry_run_plans_and_does_nothing_and_its_digest_confirms(place):
    place.write(manifest(script("touch ran")))
    first, second = (place("exec", "flow.json", "a", "--dry-run") for _ in range(2))
    (plan,) = first.of("aoi:plan")

    assert (plan["action"], plan["target"]) == ("execute", "w/a")
    assert plan["preview"]["phases"]["audit"] == "skipped"
    assert first.summary["plan_digest"] == second.summary["plan_digest"]
    assert not (place.work / "ran").exists()
    done = place("exec", "flow.json", "a", "--confirm", first.summary["plan_digest"])
    assert done.exit_code == 0, done
    assert (place.work / "ran").exists()


CHANGES = {
    "edited": lambda work: (work / "deploy.sh").write_text("touch evil\n"),
    "gone": lambda work: (work / "deploy.sh").unlink(),
    "match that appeared": lambda work: (work / "deploy.sh.new").write_text("touch evil\n"),
}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize(
    "words", [("exec", "flow.json", "a"), ("run", "flow.json"), ("approve", "flow.json", "a")]
)
def test_a_plan_that_was_confirmed_does_nothing_after_a_file_of_the_task_changed(place, words, how):
    script_file = place.work / "deploy.sh"
    script_file.write_text("touch ran\n")
    policy = {"approval": {"policy": "manual"}} if words[0] == "approve" else {}
    place.write(manifest(script("sh ./deploy.sh; true ./deploy.sh*", **policy)))
    looked = place(*words, "--dry-run")
    (plan,) = looked.of("aoi:plan")
    assert plan["content"][str(script_file)].startswith("sha256:")
    CHANGES[how](place.work)

    refused = place(*words, "--confirm", looked.summary["plan_digest"])
    assert refused.error["code"] == "PLAN_CHANGED"
    assert not {"ran", "evil"} & {path.name for path in place.work.iterdir()}


def test_a_dry_run_lists_the_words_whose_files_are_not_known(place):
    place.write(manifest(script("./de$X")))

    for words in (("exec", "flow.json", "a"), ("run", "flow.json")):
        (plan,) = place(*words, "--dry-run").of("aoi:plan")
        assert plan["unbound"] == ["./de$X"]


def test_a_refusal_of_a_plan_is_in_the_audit_and_that_of_a_dry_run_is_not(place):
    place.write(manifest(script("touch ran", contract={"allowed_paths": ["elsewhere"]})))
    assert place("exec", "flow.json", "a", "--dry-run").error["flow_code"] == "contract_violation"
    assert place("audit").of("flow_record") == []

    refused = place("exec", "flow.json", "a")
    (record,) = place("audit").of("flow_record")
    assert (refused.exit_code, record["outcome"]) == (77, "contract_violation")
    assert record["execution_id"] == refused.error["execution_id"]


def telling() -> Json:
    """A task with everything that a person has to see before they say yes."""
    shell = {
        "program": "sh",
        "args": ["-c", "echo one\nrm -rf /x", "--password", CANARY],
        "env": {"STAGE": "production", "API_TOKEN": CANARY},
        "stdin": f"first\nsecond \x1b[2Jthird password={CANARY}",
    }
    source = {"inputs": {"token": {"value_from": {"command": "cat token"}}}}
    profiles = bearer(name="TOKEN")
    profiles["identity_profiles"][0]["auth"] |= source
    members: Json = {
        "approval": {"policy": "manual"},
        "verify": {"shell": "test -s result"},
        "identity": {"ref": "i"},
    }
    return manifest(shell_task(shell=shell, **members), **profiles)


@pytest.mark.parametrize(
    "words", [("exec", "flow.json", "a"), ("approve", "flow.json", "a"), ("run", "flow.json")]
)
def test_a_dry_run_shows_the_words_that_would_run_and_no_secret(place, words):
    place.write(telling())
    done = place(*words, "--dry-run")
    people = place(*words, "--dry-run", output=None)
    (plan,) = done.of("aoi:plan")

    assert plan["runs"]["argv"] == ["sh", "-c", "echo one\nrm -rf /x", "--password", "[redacted]"]
    assert plan["runs"]["variables"] == {"STAGE": "production", "API_TOKEN": "[redacted]"}
    assert plan["runs"]["stdin"].startswith("first\nsecond ")
    assert plan["runs"]["verify"] == "test -s result"
    assert plan["runs"]["cwd"] == str(place.work)
    assert plan["runs"]["value_commands"] == ["cat token"]
    assert 'runs.argv: ["sh","-c","echo one\\nrm -rf /x","--password","[redacted]"]' in people.stdout.decode()
    assert "\x1b" not in people.stdout.decode()
    assert CANARY.encode() not in done.stdout + people.stdout


def test_a_dry_run_shows_the_prompt_and_its_agent(place):
    place.write(
        manifest(prompt_task(prompt="Delete the branches.\nAll of them.", approval={"policy": "manual"}))
    )
    (ran,) = place("exec", "flow.json", "p", "--agent", "some-agent", "--dry-run").of("aoi:plan")
    (approved,) = place("approve", "flow.json", "p", "--dry-run").of("aoi:plan")

    assert ran["runs"] == {"prompt": "Delete the branches.\nAll of them.", "agent": "some-agent"}
    assert approved["runs"] == {"prompt": "Delete the branches.\nAll of them."}


def test_an_approver_who_is_not_named_is_the_account_and_not_what_variables_say(place):
    place.write(manifest(script("true", approval={"policy": "manual"})))
    account = f"{pwd.getpwuid(os.getuid()).pw_name}@{os.uname().nodename}"
    env = {"USER": "ceo", "USERNAME": "ceo", "HOSTNAME": "example.com"}

    (planned,) = place("approve", "flow.json", "a", "--dry-run", env=env).of("aoi:plan")
    (granted,) = place("approve", "flow.json", "a", env=env).of("flow_approval")
    (named,) = place("approve", "flow.json", "a", "--by", "ann@example.com", env=env).of("flow_approval")
    place("revoke", granted["approval_id"], env=env)
    (revoked,) = [each for each in place("approvals").of("flow_approval") if each["status"] == "revoked"]

    assert (planned["approver"], planned["approver_from"]) == (account, "account")
    assert (granted["approver"], granted["approver_from"]) == (account, "account")
    assert (named["approver"], named["approver_from"]) == ("ann@example.com", "--by")
    assert revoked["revoked_by"] == account


def test_an_account_outside_of_the_scope_is_told_to_name_the_approver(place):
    place.write(
        manifest(script("true", approval={"policy": "manual", "approver_scope": "domain:example.com"}))
    )
    refused = place("approve", "flow.json", "a", env={"USER": "me", "HOSTNAME": "example.com"})

    assert refused.error["flow_code"] == "approval_scope_mismatch"
    assert refused.error["hint"] == "name the approver: operable flow approve flow.json a --by PRINCIPAL"


@pytest.mark.parametrize(
    "task, env, category, flow_code",
    [
        (script("true", approval={"required": True}), {}, "authz", "approval_required"),
        (
            script("true", contract={"network": "none"}),
            {"AGENTCLI_SANDBOX": "off"},
            "config",
            "sandbox_enforcement_unavailable",
        ),
        (script("true", verify={"shell": "false"}), {}, "validation", "verify_failed"),
    ],
)
def test_a_gate_that_refuses_is_a_structured_error(place, task, env, category, flow_code):
    place.write(manifest(task))
    error = place("exec", "flow.json", "a", env=env).error

    assert (error["category"], error["flow_code"]) == (category, flow_code)
    assert re.fullmatch("[0-9a-f]{32}", error["execution_id"]), "it leads to the record"


def test_a_key_makes_a_run_once(place):
    place.write(manifest(script("echo x >> ran")))
    for _ in range(2):
        assert place("exec", "flow.json", "a", "--idempotency-key", "k1").exit_code == 0

    assert (place.work / "ran").read_text() == "x\n"


def test_from_approval_to_verdict(place):
    place.write(
        manifest(script("true", approval={"policy": "manual", "approver_scope": "domain:example.com"}))
    )
    refused = place("approve", "flow.json", "a", "--by", "you@elsewhere")
    me = ("--by", "me@example.com")
    made = place("approve", "flow.json", "a", *me, "--reason", "release", "--ttl-s", "600")
    spare = place("approve", "flow.json", "a", *me).of("flow_approval")[0]
    (approval,) = made.of("flow_approval")
    done = place("exec", "flow.json", "a", "--approval-id", approval["approval_id"])
    (event,) = done.of("flow_execution")

    assert refused.error["flow_code"] == "approval_scope_mismatch"
    assert (approval["approver"], approval["status"]) == ("me@example.com", "pending")
    assert event["answer"]["approval_used"]["approval_id"] == approval["approval_id"]
    assert place("revoke", approval["approval_id"]).error["code"] == "APPROVAL_USED"
    assert place("revoke", "nobody").error["code"] == "APPROVAL_NOT_FOUND"
    assert place("revoke", spare["approval_id"]).of("flow_approval")[0]["status"] == "revoked"
    assert place("revoke", spare["approval_id"]).summary["count"] == 0  # it is so already
    listed = place("approvals").of("flow_approval")
    assert sorted(each["status"] for each in listed) == ["consumed", "revoked"]
    assert len(place("approvals", "--status", "revoked").of("flow_approval")) == 1

    verdict = place("verify", event["execution_id"])
    assert verdict.exit_code == 0
    assert verdict.of("flow_verification")[0]["verified"] is True
    records = place("audit", "--newest", "3").of("flow_record")
    assert [record["outcome"] for record in records] == ["approval_used", "exit 0", "approval_revoked"]


def test_a_verdict_says_what_was_proven_and_not_who_the_caller_said_they_were(place):
    place.write(manifest())
    claimed = {"USER": "alice", "HOSTNAME": "evil"}
    done = place("exec", "flow.json", "a", env=claimed).of("flow_execution")[0]
    (verdict,) = place("verify", done["execution_id"]).of("flow_verification")
    (record,) = place("audit", "--newest", "1").of("flow_record")
    account = f"{pwd.getpwuid(os.getuid()).pw_name}@{os.uname().nodename}"

    assert (verdict["verified"], verdict["principal"], verdict["trust_source"]) == (
        True,
        "alice@evil",
        "own_keys",
    )
    assert verdict["proven"].startswith(
        f"the key {verdict['key_fingerprint']} signed it; whose key that is, is not known"
    )
    assert (record["record"]["principal_used"], record["record"]["account"]) == ("alice@evil", account)

    signers = place.by.place("allowed_signers")
    with open(place.by.environment["HOME"] + "/.ssh/id_ed25519.pub", encoding="utf-8") as file:
        Path(signers).write_text(f"alice@evil {file.read().strip()}\n")
    (listed,) = place("verify", done["execution_id"]).of("flow_verification")
    assert listed["proven"].endswith("signed it, which the allowed signers give to alice@evil")

    Path(signers).write_text("")
    (unknown,) = place("verify", done["execution_id"]).of("flow_verification")
    assert (unknown["verified"], unknown["proven"]) == (False, "nothing")


def test_a_damaged_audit_log_is_refused_with_the_words_that_begin_a_new_one(place):
    place.write(manifest())
    assert place("exec", "flow.json", "a").exit_code == 0
    log = Path(place.by.place("audit"))
    log.write_bytes(log.read_bytes().replace(b"sha256:", b"sha256;", 1))
    refuse = {"OPERABLE_AUDIT_DAMAGED": "refuse"}
    refused = place("exec", "flow.json", "a", env=refuse)
    look, _, begin = refused.error["hint"].partition("; then begin a new one: ")

    assert "nothing is appended to it" in refused.error["message"]
    assert place(*shlex.split(look)[2:]).exit_code == 65
    subprocess.run(
        ["sh", "-c", begin.replace(" && ", "; ")], check=False, timeout=60, stderr=subprocess.DEVNULL
    )
    assert place("exec", "flow.json", "a", env=refuse).exit_code == 0


@pytest.mark.parametrize("output", [(), ("--output", "jsonl")])
def test_with_stdout_closed_nothing_is_done_and_that_is_said(place, output):
    place.write(manifest(script("touch ran")))
    words = [PROGRAM, "flow", "exec", "flow.json", "a", *output]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *words],
        cwd=place.work,
        env=os.environ | place.env,
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stderr) == (74, b"operable: stdout is closed; nothing was done\n")
    assert not (place.work / "ran").exists()


def test_who_has_no_home_is_told_the_variable_that_names_one(place):
    place.write(manifest())
    refused = operable(
        "flow", "exec", "flow.json", "a", cwd=place.work, env={"HOME": "", "OPERABLE_HOME": ""}
    )
    assert "set OPERABLE_HOME" in refused.error["message"]


@pytest.mark.parametrize(
    "intent, named",
    [
        ({"read_only": True}, "intent.read_only"),
        ({"mode": "plan"}, "intent.mode"),
        ({"mode": "plan", "read_only": True}, "intent.mode and intent.read_only"),
    ],
)
def test_an_intent_that_nothing_holds_a_command_to_is_said_where_it_runs(place, intent, named):
    place.write(manifest(script("true", intent=intent)))
    warnings = [event["message"] for event in place("exec", "flow.json", "a").of("aoi:warning")]
    assert any(text.startswith(f"{named} not enforced: ") for text in warnings)

    place.write(manifest(script("true", intent={"mode": "execute", "read_only": False})))
    assert place("exec", "flow.json", "a").of("aoi:warning") == []


def test_an_edited_audit_log_is_found_and_so_is_an_execution_that_nobody_signed(place):
    place.write(manifest())
    done = place("exec", "flow.json", "a", "--signer", "none").of("flow_execution")[0]
    unsigned = place("verify", done["execution_id"])
    head = place("audit", "verify").of("flow_audit_verdict")[0]["head"]
    assert place("audit", "verify", "--anchor", head).exit_code == 0
    log = Path(place.by.place("audit"))
    log.write_text(log.read_text().replace('"exit_code":0', '"exit_code":1'))
    edited = place("audit", "verify")

    assert unsigned.exit_code == 65
    assert unsigned.of("flow_verification")[0]["reason"] == "signing disabled"
    assert edited.exit_code == 65
    assert edited.of("flow_audit_problem")[0]["code"] == "tampered"
    assert place("audit", "verify", "--anchor", "x").error["code"] == "INVALID_VALUE"


def test_people_see_the_head_of_the_audit_log_to_keep_and_what_was_lost(place):
    place.write(manifest())
    place("exec", "flow.json", "a")
    head = place("audit", "verify").of("flow_audit_verdict")[0]["head"]

    shown = place("audit", "verify", output=None).stdout.decode()
    assert shown.split()[:4] == ["OK", "RECORDS", "LOST", "HEAD"]
    assert head in shown


def test_no_task_starts_with_an_audit_setting_that_cannot_be_followed(place):
    place.write(manifest(script("touch ran")))
    for name, value in (("OPERABLE_AUDIT_DAMAGED", "refues"), ("OPERABLE_AUDIT_KEY", "/nonexistent/key")):
        failed = place("exec", "flow.json", "a", env={name: value})
        assert (failed.exit_code, failed.error["code"]) == (78, "AUDIT_SETTING_INVALID")
        assert failed.error["target"] == name
    assert not (place.work / "ran").exists()


def test_no_task_starts_on_an_edited_audit_log_if_the_operator_refuses(place):
    place.write(manifest(script("echo x >> ran")))
    env = {"OPERABLE_AUDIT_DAMAGED": "refuse"}
    for _ in range(2):
        assert place("exec", "flow.json", "a", env=env).exit_code == 0
    log = Path(place.by.place("audit"))
    log.write_text(log.read_text().replace('"exit_code":0', '"exit_code":1', 1))

    assert "damaged" in place("exec", "flow.json", "a", env=env).error["message"]
    assert (place.work / "ran").read_text() == "x\nx\n"


@requirement("agentcli:cli:status-of-tasks")
def test_a_run_tells_each_task_as_it_ends(place):
    failing = shell_task("b", shell={"program": "false"}, **triggered("a"))
    place.write(manifest(script("true"), failing))
    plan = place("run", "flow.json", "--dry-run")
    done = place("run", "flow.json")

    assert [each["target"] for each in plan.of("aoi:plan")] == ["w/a", "w/b"]
    assert [(each["task_id"], each["status"]) for each in done.of("flow_task")] == [
        ("a", "success"),
        ("b", "failed"),
    ]
    assert done.exit_code == 65
    assert (done.summary["succeeded"], done.summary["failed"]) == (1, 1)
    assert place("run", "flow.json", "--root", "b").error["code"] == "FLOW_ARGUMENT_INVALID"


@requirement("agentcli:cli:whoami")
def test_who_a_task_is_and_what_its_policy_says(place):
    place.write(manifest(shell_task(identity={"ref": "i"}), **bearer(name="TOKEN")))
    me = place("whoami", "flow.json", "a", env={"SECRET": CANARY})
    same = place("identity", "resolve", "flow.json", "a", env={"SECRET": CANARY})
    chain = place("identity", "validate-delegation", "flow.json", "a", env={"SECRET": CANARY})

    (event,) = me.of("flow_identity")
    assert event["trust"] == {"declared_level": "restricted", "effective_level": "restricted"}
    assert event["principal_used"] == "me@example.com"
    assert same.of("flow_identity") == [event]
    assert chain.of("flow_delegation")[0]["delegation"]["valid"] is True
    assert CANARY.encode() not in me.stdout + same.stdout
    assert place("authorization", "evaluate", "flow.json", "a", env={"SECRET": CANARY}).exit_code == 64
    assert place("authorization-proof", "verify", "flow.json", "a").exit_code == 64


@requirement("agentcli:attestation:providers")
@pytest.mark.parametrize(
    "words, kind, count",
    [
        (("identity",), "identity", 11),
        (("identity", "schema", "env-bearer"), "identity", 1),
        (("authorization",), "authorization", 4),
        (("authorization-proof",), "authorization-proof", 4),
        (("evidence",), "evidence", 3),
        (("evidence", "schema", "in-toto"), "evidence", 1),
        (("signing",), "signing", 2),
    ],
)
def test_providers_are_listed_and_shown(place, words, kind, count):
    found = place(*words).of("flow_provider")

    assert len(found) == count
    assert {each["kind"] for each in found} == {kind}


@requirement("agentcli:cli:subcommands")
def test_unknown_words_and_missing_ones_are_usage_errors(place):
    assert place("identity", "schema", "nobody").error["code"] == "FLOW_PROVIDER_UNKNOWN"
    for words in (("identity", "schema"), ("identity", "resolve"), ("identity", "nonsense"), ("audit", "x")):
        assert place(*words).exit_code == 64


@requirement("agentcli:exec:killed")
def test_a_command_that_is_terminated_ends_its_task(place):
    place.write(manifest(script("echo $$ > pid.new; mv pid.new pid; exec sleep 600")))
    with running("flow", "exec", "flow.json", "a", env=place.env, cwd=place.work) as run:
        until((place.work / "pid").exists)
        run.process.send_signal(signal.SIGTERM)
        run.process.wait(60)
    pid = int((place.work / "pid").read_text())
    until(lambda: not alive(pid))

    assert run.process.returncode == 143


@requirement("agentcli:exec:killed")
def test_kill_9_of_the_command_leaves_no_child_and_no_secret(place):
    place.write(
        manifest(
            script(
                "echo $TOKEN_FILE > where; echo $$ > pid.new; mv pid.new pid; exec sleep 600",
                identity={"ref": "i"},
            ),
            **bearer("file", expose_as="TOKEN_FILE"),
        )
    )
    env = place.env | {"SECRET": CANARY}
    with running("flow", "exec", "flow.json", "a", env=env, cwd=place.work) as run:
        until((place.work / "pid").exists)
        run.process.kill()
        run.process.wait(60)
    pid, secret = int((place.work / "pid").read_text()), (place.work / "where").read_text().strip()
    until(lambda: not alive(pid) and not os.path.exists(secret))


def test_people_see_why_a_task_failed_and_nothing_acts_on_their_terminal(place):
    place.write(manifest(script(r"printf 'bad \033[31mnews\n' >&2; exit 3")))
    done = place("exec", "flow.json", "a", output=None)

    assert done.exit_code == 65
    assert "bad ·[31mnews\n" in done.stderr


def test_a_run_warns_of_what_became_of_its_tasks(place):
    place.write(manifest(shell_task(shell={"program": "/no/such/program"})))
    warnings = place("run", "flow.json").of("aoi:warning")

    assert any(text["message"].startswith("a: cannot find the program") for text in warnings)


def test_an_audit_log_in_which_anybody_wrote_is_still_shown(place):
    place.write(manifest(shell_task(shell={"program": "/no/such/program"})))
    place("exec", "flow.json", "a")
    with open(place.by.place("audit"), "a") as log:
        log.write('{"source":"x","execution_id":5,"timestamp":[],"error":7,"result":[1]}\n')
        log.write('{"source":["x"],"execution_id":"\\u001b[31m","result":{"signal":9}}\n[[[\n')
    done = place("audit")

    assert done.exit_code == 0, done
    assert [each["outcome"] for each in done.of("flow_record")] == ["not started", "unknown", "9"]
    assert "\x1b" not in place("audit", output=None).stdout.decode()


def test_a_script_that_was_edited_after_its_approval_does_not_run(place):
    path = place.work / "deploy.sh"
    path.write_text("echo one")
    place.write(
        manifest(shell_task(shell={"program": "sh", "args": ["deploy.sh"]}, approval={"policy": "manual"}))
    )
    (planned,) = place("approve", "flow.json", "a", "--dry-run").of("aoi:plan")
    assert str(path) in planned["content"]
    assert place("approve", "flow.json", "a").exit_code == 0
    path.write_text("echo two")

    refused = place("exec", "flow.json", "a")
    assert (refused.exit_code, refused.error["changed"]) == (77, [str(path)])
    assert str(path) in refused.error["message"]
    path.write_text("echo one")
    assert place("exec", "flow.json", "a").exit_code == 0


def test_a_scope_that_nothing_proves_is_warned_about_at_both_ends(place):
    place.write(
        manifest(script("true", approval={"policy": "manual", "approver_scope": "domain:example.com"}))
    )
    for words in (("approve", "flow.json", "a", "--by", "me@example.com"), ("exec", "flow.json", "a")):
        done = place(*words)
        assert done.exit_code == 0, done
        assert [each for each in done.of("aoi:warning") if "nothing proves" in each["message"]] != []


def test_an_audit_log_that_is_gone_is_an_alarm_next_to_a_used_approval(place):
    place.write(manifest(script("true", approval={"policy": "manual"})))
    used = place("approve", "flow.json", "a").of("flow_approval")[0]["approval_id"]
    assert place("exec", "flow.json", "a").exit_code == 0
    assert place("audit", "verify").exit_code == 0
    for path in Path(place.env["AGENTCLI_HOME"], "state").glob("audit.*"):
        path.unlink()

    verdict = place("audit", "verify")
    assert verdict.exit_code == 65
    assert [each["code"] for each in verdict.of("flow_audit_problem")] == ["approval_use_lost"]
    refused = place("approve", "flow.json", "a")
    assert (refused.exit_code, refused.error["flow_code"], refused.error["lost"]) == (
        77,
        "approval_log_invalid",
        [used],
    )


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_a_task_whose_command_is_ended_by_a_signal_is_in_the_audit(place, number):
    place.write(manifest(script("touch started; sleep 600")))
    words = ("exec", "flow.json", "a")
    with running("flow", *words, env=place.env, cwd=place.work) as command:
        until((place.work / "started").exists)
        command.process.send_signal(number)
        command.process.wait(120)

    assert place("audit", "verify").exit_code == 0
    (record,) = place("audit").of("flow_record")
    assert record["task"] == "w/a"
    assert record["outcome"] in ("interrupted", "lost", "started"), record
