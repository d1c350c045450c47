"""Every option of `operable flow` and `operable rpc` does something, and that is seen.

Each check fails if the command does the same with and without its options.
"""

import functools
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from operable.cli.commands import rpc
from operable.flow.canonical import canonical_digest
from tests.cli.agents import Scene as Agents
from tests.cli.agents import steps
from tests.cli.drive import BIN, operable
from tests.cli.options import Table, commands
from tests.flow.callers import script, signing_caller
from tests.flow.executions import bearer
from tests.flow.manifests import Json, manifest, prompt_task, shell_task, triggered
from tests.flow.proofs.tokens import RSA, pem, token
from tests.flow.schedulers import PROGRAM, StandIn, capabilities
from tests.flow.ssh_keys import written
from tests.state.test_sealed_head import key_files
from tests.tool.drive import Outcome

pytestmark = pytest.mark.timeout(300)

MANUAL = {"policy": "manual"}
ACCOUNT = f"{pwd.getpwuid(os.getuid()).pw_name}@{os.uname().nodename}"


class Place:
    """A folder with two homes, a key, and a scheduler; `home` is the one that the environment names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.by = signing_caller(folder)
        self.work, self.home, self.other = folder / "work", folder / "home", folder / "other"
        self.env = {
            "HOME": str(folder / "user"),
            "USER": "me",
            "HOSTNAME": "example.com",
            "AGENTCLI_HOME": str(self.home),
        }

    def write(self, value: Json, name: str = "flow.json") -> None:
        (self.work / name).write_text(json.dumps(value))

    def __call__(self, *words: str, env: dict[str, str] | None = None, input: bytes = b"") -> Outcome:
        return operable(words[0], *words[1:], env=self.env | (env or {}), cwd=self.work, input=input)

    def flow(self, *words: str, **options: Any) -> Outcome:
        return self("flow", *words, **options)

    def ok(self, *words: str, **options: Any) -> Outcome:
        done = self.flow(*words, **options)
        assert done.exit_code == 0, done
        return done

    def scheduler(self) -> StandIn:
        return StandIn(self.folder, capabilities("4"))


TABLE = Table[Place]({**commands("operable.cli.commands.flow", "flow "), "rpc": rpc.COMMAND})
effect = TABLE.effect


# -- homes


@effect("flow paths", "--home")
@effect("flow skill-path", "--home")
def _(place: Place) -> None:
    for words in (["paths"], ["skill-path"]):
        shown = json.dumps(place.ok(*words, "--home", str(place.other)).events)
        assert str(place.other) in shown
        assert str(place.home) not in shown


@effect("flow register,flow registry,flow unregister", "--home")
@effect("flow register", "--name")
def _(place: Place) -> None:
    place.write(manifest())
    other = ("--home", str(place.other))
    place.ok("register", "flow.json", "--name", "x", *other)
    assert [event["name"] for event in place.ok("registry", *other).of("registered_flow")] == ["x"]
    assert place.ok("registry").of("registered_flow") == []
    place.ok("unregister", "x", "--confirm", *other)
    assert place.ok("registry", *other).of("registered_flow") == []


@effect("flow import", "--home")
@effect("flow import", "--name")
def _(place: Place) -> None:
    project = place.work / "project"
    project.mkdir()
    (project / "agentcli.json").write_text(json.dumps(manifest()))
    place.ok("import", "project", "--name", "y", "--home", str(place.other))
    found = place.ok("registry", "--home", str(place.other)).of("registered_flow")
    assert [event["name"] for event in found] == ["y"]
    assert place.ok("registry").of("registered_flow") == []


@effect("flow approve,flow approvals,flow revoke,flow exec,flow audit,flow verify", "--home")
def _(place: Place) -> None:
    place.write(manifest(script("true", approval=MANUAL)))
    other = ("--home", str(place.other))
    place.ok("approve", "flow.json", "a", *other)
    assert place.ok("approvals").of("flow_approval") == []
    assert [each["status"] for each in place.ok("approvals", *other).of("flow_approval")] == ["pending"]
    assert place.flow("exec", "flow.json", "a").error["flow_code"] == "approval_required"
    (done,) = place.ok("exec", "flow.json", "a", *other).of("flow_execution")
    named = {event["execution_id"] for event in place.ok("audit", *other).of("flow_record")}
    assert done["execution_id"] in named
    assert done["execution_id"] not in {each["execution_id"] for each in place.ok("audit").of("flow_record")}
    assert place.flow("verify", done["execution_id"], *other).of("flow_verification")[0]["verified"]
    assert place.flow("verify", done["execution_id"]).of("flow_verification") == []
    (made,) = place.ok("approve", "flow.json", "a", *other).of("flow_approval")
    assert place.flow("revoke", made["approval_id"]).exit_code != 0
    place.ok("revoke", made["approval_id"], *other)


@effect("flow run", "--home")
def _(place: Place) -> None:
    place.write(manifest())
    place.ok("run", "flow.json", "--home", str(place.other))
    assert (place.other / "state" / "audit.ndjson").exists()
    assert not place.home.exists()


@effect("flow apply,flow plan,flow prune,flow inspect", "--home")
def _(place: Place) -> None:
    place.write(manifest())
    place.write(manifest(shell_task("b")), "later.json")
    other = ("--home", str(place.other))
    place.ok("apply", "flow.json", *other)
    assert [event["action"] for event in place.ok("plan", "flow.json", *other).of("planned_job")] == [
        "unchanged"
    ]
    assert [event["action"] for event in place.ok("plan", "flow.json").of("planned_job")] == ["created"]
    assert len(place.ok("inspect", *other).of("backend_item")) == 1
    assert place.ok("inspect").of("backend_item") == []
    assert len(place.ok("prune", "later.json", "--confirm", *other).of("applied_job")) == 1
    assert place.ok("inspect", *other).of("backend_item") == []


# -- backends


@effect("flow apply,flow plan,flow prune,flow inspect", "--db")
def _(place: Place) -> None:
    place.write(manifest())
    place.write(manifest(shell_task("b")), "later.json")
    db = ("--db", "jobs.db")
    place.ok("apply", "flow.json", *db)
    assert (place.work / "jobs.db").exists()
    assert [event["action"] for event in place.ok("plan", "flow.json", *db).of("planned_job")] == [
        "unchanged"
    ]
    assert len(place.ok("inspect", *db).of("backend_item")) == 1
    assert place.ok("inspect").of("backend_item") == []
    assert len(place.ok("prune", "later.json", "--confirm", *db).of("applied_job")) == 1


@effect("flow apply,flow plan,flow prune,flow inspect", "--database")
def _(place: Place) -> None:
    """That jobs are kept there is seen in tests/engine/test_machines.py."""
    place.write(manifest())
    gone = ("--database", "postgresql://127.0.0.1:1/x")
    for words in (("apply", "flow.json"), ("plan", "flow.json"), ("prune", "flow.json"), ("inspect",)):
        assert place.flow(*words, *gone).of("aoi:error")[0]["code"] == "STORE_UNAVAILABLE", words
    assert place.ok("inspect").of("backend_item") == []


@effect("flow apply,flow plan,flow prune,flow inspect", "--target")
@effect("flow apply,flow plan,flow prune,flow capabilities", "--scheduler-bin")
def _(place: Place) -> None:
    scheduler = place.scheduler()
    place.write(manifest())
    place.write(manifest(shell_task("b")), "later.json")
    there = ("--scheduler-bin", scheduler.script(), "--db", str(scheduler.database))
    target = ("--target", "openclaw-scheduler")
    place.ok("apply", "flow.json", *target, *there)
    assert [row["name"] for row in scheduler.rows()] == ["A"]
    actions = [each["action"] for each in place.ok("plan", "flow.json", *target, *there).of("planned_job")]
    assert actions == ["unchanged"]
    shown = place.ok("inspect", "--fields", "name", *target, *there[2:]).of("backend_item")
    assert [event["item"] for event in shown] == [{"name": "A"}]
    (found,) = place.flow("capabilities", "flow.json", *there).of("backend_capabilities")
    assert (found["source"], found["handoff_version"]) == ("runtime", "4")
    place.ok("prune", "later.json", "--confirm", *target, *there)
    assert scheduler.rows() == []


@effect("flow capabilities", "--db")
def _(place: Place) -> None:
    seen = place.work / "asked"
    program = place.work / "scheduler"
    program.write_text(f'#!/bin/sh\necho "$*" > {seen}\necho "db=$SCHEDULER_DB" >> {seen}\nenv >> {seen}\n')
    program.chmod(0o755)
    place.write(manifest())
    place.flow("capabilities", "flow.json", "--scheduler-bin", str(program), "--db", "named.db")
    assert "named.db" in seen.read_text()


@effect("flow apply,flow plan,flow prune,flow capabilities", "--scheduler-prefix")
def _(place: Place) -> None:
    scheduler = place.scheduler()
    npm = place.work / "bin" / "npm"
    npm.parent.mkdir()
    seen = place.work / "asked"
    npm.write_text(f'#!/bin/sh\necho "$3" >> {seen}\nshift 5\nexec "{sys.executable}" "{PROGRAM}" "$@"\n')
    npm.chmod(0o755)
    env = {"PATH": f"{npm.parent}:{BIN}:/usr/bin:/bin"}
    place.write(manifest())
    prefix = ("--scheduler-prefix", "/opt/here", "--db", str(scheduler.database))
    target = ("--target", "openclaw-scheduler")
    for words in (
        ["capabilities", "flow.json", *prefix],
        ["plan", "flow.json", *target, *prefix],
        ["apply", "flow.json", *target, *prefix],
        ["prune", "flow.json", "--confirm", *target, *prefix],
    ):
        seen.unlink(missing_ok=True)
        place.flow(*words, env=env)
        assert set(seen.read_text().split()) == {"/opt/here"}, words


@effect("flow apply,flow plan", "--adopt-by")
def _(place: Place) -> None:
    place.write(manifest(shell_task("old", name="Same")))
    place.ok("apply", "flow.json")
    place.write(manifest(shell_task("new", name="Same")))
    by_name = ("--adopt-by", "name")
    actions = [event["action"] for event in place.ok("plan", "flow.json").of("planned_job")]
    assert actions == ["created"]
    assert [each["action"] for each in place.ok("plan", "flow.json", *by_name).of("planned_job")] == [
        "adopted"
    ]
    assert [each["action"] for each in place.ok("apply", "flow.json", *by_name).of("applied_job")] == [
        "adopted"
    ]


@effect("flow plan", "--prune")
def _(place: Place) -> None:
    place.write(manifest(shell_task(), shell_task("b")))
    place.ok("apply", "flow.json")
    place.write(manifest())
    assert "pruned" not in [each["action"] for each in place.ok("plan", "flow.json").of("planned_job")]
    assert "pruned" in [each["action"] for each in place.ok("plan", "flow.json", "--prune").of("planned_job")]


def proven(place: Place, **profile: Any) -> tuple[str, ...]:
    """A manifest with a proof, for a scheduler that does not verify it itself."""
    scheduler = StandIn(place.folder, capabilities("4", features={"authorization_proof_verification": False}))
    made = {"id": "p", "method": "jwt", "issuer": "i", **profile}
    place.write(manifest(shell_task(authorization_proof={"ref": "p"}), authorization_proof_profiles=[made]))
    return (
        *("--target", "openclaw-scheduler"),
        *("--scheduler-bin", scheduler.script(), "--db", str(scheduler.database)),
    )


@effect("flow apply,flow plan,flow prune", "--allow-proof-command")
def _(place: Place) -> None:
    there = proven(place, public_key=pem(RSA), proof={"value_from": {"command": f"touch {place.folder}/ran"}})
    for verb in ("plan", "apply", "prune"):
        guard = ["--confirm"] if verb == "prune" else []
        refused = place.flow(verb, "flow.json", *there, *guard)
        assert refused.error["hint"] == "allow it with --allow-proof-command"
        assert not (place.folder / "ran").exists()
        place.flow(verb, "flow.json", *there, *guard, "--allow-proof-command")
        (place.folder / "ran").unlink()


@effect("flow apply,flow plan,flow prune", "--allow-network")
def _(place: Place) -> None:
    there = proven(place, jwks_uri="https://127.0.0.1:9/", proof={"value_from": {"file": "proof"}})
    digest = canonical_digest(json.loads((place.work / "flow.json").read_text()))
    claims = {"iss": "i", "exp": time.time() + 3600, "manifest_digest": digest}
    (place.work / "proof").write_text(token(claims))
    for words in (
        ["plan", "flow.json"],
        ["apply", "flow.json", "--dry-run"],
        ["prune", "flow.json", "--dry-run"],
    ):
        refused = place.flow(*words, *there)
        assert (refused.error["code"], refused.error["hint"]) == (
            "FLOW_NOT_ALLOWED",
            "allow it with --allow-network",
        )
        asked = place.flow(*words, *there, "--allow-network")
        assert "the key set could not be fetched" in asked.error["message"]


@effect("flow inspect", "--fields")
@effect("flow inspect", "--where")
@effect("flow inspect", "--sanitize")
def _(place: Place) -> None:
    place.write(manifest(shell_task(), shell_task("b", enabled=False, name="B")))
    place.ok("apply", "flow.json")
    with closing(sqlite3.connect(place.home / "state" / "jobs.db", isolation_level=None)) as jobs:
        jobs.execute("UPDATE jobs SET name = name || ?", ("\x1b[31m",))
    assert len(place.ok("inspect").of("backend_item")) == 2
    (one,) = place.ok("inspect", "--where", "enabled=0", "--fields", "task_id").of("backend_item")
    assert one["item"] == {"task_id": "b"}
    plain, clean = (
        place.ok("inspect", "--fields", "name", *words).of("backend_item")
        for words in ([], ["--sanitize", "basic"])
    )
    assert plain != clean


# -- executions, alone and in a run


def executed(place: Place, verb: str, value: Json, *words: str, **options: Any) -> tuple[Outcome, Json]:
    """The outcome, and the answer of the execution or the error in its place."""
    place.write(value)
    done = place.flow(verb, "flow.json", *(["a"] if verb == "exec" else []), *words, **options)
    for event in done.of("flow_execution"):
        return done, event["answer"]
    for event in done.of("flow_task"):
        return done, event["record"]["execution"] or event["record"]["error"]
    return done, done.error


Verb = Callable[..., None]


def both(option: str) -> Callable[[Verb], Verb]:
    """The same for one task and for a workflow."""

    def keep(check: Verb) -> Verb:
        for verb in ("exec", "run"):
            effect(f"flow {verb}", option)(functools.partial(check, verb=verb))
        return check

    return keep


@both("--task-timeout-ms")
def _(place: Place, verb: str) -> None:
    value = manifest(script("sleep 600", runtime={"timeout_ms": 600_000}))
    _, answer = executed(place, verb, value, "--task-timeout-ms", "200")
    assert answer["result"]["timed_out"] is True
    _, longer = executed(
        place, verb, manifest(script("sleep 1", runtime={"timeout_ms": 1})), "--task-timeout-ms", "60000"
    )
    assert (longer["ok"], longer["result"]["timed_out"]) == (True, False)


@both("--signer")
def _(place: Place, verb: str) -> None:
    assert executed(place, verb, manifest())[1]["attestation"] is not None
    _, answer = executed(place, verb, manifest(), "--signer", "none")
    assert (answer["signer"], answer["attestation"]) == ("none", None)


@both("--signing-key")
def _(place: Place, verb: str) -> None:
    path, _ = written(place.work, name="another")
    usual = executed(place, verb, manifest())[1]["attestation"]["key_fingerprint"]
    named = executed(place, verb, manifest(), "--signing-key", str(path))[1]["attestation"]["key_fingerprint"]
    assert usual != named


@both("--evidence-provider")
def _(place: Place, verb: str) -> None:
    _, answer = executed(place, verb, manifest(), "--evidence-provider", "in-toto")
    assert answer["evidence"]["provider"] == "in-toto"
    assert executed(place, verb, manifest())[1]["evidence"] is None


@both("--instance-id")
def _(place: Place, verb: str) -> None:
    _, one = executed(place, verb, manifest(), "--instance-id", "blue")
    _, other = executed(place, verb, manifest())
    assert one["effective_task_hash"] != other["effective_task_hash"]


@both("--require-evidence")
def _(place: Place, verb: str) -> None:
    shutil.rmtree(place.folder / "user" / ".ssh")
    assert executed(place, verb, manifest())[1]["ok"] is True
    done, error = executed(place, verb, manifest(), "--require-evidence")
    assert done.exit_code == 65
    assert "evidence_failed" in (error.get("code"), error.get("flow_code"))


@both("--require-authorization")
def _(place: Place, verb: str) -> None:
    assert executed(place, verb, manifest())[1]["ok"] is True
    done, error = executed(place, verb, manifest(), "--require-authorization")
    assert done.exit_code != 0
    assert "invalid_argument" in (error.get("code"), error.get("flow_code"))


@both("--identity-debug")
@both("--presentation-debug")
def _(place: Place, verb: str) -> None:
    value = manifest(script("true", identity={"ref": "i"}), **bearer("env", name="TOKEN"))
    secret = {"SECRET": "zebra-quilt-ninety-one"}
    _, plain = executed(place, verb, value, env=secret)
    assert not {"identity_debug", "presentation_debug"} & set(plain)
    _, shown = executed(place, verb, value, "--identity-debug", "--presentation-debug", env=secret)
    assert shown["identity_debug"]["session"]["provider"] == "env-bearer"
    assert shown["presentation_debug"]["env_vars"] == ["TOKEN"]


@both("--workflow")
def _(place: Place, verb: str) -> None:
    two = manifest(script("echo one"))
    two["workflows"].append({"id": "w2", "name": "W2", "tasks": [script("echo two")]})
    assert executed(place, verb, two)[0].error["code"] == "FLOW_ARGUMENT_INVALID"
    _, answer = executed(place, verb, two, "--workflow", "w2")
    assert answer["result"]["stdout"] == "two\n"


def prompted(place: Place, verb: str, *words: str) -> tuple[Outcome, Json]:
    """A prompt for an agent that is not there; the scripted one is."""
    home = place.folder / "agents" / "home"
    if not home.exists():
        Agents(place.folder / "agents").user()
    target = {"session_target": "isolated", "agent_id": "nobody-has-this"}
    call = {"call": "Write", "kind": "edit", "ask": True, "args": {"path": "made"}, "touch": "made"}
    text = steps(call, {"say": "done"})
    task = prompt_task("a", prompt=text, target=target)
    prompts = ["--prompts"] if verb == "run" else []
    return executed(place, verb, manifest(task), *prompts, *words, env={"OPERABLE_HOME": str(home)})


@both("--agent")
def _(place: Place, verb: str) -> None:
    assert "nobody-has-this" in prompted(place, verb)[1]["message"]
    assert prompted(place, verb, "--agent", "scripted")[1]["command"]["agent"] == "scripted"


@both("--policy")
def _(place: Place, verb: str) -> None:
    rules = place.work / "rules.toml"
    rules.write_text('allow = ["kind:edit"]\n')
    prompted(place, verb, "--agent", "scripted")
    assert not (place.work / "made").exists()
    prompted(place, verb, "--agent", "scripted", "--policy", str(rules))
    assert (place.work / "made").exists()


@effect("flow exec", "--approval-id")
def _(place: Place) -> None:
    place.write(manifest(script("true", approval=MANUAL)))
    ids = [place.ok("approve", "flow.json", "a").of("flow_approval")[0]["approval_id"] for _ in range(2)]
    (done,) = place.ok("exec", "flow.json", "a", "--approval-id", ids[1]).of("flow_execution")
    assert done["answer"]["approval_used"]["approval_id"] == ids[1]


@effect("flow run", "--root")
@effect("flow run", "--all-roots")
def _(place: Place) -> None:
    place.write(manifest(shell_task(), shell_task("b")))
    assert place.flow("run", "flow.json").exit_code == 64
    assert [each["task_id"] for each in place.ok("run", "flow.json", "--root", "b").of("flow_task")] == ["b"]
    everything = place.ok("run", "flow.json", "--all-roots").of("flow_task")
    assert [each["task_id"] for each in everything] == ["a", "b"]


@effect("flow run", "--prompts")
def _(place: Place) -> None:
    place.write(manifest(shell_task(), prompt_task("b", **triggered("a"))))
    assert "only supports shell tasks" in place.flow("run", "flow.json", "--dry-run").error["message"]
    assert place.flow("run", "flow.json", "--dry-run", "--prompts").exit_code == 0


@effect("flow run", "--retry")
def _(place: Place) -> None:
    task = script("echo x >> tries; exit 1", reliability={"max_retries": 2})
    place.write(manifest(task))
    for words, tries in (([], 1), (["--retry"], 3)):
        (place.work / "tries").unlink(missing_ok=True)
        place.flow("run", "flow.json", *words)
        assert len((place.work / "tries").read_text().split()) == tries


# -- approvals and records


@effect("flow approve", "--workflow")
@effect("flow approvals", "--workflow")
@effect("flow approvals", "--task")
@effect("flow approvals", "--status")
def _(place: Place) -> None:
    two = manifest(script("true", approval=MANUAL))
    two["workflows"].append({"id": "w2", "name": "W2", "tasks": [shell_task("b", approval=MANUAL)]})
    place.write(two)
    assert place.flow("approve", "flow.json", "a").error["code"] == "FLOW_ARGUMENT_INVALID"
    place.ok("approve", "flow.json", "a", "--workflow", "w")
    place.ok("approve", "flow.json", "b", "--workflow", "w2")
    for words, tasks in (
        ([], ["a", "b"]),
        (["--workflow", "w2"], ["b"]),
        (["--task", "a"], ["a"]),
        (["--status", "pending"], ["a", "b"]),
        (["--status", "revoked"], []),
    ):
        assert [each["task_id"] for each in place.ok("approvals", *words).of("flow_approval")] == tasks


@effect("flow approve", "--by")
@effect("flow approve", "--reason")
@effect("flow approve", "--ttl-s")
@effect("flow approve", "--signer")
def _(place: Place) -> None:
    place.write(manifest(script("true", approval=MANUAL)))
    (usual,) = place.ok("approve", "flow.json", "a").of("flow_approval")
    assert (usual["approver"], usual["reason"], usual["unsigned_explicit"]) == (ACCOUNT, None, False)
    said = ("--by", "you@example.com", "--reason", "release", "--ttl-s", "600", "--signer", "none")
    (made,) = place.ok("approve", "flow.json", "a", *said).of("flow_approval")
    assert (made["approver"], made["reason"]) == ("you@example.com", "release")
    assert (made["signature"], made["unsigned_explicit"]) == (None, True)
    seconds = [
        time.mktime(time.strptime(made[name][:19], "%Y-%m-%dT%H:%M:%S"))
        for name in ("granted_at", "expires_at")
    ]
    assert seconds[1] - seconds[0] == 600


@effect("flow approve", "--signing-key")
def _(place: Place) -> None:
    place.write(manifest(script("true", approval=MANUAL)))
    path, _ = written(place.work, name="another")
    prints = {
        place.ok("approve", "flow.json", "a", *words).of("flow_approval")[0]["signature"]["key_fingerprint"]
        for words in ([], ["--signing-key", str(path)])
    }
    assert len(prints) == 2


@effect("flow approve", "--task-timeout-ms")
@effect("flow approve", "--instance-id")
def _(place: Place) -> None:
    place.write(manifest(script("true", approval=MANUAL)))
    for words in (("--task-timeout-ms", "60000"), ("--instance-id", "blue")):
        place.ok("approve", "flow.json", "a", *words)
        assert place.flow("exec", "flow.json", "a").error["flow_code"] == "approval_required"
        place.ok("exec", "flow.json", "a", *words)


@effect("flow revoke", "--by")
@effect("flow revoke", "--reason")
def _(place: Place) -> None:
    place.write(manifest(script("true", approval=MANUAL)))
    (made,) = place.ok("approve", "flow.json", "a").of("flow_approval")
    place.ok("revoke", made["approval_id"], "--by", "you@example.com", "--reason", "too soon")
    (found,) = place.ok("approvals").of("flow_approval")
    assert (found["revoked_by"], found["revoke_reason"]) == ("you@example.com", "too soon")


@effect("flow audit", "--newest")
@effect("flow audit", "--anchor")
def _(place: Place) -> None:
    place.write(manifest())
    for _ in range(2):
        place.ok("exec", "flow.json", "a")
    assert len(place.ok("audit").of("flow_record")) == 2
    assert len(place.ok("audit", "--newest", "1").of("flow_record")) == 1
    head = place.ok("audit", "verify").of("flow_audit_verdict")[0]["head"]
    place.ok("audit", "verify", "--anchor", head)
    assert place.flow("audit", "verify", "--anchor", head[:-4] + "0000").exit_code == 65


@effect("flow audit", "--key")
def _(place: Place) -> None:
    place.write(manifest())
    private, public = key_files(place.work)
    place.ok("exec", "flow.json", "a", env={"OPERABLE_AUDIT_KEY": private})
    place.ok("audit", "verify", "--key", public)
    assert place.flow("audit", "verify", "--key", key_files(place.folder)[1]).exit_code == 65


@effect("flow verify", "--allowed-signers")
def _(place: Place) -> None:
    place.write(manifest())
    (done,) = place.ok("exec", "flow.json", "a").of("flow_execution")
    place.ok("verify", done["execution_id"])
    (place.work / "signers").write_text("# nobody\n")
    assert place.flow("verify", done["execution_id"], "--allowed-signers", "signers").exit_code == 65


@effect("flow verify", "--public-key")
def _(place: Place) -> None:
    path, key = written(place.work, name="signing")
    profile = {
        "id": "e",
        "provider": "in-toto",
        "provider_config": {"key_path": str(path), "public_key": pem(key)},
    }
    place.write(manifest(shell_task(evidence={"ref": "e"}), evidence_profiles=[profile]))
    (done,) = place.ok("exec", "flow.json", "a").of("flow_execution")
    assert place.flow("verify", done["execution_id"]).exit_code == 65
    (place.work / "key.pem").write_text(pem(key))
    place.ok("verify", done["execution_id"], "--public-key", "key.pem")


# -- questions


def _asked(place: Place, words: list[str], workflow: bool) -> Outcome:
    return place.flow(*words, *(["--workflow", "w2"] if workflow else []))


@effect("flow whoami,flow identity,flow authorization,flow authorization-proof", "--workflow")
def _(place: Place) -> None:
    governed: Json = {"authorization": {"ref": "z"}, "authorization_proof": {"ref": "p"}}
    two = manifest(
        shell_task(**governed),
        authorization_profiles=[{"id": "z", "provider": "none"}],
        authorization_proof_profiles=[{"id": "p", "method": "none"}],
    )
    two["workflows"].append({"id": "w2", "name": "W2", "tasks": [shell_task(**governed)]})
    place.write(two)
    for words in (
        ["whoami", "flow.json", "a"],
        ["identity", "resolve", "flow.json", "a"],
        ["authorization", "evaluate", "flow.json", "a"],
        ["authorization-proof", "verify", "flow.json", "a"],
    ):
        assert _asked(place, words, workflow=False).exit_code == 64
        (found,) = [event for event in _asked(place, words, workflow=True).events if "workflow_id" in event]
        assert found["workflow_id"] == "w2"


@effect("flow whoami,flow identity,flow authorization,flow authorization-proof", "--allow-commands")
@effect("flow whoami,flow identity,flow authorization,flow authorization-proof", "--allow-network")
def _(place: Place) -> None:
    ran = {"value_from": {"command": f"touch {place.folder}/ran"}}
    oidc = {
        "token_endpoint": "http://127.0.0.1:9/",
        "client_id": "x",
        "client_secret": {"value_from": {"literal": "y"}},
    }
    topaz = {"endpoint": "http://127.0.0.1:9/", "policy_path": "p"}
    proof = {"method": "jwt", "issuer": "i", "proof": {"value_from": {"file": "proof"}}}
    value = manifest(
        shell_task("command", identity={"ref": "command"}),
        shell_task("network", identity={"ref": "network"}),
        shell_task("policy-command", authorization={"ref": "command"}),
        shell_task("policy-network", authorization={"ref": "network"}),
        shell_task("proof-command", authorization_proof={"ref": "command"}),
        shell_task("proof-network", authorization_proof={"ref": "network"}),
        identity_profiles=[
            {"id": "command", "provider": "env-bearer", "auth": {"inputs": {"token": ran}}},
            {"id": "network", "provider": "oidc-client-credentials", "auth": {"provider_config": oidc}},
        ],
        authorization_profiles=[
            {"id": "command", "provider": "topaz", "provider_config": {**topaz, "api_key": ran}},
            {"id": "network", "provider": "topaz", "provider_config": topaz},
        ],
        authorization_proof_profiles=[
            {"id": "command", **proof, "public_key": pem(RSA), "proof": ran},
            {"id": "network", **proof, "jwks_uri": "https://127.0.0.1:9/"},
        ],
    )
    claims = {"iss": "i", "exp": time.time() + 3600, "manifest_digest": canonical_digest(value)}
    (place.work / "proof").write_text(token(claims))
    place.write(value)
    for words, prefix in (
        (["whoami"], ""),
        (["identity", "resolve"], ""),
        (["authorization", "evaluate"], "policy-"),
        (["authorization-proof", "verify"], "proof-"),
    ):
        line = [*words, "flow.json"]
        assert place.flow(*line, f"{prefix}command").error["flow_code"] == "commands_not_allowed"
        assert place.flow(*line, f"{prefix}network").error["flow_code"] == "network_not_allowed"
        assert not (place.folder / "ran").exists()
        place.flow(*line, f"{prefix}command", "--allow-commands")
        (place.folder / "ran").unlink()
        asked = place.flow(*line, f"{prefix}network", "--allow-network")
        assert asked.error["flow_code"] != "network_not_allowed"


# -- documents


@effect("flow compile", "--target")
@effect("flow compile", "--explain")
def _(place: Place) -> None:
    place.write(manifest())
    shown = [
        json.dumps(
            [
                event
                for event in place.ok("compile", "flow.json", *words).events
                if event["type"] != "aoi:meta"
            ]
        )
        for words in ([], ["--target", "openclaw-scheduler"], ["--explain"])
    ]
    assert len(set(shown)) == 3


@effect("flow graph", "--draw")
@effect("flow graph", "--runs")
@effect("flow graph", "--after")
def _(place: Place) -> None:
    place.write(manifest())
    after = ("--after", "2026-01-01T00:00:00Z")
    texts = [
        place.ok("graph", "flow.json", *words).of("flow_drawing")[0]["text"]
        for words in (
            after,
            (*after, "--runs", "3"),
            (*after, "--draw", "svg"),
            ("--after", "2030-05-05T00:00:00Z"),
        )
    ]
    assert len(set(texts)) == 4
    assert "<svg" in texts[2]
    assert "2030-05-0" in texts[3]


@effect("flow init", "--tool")
@effect("flow init", "--workflow-id")
@effect("flow init", "--task-id")
def _(place: Place) -> None:
    place.ok("init", "new.json", "--tool", "true", "--workflow-id", "flow-x", "--task-id", "task-x")
    (workflow,) = json.loads((place.work / "new.json").read_text())["workflows"]
    assert (workflow["id"], workflow["tasks"][0]["id"]) == ("flow-x", "task-x")
    assert workflow["tasks"][0]["shell"]["program"] == "true"


@effect("flow lint", "--rule")
@effect("flow lint", "--strict")
def _(place: Place) -> None:
    place.write(manifest(shell_task(shell={"program": "rm"})))
    assert place.flow("lint", "flow.json").exit_code == 0
    assert place.flow("lint", "flow.json", "--strict").exit_code == 65
    assert place.flow("lint", "flow.json", "--strict", "--rule", "cron-syntax").exit_code == 0


@effect("flow schema", "--legacy")
def _(place: Place) -> None:
    new, old = (json.dumps(place.ok("schema", *words).events[1:-1]) for words in ([], ["--legacy"]))
    assert new != old


# -- rpc


def answered(place: Place, request: Json, *words: str, **options: Any) -> Json:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, **request}).encode() + b"\n"
    (event,) = place("rpc", *words, input=line, **options).of("rpc_answer")
    found: Json = event["answer"]
    return found


@effect("rpc", "--home")
@effect("rpc", "--compat")
def _(place: Place) -> None:
    found = answered(place, {"method": "agentcli.paths"}, "--home", str(place.other))
    assert str(place.other) in json.dumps(found)
    listing = {"method": "agentcli.evidence.providers"}
    assert answered(place, listing, "--compat", "0.5")["result"]["providers"] == ["none", "ssh", "in-toto"]
    assert answered(place, listing)["result"]["providers"] != ["none", "ssh", "in-toto"]


@effect("rpc", "--db")
@effect("rpc", "--scheduler-bin")
def _(place: Place) -> None:
    scheduler = place.scheduler()
    there = ("--scheduler-bin", scheduler.script(), "--db", str(scheduler.database))
    asked = {"method": "agentcli.apply", "params": {"manifest": manifest()}}
    assert answered(place, asked, *there)["result"]["ok"] is True
    assert [row["name"] for row in scheduler.rows()] == ["A"]
    shown = answered(place, {"method": "agentcli.inspect", "params": {"entity": "jobs"}}, *there[2:])
    assert "result" in shown
    assert "error" in answered(place, {"method": "agentcli.inspect", "params": {"entity": "jobs"}})


@effect("rpc", "--scheduler-prefix")
def _(place: Place) -> None:
    scheduler = place.scheduler()
    npm = place.work / "npm"
    npm.write_text(
        f'#!/bin/sh\necho "$3" > {place.work}/asked\nshift 5\nexec "{sys.executable}" "{PROGRAM}" "$@"\n'
    )
    npm.chmod(0o755)
    asked = {"method": "agentcli.apply", "params": {"manifest": manifest(), "dryRun": True}}
    env = {"PATH": f"{place.work}:{BIN}:/usr/bin:/bin"}
    answered(place, asked, "--scheduler-prefix", "/opt/here", "--db", str(scheduler.database), env=env)
    assert (place.work / "asked").read_text() == "/opt/here\n"


@effect("rpc", "--request-timeout")
def _(place: Place) -> None:
    slow = place.work / "slow"
    slow.write_text("#!/bin/sh\nsleep 600\n")
    slow.chmod(0o755)
    request = {"jsonrpc": "2.0", "id": 1, "method": "agentcli.apply", "params": {"manifest": manifest()}}
    done = subprocess.run(
        [str(BIN / "operable"), "rpc", "--request-timeout", "0.5", "--scheduler-bin", str(slow)],
        input=json.dumps(request) + "\n",
        env=os.environ | place.env,
        cwd=place.work,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["error"]["data"]["code"] == "timeout"


def test_every_option_has_an_effect_that_is_seen():
    assert TABLE.gaps() == []


@pytest.mark.parametrize("check", TABLE.parameters())
def test_the_option_has_an_effect(check, tmp_path):
    check(Place(tmp_path))
