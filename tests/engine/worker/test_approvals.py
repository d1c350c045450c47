"""What a person said yes to is what runs: files, approvers, signatures, and silence."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from operable.cli.engine.decisions import RunAnswer, planned_decision
from operable.cli.engine.options import EngineOptions
from operable.engine.store.questions import SignedAnswer
from operable.engine.store.runs import RunStore, wall_clock
from operable.kernel.errors import Fail
from operable.tool import Change
from tests.cli.drive import operable
from tests.engine.manifests import task
from tests.engine.worker.engines import Engine, until
from tests.host.upstream.test_upstream import SERVER


def test_a_yes_is_for_the_files_as_they_were_when_the_run_asked(tmp_path: Path) -> None:
    for name in ("same", "changed"):
        (tmp_path / f"{name}.sh").write_text("touch $1.done\n")
    engine = Engine(
        tmp_path,
        *(
            task(name, "sh", f"{tmp_path}/{name}.sh", name, approval={"policy": "manual"})
            for name in ("same", "changed")
        ),
        task(
            "scoped",
            "true",
            approval={"policy": "manual", "approver_scope": "domain:example.com"},
        ),
        task("silent", "true", approval={"policy": "manual", "timeout_s": 15, "auto": "approve"}),
        task("refused", "true", approval={"policy": "manual", "timeout_s": 1}),
        task("automatic", "true", approval={"policy": "auto-approve"}),
    )
    names = ("same", "changed", "scoped", "silent", "refused", "automatic")
    runs = {name: engine.trigger(name) for name in names}
    # No worker has read the files: nothing would say what is approved.
    assert engine.refused("approve", runs["same"])["code"] == "QUESTION_NOT_READY"
    with engine.worker():
        until(lambda: f'"{tmp_path}/changed.sh":"sha256:' in engine.planned("approve", runs["changed"]))
        (tmp_path / "changed.sh").write_text("rm -rf everything\n")
        for name in ("same", "changed"):
            engine.call("approve", runs[name], "--by", "ann@example.com", "--reason", "it is due")
        assert engine.refused("approve", runs["scoped"], "--by", "eve@elsewhere.org")["flow_code"] == (
            "approval_scope_mismatch"
        )
        engine.call("approve", runs["scoped"], "--by", "ann@example.com")
        ends = {name: engine.wait_for(run, "succeeded", "failed", "rejected") for name, run in runs.items()}
    assert ends == {
        "same": "succeeded",
        "changed": "failed",
        "scoped": "succeeded",
        "silent": "succeeded",
        "refused": "rejected",
        "automatic": "succeeded",
    }
    assert (tmp_path / "same.done").exists()
    # Who said yes, and why, is in the run's timeline.
    timeline = [(entry["event"], entry["detail"]) for entry in engine.call("logs", runs["same"])]
    assert ("approved", "approved by ann@example.com: it is due") in timeline
    reason = engine.runs(run_id=runs["changed"])[0].reason
    assert reason is not None
    assert "changed since approval" in reason
    assert "changed.sh" in reason


def test_a_yes_is_for_the_folder_and_the_variables_of_the_worker_that_asked(tmp_path: Path) -> None:
    """Another worker, or the same one started elsewhere, would run another thing than the question was about."""
    manual = {"policy": "manual"}
    (tmp_path / "elsewhere").mkdir()
    names = ("same", "moved")
    engine = Engine(tmp_path, *(task(name, "touch", f"{name}.done", approval=manual) for name in names))
    runs = {name: engine.trigger(name) for name in names}
    with engine.worker():
        until(lambda: all(_folder(engine, run) == str(tmp_path) for run in runs.values()))
        engine.call("approve", runs["same"])
        assert engine.wait_for(runs["same"], "succeeded", "failed") == "succeeded"
    engine.call("approve", runs["moved"])
    with engine.worker(folder=tmp_path / "elsewhere"):
        assert engine.wait_for(runs["moved"], "succeeded", "failed") == "failed"

    assert list(tmp_path.rglob("moved.done")) == []
    assert str(engine.runs(run_id=runs["moved"])[0].reason).endswith(": command.cwd.")


def test_a_yes_to_a_plan_without_files_counts_for_none_that_a_worker_reads_later(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("touch job.done\n")
    engine = Engine(tmp_path, task("job", "sh", f"{tmp_path}/job.sh", approval={"policy": "manual"}))
    run = engine.trigger("job")
    (change,) = (
        each
        for each in planned_decision(run, RunAnswer(True), EngineOptions(home=str(tmp_path / "home")))
        if isinstance(each, Change)
    )
    assert change["content"] is None
    with engine.worker():
        until(lambda: '"sha256:' in engine.planned("approve", run))
    with pytest.raises(Fail) as refused:
        change.payload()

    assert refused.value.code == "QUESTION_NOT_READY"
    assert engine.runs(run_id=run)[0].state == "asking"


def test_the_plan_of_a_yes_shows_what_a_script_runs_behind_something_like_a_secret(tmp_path: Path) -> None:
    script = "TOKEN=$(touch evil) true; PASSWORD=x;touch other"
    engine = Engine(tmp_path, task("job", "sh", "-c", script, approval={"policy": "manual"}))
    events = map(json.loads, engine.planned("approve", engine.trigger("job")).splitlines())
    plan = next(event for event in events if event["type"] == "aoi:plan")

    assert plan["runs"] == ["sh", "-c", "TOKEN=$(touch evil) true; PASSWORD=[redacted];touch other"]


def test_a_yes_to_the_tool_of_a_server_is_for_the_server_as_it_was_registered_then(tmp_path: Path) -> None:
    environment = {
        "OPERABLE_HOME": str(tmp_path / "operable"),
        "CALLED": str(tmp_path / "called"),
        "LIES": json.dumps({"tools": [{"name": "look"}]}),
    }
    given = [word for name in ("CALLED", "LIES") for word in ("--env", f"{name}=environment:{name}")]

    def register(*more: str) -> None:
        words = ("shop", *given, "--", sys.executable, str(SERVER), *more)
        assert operable("upstream", "add", *words, env=environment, cwd=tmp_path).exit_code == 0

    register()
    names = ("same", "changed")
    looks = [task(name, "mcp:shop", "look", approval={"policy": "manual"}) for name in names]
    for each in looks:
        each["shell"]["stdin"] = "{}"
    engine = Engine(tmp_path, *looks, environment=environment)
    runs = {name: engine.trigger(name) for name in names}
    with engine.worker():
        until(lambda: '"mcp:shop":"sha256:' in engine.planned("approve", runs["changed"]))
        assert f'"{SERVER}":"sha256:' in engine.planned("approve", runs["changed"])
        engine.call("approve", runs["same"])
        assert engine.wait_for(runs["same"], "succeeded", "failed") == "succeeded"
        called = (tmp_path / "called").read_bytes()
        assert (
            operable("upstream", "remove", "shop", "--confirm", env=environment, cwd=tmp_path).exit_code == 0
        )
        register("--another")
        engine.call("approve", runs["changed"])
        assert engine.wait_for(runs["changed"], "succeeded", "failed") == "failed"

    assert (tmp_path / "called").read_bytes() == called
    assert "mcp:shop" in str(engine.runs(run_id=runs["changed"])[0].reason)


def _folder(engine: Engine, run: str) -> object:
    """The folder that a yes to this run is shown to be about."""
    return json.loads(engine.planned("approve", run).splitlines()[1]).get("folder")


def key_of(folder: Path, name: str) -> tuple[Path, str]:
    """A new SSH key, and its public half as a line of allowed signers has it."""
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path, " ".join(path.with_suffix(".pub").read_text().split()[:2])


@pytest.mark.needs("ssh-keygen")
def test_where_allowed_signers_are_configured_a_yes_is_signed_or_refused_before_it_counts(
    tmp_path: Path,
) -> None:
    (tmp_path / "user" / ".ssh").mkdir(parents=True)
    _, public = key_of(tmp_path / "user" / ".ssh", "id_ed25519")
    other, _ = key_of(tmp_path, "other")
    state = tmp_path / "home" / "state"
    state.mkdir(parents=True, mode=0o700)
    (state / "allowed_signers").write_text(f"ann@example.com {public}\n")
    manual = {"policy": "manual"}
    engine = Engine(
        tmp_path,
        task("yes", "touch", "yes.done", approval=manual),
        task("other", "touch", "other.done", approval=manual),
        task("forged", "touch", "forged.done", approval=manual),
        task("silent", "touch", "silent.done", approval={**manual, "timeout_s": 1, "auto": "approve"}),
        environment={"HOME": str(tmp_path / "user")},
    )
    runs = {name: engine.trigger(name) for name in ("yes", "other", "forged", "silent")}
    with engine.worker():
        # The account of this machine is not among the signers: refused, and the run still asks.
        for words in ((), ("--by", "ann@example.com", "--signer", "none"), ("--by", "bob@example.com")):
            error = engine.refused("approve", runs["yes"], *words)
            assert (error["code"], error["flow_code"]) == ("FLOW_REFUSED", "approval_signature_invalid"), (
                error
            )
            assert engine.state(runs["yes"]) == "asking"
        error = engine.refused("approve", runs["yes"], "--by", "ann@example.com", "--signing-key", str(other))
        assert "do not give ann@example.com the key" in error["message"]
        # What the hint says works when it is typed.
        hint = engine.refused("approve", runs["yes"])["hint"]
        typed = shlex.split(hint)
        assert typed[:2] == ["operable", "engine"]
        engine.call(*typed[2:])
        assert engine.wait_for(runs["yes"], "succeeded", "failed") == "succeeded"
        # A signature is for one run: with the yes of another one, nothing starts.
        engine.call("approve", runs["other"], "--by", "ann@example.com")
        assert engine.wait_for(runs["other"], "succeeded", "failed") == "succeeded"
        until(
            lambda: engine.planned("approve", runs["forged"], "--by", "ann@example.com").count("sha256:") > 0
        )
        _answer_as(engine, runs["forged"], like=runs["yes"])
        ends = {name: engine.wait_for(runs[name], "succeeded", "failed") for name in ("forged", "silent")}
    assert ends == {"forged": "failed", "silent": "failed"}
    used = engine.facts(runs["yes"])["approval_used"]
    assert (used["approver"], used["signature_verified"]) == ("ann@example.com", True)
    assert [(tmp_path / f"{name}.done").exists() for name in runs] == [True, True, False, False]
    assert "signed for another run" in str(engine.runs(run_id=runs["forged"])[0].reason)
    assert "it is not signed" in str(engine.runs(run_id=runs["silent"])[0].reason)


def _answer_as(engine: Engine, run: str, like: str) -> None:
    """Say yes in the database, as a process would that may write it, with the signature of another run."""
    database = engine.place.open_store()
    with database.transaction() as connection:
        ((signed,),) = connection.execute("SELECT signed FROM approvals WHERE run_id = ?", (like,))
    number = 1
    RunStore(database, wall_clock).decide(
        run, approve=True, by="ann@example.com", signed=SignedAnswer(number, signed)
    )
    database.close()


@pytest.mark.needs("ssh-keygen")
def test_a_yes_is_signed_on_a_machine_that_does_not_have_the_allowed_signers(tmp_path: Path) -> None:
    """The worker says with its question that it wants a signature."""
    key, public = key_of(tmp_path, "key")
    (tmp_path / "signers").write_text(f"ann@example.com {public}\n")
    engine = Engine(
        tmp_path, task("a", "true", approval={"policy": "manual"}), environment={"HOME": str(tmp_path)}
    )
    run = engine.trigger("a")
    environment = engine.environment
    engine.environment = {**environment, "AGENTCLI_ALLOWED_SIGNERS": str(tmp_path / "signers")}
    with engine.worker():
        engine.environment = environment
        until(lambda: '"files"' in engine.planned("approve", run, "--signing-key", str(key)))
        error = engine.refused("approve", run, "--by", "ann@example.com")
        assert error["flow_code"] == "approval_signature_invalid"
        assert "--signing-key FILE" in error["hint"]
        assert "would not count" in engine.refused("approve", run, "--signer", "none")["message"]
        engine.call("approve", run, "--by", "ann@example.com", "--signing-key", str(key))
        assert engine.wait_for(run, "succeeded", "failed") == "succeeded"
