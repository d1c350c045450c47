"""The rules of the policy file bind the commands that a worker runs, also those that nobody requested."""

import json
from pathlib import Path

import pytest

from operable.gate.audit.chain import read_audit
from tests.engine.manifests import task
from tests.engine.worker.engines import Engine, until
from tests.engine.worker.test_deliveries import delivery as delivered


def test_a_command_that_is_denied_is_not_run_by_a_worker(tmp_path: Path) -> None:
    home = tmp_path / "operable"
    (home / "config").mkdir(parents=True)
    rules = '[[caller]]\nmatch = "flow:*"\ndeny = ["execute:touch *"]\n'
    (home / "config" / "policy.toml").write_text(rules)
    engine = Engine(
        tmp_path,
        task("good", "true"),
        task("bad", "env", "sh", "-c", "touch ran"),
        task("late", "true", verify={"shell": "touch ran"}),
        environment={"OPERABLE_HOME": str(home)},
    )
    runs = {name: engine.trigger(name) for name in ("good", "bad", "late")}
    with engine.worker():
        ends = {name: engine.wait_for(run, "succeeded", "failed", "refused") for name, run in runs.items()}
    reasons = {name: str(engine.runs(run_id=run)[0].reason) for name, run in runs.items()}

    assert ends == {"good": "succeeded", "bad": "failed", "late": "failed"}, reasons
    assert "flow/flow/bad/shell is denied for flow:flow/bad by policy:deny execute:touch *" in reasons["bad"]
    assert "flow/flow/late/verify is denied" in reasons["late"]
    assert not (tmp_path / "ran").exists()
    chains = sorted(home.glob("state/agents/*/audit.jsonl"))
    records = [json.loads(line) for chain in chains for _, _, line in read_audit(str(chain))]
    found = {(each["action"], each["subject"]["ref"]) for each in records if each["actor"]["id"] != "person"}
    assert ("call.denied", "flow/flow/bad/shell") in found
    assert ("call.denied", "flow/flow/late/verify") in found
    assert ("call.ended", "flow/flow/good/shell") in found


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_a_program_that_would_announce_the_end_of_a_run_is_under_the_rules_also(
    tmp_path: Path, effect: str
) -> None:
    home, program = tmp_path / "operable", tmp_path / "announce"
    (home / "config").mkdir(parents=True)
    (home / "config" / "policy.toml").write_text(f'{effect} = ["execute:{program}"]\n')
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    delivery = {"mode": "announce-always", "channel": "command", "to": str(program)}
    engine = Engine(
        tmp_path, task("good", "true", delivery=delivery), environment={"OPERABLE_HOME": str(home)}
    )
    run = engine.trigger("good")
    with engine.worker():
        assert engine.wait_for(run, "succeeded", "failed", "refused") == "succeeded"
        until(lambda: getattr(delivered(engine, run), "reason", None) is not None)

    assert "flow/flow/good/delivery" in str(getattr(delivered(engine, run), "reason", ""))
    assert not (tmp_path / "ran").exists()
