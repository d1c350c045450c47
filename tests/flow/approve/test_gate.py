"""Approvals at the gate of an execution, also of one that is killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from operable.flow.approve import local_approvals
from operable.flow.audit.evidence import verify_execution
from operable.flow.audit.log import verify as verify_chain
from operable.flow.run.executor import execute
from tests.cli.drive import alive
from tests.flow.callers import audited, caller, script, signing_caller, until
from tests.flow.executions import CANARY, approve, bearer, refused
from tests.flow.manifests import manifest
from tests.requirement import requirement


@requirement("agentcli:approvals:gate")
def test_a_task_that_waits_for_approval_runs_once_per_approval(tmp_path):
    by = signing_caller(tmp_path)
    value = manifest(script("echo x >> ran", approval={"required": True}))
    assert refused(value, "a", by).flow_code == "approval_required"
    made = approve(by, value)
    done = execute(value, "a", by)

    assert done["approval_used"]["approval_id"] == made["approval_id"]
    assert refused(value, "a", by).flow_code == "approval_required"
    assert (Path(by.cwd) / "ran").read_text() == "x\n"


@requirement("agentcli:approvals:gate")
def test_auto_reject_never_runs_and_auto_approve_always_does(tmp_path):
    by = caller(tmp_path)

    assert refused(manifest(script("true", approval={"policy": "auto-reject"})), "a", by).flow_code == (
        "approval_auto_rejected"
    )
    assert execute(manifest(script("true", approval={"policy": "auto-approve"})), "a", by)["ok"] is True


@requirement("agentcli:approvals:gate")
def test_an_approval_is_not_spent_on_a_task_that_another_gate_refuses(tmp_path):
    by = signing_caller(tmp_path)
    contract = {"required_trust_level": "autonomous", "trust_enforcement": "strict"}
    value = manifest(script("true", approval={"required": True}, contract=contract))
    approve(by, value)

    assert refused(value, "a", by).flow_code == "trust_level_insufficient"
    assert [each["status"] for each in local_approvals.listed(by.approvals)] == ["pending"]


@requirement("agentcli:approvals:tampering")
@pytest.mark.parametrize("audit", ["always", "on-failure", "none"])
def test_an_approval_whose_use_was_removed_from_the_store_is_not_used_again(tmp_path, audit):
    by = signing_caller(tmp_path)
    value = manifest(script("echo x >> ran", approval={"required": True}, contract={"audit": audit}))
    approve(by, value)
    execute(value, "a", by)
    store = Path(by.place("approvals"))
    store.write_text(store.read_text().splitlines(keepends=True)[0])
    assert [each["status"] for each in local_approvals.listed(by.approvals)] == ["consumed"]
    problem = refused(value, "a", by)

    assert problem.flow_code == "approval_log_invalid"
    assert (Path(by.cwd) / "ran").read_text() == "x\n"


RUNNER = """
import json, sys
from operable.flow.run.caller import Caller
from operable.flow.run.executor import execute
given = json.load(open(sys.argv[1]))
execute(given["manifest"], "a", Caller(given["cwd"], given["environment"], given["home"]))
"""


@requirement("agentcli:exec:killed")
def test_kill_9_of_the_runner_leaves_no_child_no_secret_and_no_used_approval_without_a_record(tmp_path):
    by = signing_caller(tmp_path, SECRET=CANARY)
    task = script(
        "echo $TOKEN_FILE > where; setsid sh -c 'echo $$ > child.new; mv child.new child; exec sleep 600' & wait",
        identity={"ref": "i"},
        approval={"required": True},
    )
    value = manifest(task, **bearer("file", expose_as="TOKEN_FILE"))
    approve(by, value)
    given = tmp_path / "given.json"
    given.write_text(
        json.dumps({"manifest": value, "cwd": by.cwd, "environment": dict(by.environment), "home": by.home})
    )
    child = Path(by.cwd) / "child"
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(given)])
    try:
        until(lambda: child.exists() or runner.poll() is not None)
        assert runner.poll() is None
    finally:
        runner.kill()
        runner.wait()
    pid, secret = int(child.read_text()), (Path(by.cwd) / "where").read_text().strip()
    until(lambda: not alive(pid) and not os.path.exists(secret))

    (approval,) = local_approvals.listed(by.approvals)
    _granted, record, use = audited(by)
    assert approval["status"] == "consumed"
    assert record["execution_id"] == approval["consumed_by_execution_id"]
    assert use["status"] == "approval_used"
    assert use["approval"] == {
        "approval_id": approval["approval_id"], "execution_id": record["execution_id"],
    }  # fmt: skip
    assert record["status"] == "started"
    assert verify_chain(by.place("audit"))["verified"] is True
    found = verify_execution(record["execution_id"], by)
    assert found["reason"] == "the execution was begun and its end was never recorded"


@pytest.mark.needs("bwrap")
@requirement("agentcli:exec:killed")
def test_kill_9_of_the_runner_of_an_enclosed_task_leaves_no_folder(tmp_path):
    by = caller(tmp_path, SECRET=CANARY)
    task = script(
        "touch up; exec sleep 600",
        identity={"ref": "i"},
        contract={"sandbox": "strict", "network": "restricted"},
    )
    value = manifest(task, **bearer("file", expose_as="TOKEN_FILE"))
    given, temporary = tmp_path / "given.json", tmp_path / "temporary"
    temporary.mkdir()
    given.write_text(
        json.dumps({"manifest": value, "cwd": by.cwd, "environment": dict(by.environment), "home": by.home})
    )
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(given)], env={**os.environ, "TMPDIR": str(temporary)}
    )
    try:
        until(lambda: (Path(by.cwd) / "up").exists() or runner.poll() is not None)
        assert len(os.listdir(temporary)) >= 2  # the socket of the way out, and the secret
    finally:
        runner.kill()
        runner.wait()

    until(lambda: os.listdir(temporary) == [])


KILLED = """
import os, sys
from operable.flow.approve import store as approval_store

real = approval_store.ApprovalStore.append

def append(self, event):
    if sys.argv[2] == "after":
        real(self, event)
    os.kill(os.getpid(), 9)

approval_store.ApprovalStore.append = append
"""


@requirement("agentcli:exec:killed")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_whenever_the_runner_is_killed_what_was_used_is_recorded_and_nothing_is_used_twice(tmp_path, moment):
    by = signing_caller(tmp_path)
    value = manifest(script("touch ran", approval={"required": True}))
    approve(by, value)
    given = tmp_path / "given.json"
    given.write_text(
        json.dumps({"manifest": value, "cwd": by.cwd, "environment": dict(by.environment), "home": by.home})
    )
    killed = subprocess.run(
        [sys.executable, "-c", KILLED + RUNNER, str(given), moment], timeout=120, check=False
    )
    assert killed.returncode == -signal.SIGKILL

    (approval,) = local_approvals.listed(by.approvals)
    _granted, record, use = audited(by)
    assert approval["status"] == "consumed"
    assert (record["status"], use["status"]) == ("started", "approval_used")
    assert use["approval"]["approval_id"] == approval["approval_id"]
    assert refused(value, "a", by).flow_code in ("approval_required", "approval_log_invalid")
    assert os.listdir(by.cwd) == []
    # The lock that was left behind holds nobody up: a new approval is given, and works.
    fresh = approve(by, value)
    assert execute(value, "a", by)["approval_used"]["approval_id"] == fresh["approval_id"]


@requirement("agentcli:exec:killed")
def test_an_interrupt_ends_the_task_and_is_recorded(tmp_path):
    by = caller(tmp_path)
    value = manifest(script("echo $$ > child.new; mv child.new child; exec sleep 600"))
    given = tmp_path / "given.json"
    given.write_text(
        json.dumps({"manifest": value, "cwd": by.cwd, "environment": dict(by.environment), "home": by.home})
    )
    child = Path(by.cwd) / "child"
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(given)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: child.exists() or runner.poll() is not None)
        runner.send_signal(signal.SIGINT)
        assert runner.wait(120) != 0
    finally:
        runner.kill()
        runner.wait()
    until(lambda: not alive(int(child.read_text())))

    assert [record["error"]["code"] for record in audited(by)] == ["interrupted"]
