"""No effect without a record: what cannot be recorded does not start, and what was killed has a record of its start."""

import errno
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from operable.flow.audit import log as audit_log
from operable.flow.canonical import hash_text
from operable.flow.errors import FlowError
from operable.flow.run.executor import execute
from tests.flow.callers import audited, caller, script, until
from tests.flow.executions import refused
from tests.flow.manifests import manifest

RUNNER = """
import json, sys
from operable.flow.run.caller import Caller
from operable.flow.canonical import hash_text
from operable.flow.errors import FlowError
from operable.flow.run.executor import execute
given = json.load(open(sys.argv[1]))
by = Caller(given["cwd"], given["environment"], given["home"])
exec(sys.argv[2] if len(sys.argv) > 2 else "")
try:
    print(execute(given["manifest"], "a", by)["ok"])
except FlowError as problem:
    print(problem.flow_code, problem.message)
"""
FILL = """
import contextlib, os
with contextlib.suppress(OSError), open(os.path.join(by.home, "filler"), "wb", buffering=0) as file:
    while True: file.write(b"x" * 4096)
"""


def given(tmp_path, by, value):
    path = tmp_path / "given.json"
    path.write_text(
        json.dumps({"manifest": value, "cwd": by.cwd, "environment": dict(by.environment), "home": by.home})
    )
    return str(path)


def enclosed(tmp_path, by, value, mount, extra=""):
    """The execution in a mount namespace in which the home is another disk."""
    words = ["bwrap", "--dev-bind", "/", "/", *mount, sys.executable, "-c", RUNNER]
    return subprocess.run(
        [*words, given(tmp_path, by, value), extra], capture_output=True, text=True, timeout=200, check=True
    ).stdout


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("audit", ["always", "on-failure"])
def test_a_task_does_not_run_when_the_disk_of_its_audit_is_full(tmp_path, audit):
    by = caller(tmp_path)
    Path(str(by.home)).mkdir()
    value = manifest(script("touch ran", contract={"audit": audit}))
    said = enclosed(tmp_path, by, value, ["--size", "65536", "--tmpfs", by.home], FILL)

    assert said.startswith("internal_error the audit log cannot be ")
    assert "No space left on device" in said
    assert os.listdir(by.cwd) == []


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("is_new", [True, False])
def test_a_task_does_not_run_when_the_disk_of_its_audit_is_read_only(tmp_path, is_new):
    by = caller(tmp_path)
    Path(str(by.home)).mkdir()
    value = manifest(script("touch ran"))
    if not is_new:
        execute(manifest(script("true")), "a", by)
    said = enclosed(tmp_path, by, value, ["--ro-bind", by.home, by.home])

    assert said.startswith("internal_error the audit log cannot be ")
    assert "Read-only file system" in said
    assert os.listdir(by.cwd) == []


HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_a_task_does_not_run_while_another_process_keeps_the_lock(tmp_path, monkeypatch):
    by = caller(tmp_path)
    execute(manifest(script("true")), "a", by)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, by.place("audit") + ".lock"], stdout=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with monkeypatch.context() as hurried:
                hurried.setattr("operable.state.lock.time.monotonic", itertools.count(step=20.0).__next__)
                problem = refused(manifest(script("touch ran")), "a", by)
        finally:
            holder.kill()

    assert problem.message == "the audit log is locked by something that hangs"
    assert os.listdir(by.cwd) == []


@pytest.mark.parametrize("lock", ["flock", "fcntl"])
def test_a_task_does_not_run_where_the_file_system_has_no_locks(tmp_path, monkeypatch, lock):
    by = caller(tmp_path)
    execute(manifest(script("true")), "a", by)

    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as without:
        without.setattr(f"operable.state.lock.fcntl.{lock}", none)
        problem = refused(manifest(script("touch ran")), "a", by)

    assert "No locks available" in problem.message
    assert os.listdir(by.cwd) == []


@pytest.mark.parametrize("name", ["audit.ndjson", "audit.ndjson.head.new", "audit.ndjson.lock"])
def test_a_task_does_not_run_when_something_else_is_in_the_place_of_its_log(tmp_path, name):
    by = caller(tmp_path)
    place = Path(str(by.home), "state", name)
    place.mkdir(parents=True)

    assert refused(manifest(script("touch ran")), "a", by).flow_code == "internal_error"
    assert os.listdir(by.cwd) == []


def test_a_command_that_gives_an_identity_does_not_run_before_the_start_is_recorded(tmp_path):
    by = caller(tmp_path)
    profile = {
        "id": "i",
        "provider": "env-bearer",
        "auth": {"value_from": {"command": {"program": "touch", "args": ["asked"]}}},
    }
    Path(str(by.home), "state", "audit.ndjson").mkdir(parents=True)
    value = manifest(script("touch ran", identity={"ref": "i"}), identity_profiles=[profile])
    with pytest.raises(FlowError):
        execute(value, "a", by)

    assert os.listdir(by.cwd) == []


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("audit", ["always", "on-failure"])
def test_a_task_whose_runner_was_killed_has_a_record_and_is_lost_to_the_next(tmp_path, how, audit):
    by = caller(tmp_path)
    value = manifest(script("touch ran; exec sleep 600", contract={"audit": audit}))
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, given(tmp_path, by, value)])
    try:
        until(lambda: (Path(by.cwd) / "ran").exists() or runner.poll() is not None)
        (record,) = audited(by)
        assert record["status"] == "started"
        assert audit_log.verify(by.place("audit"))["running"] == 1
        runner.send_signal(how)
        runner.wait(100)
    finally:
        runner.kill()
        runner.wait()
    assert audit_log.verify(by.place("audit"))["lost"] == 1
    execute(manifest(script("true")), "a", by)

    lost, _ = audited(by)
    assert (lost["execution_id"], lost["status"]) == (record["execution_id"], "lost")
    found = audit_log.verify(by.place("audit"))
    assert (found["verified"], found["lost"], found["running"]) == (True, 1, 0)


def test_a_success_that_the_contract_does_not_record_leaves_nothing_to_read_and_nothing_open(tmp_path):
    by = caller(tmp_path)
    done = execute(manifest(script("true", contract={"audit": "on-failure"})), "a", by)

    assert (done["audited"], audited(by)) == (False, [])
    assert audit_log.verify(by.place("audit"))["running"] == 0
    with pytest.raises(FlowError, match="Execution not found in audit log"):
        audit_log.find(by.place("audit"), done["execution_id"])


def size(path):
    return path.stat().st_size if path.exists() else 0


def test_whenever_a_runner_is_killed_every_effect_has_a_record(tmp_path):
    """Real tasks, killed at random points; OPERABLE_CAMPAIGN_KILLS makes it longer."""
    chance = random.Random(12)
    by = caller(tmp_path)
    value = manifest(script("true"))  # each run gets a line of its own
    program = (
        "import itertools, os\n"
        "def forever():\n"
        "    for number in itertools.count():\n"
        "        name = f'{os.getpid()}-{number}'\n"
        "        text = 'echo ' + name + ' >> effects'\n"
        "        given['manifest']['workflows'][0]['tasks'][0]['shell']['args'][1] = text\n"
        "        given['manifest']['workflows'][0]['tasks'][0]['name'] = name\n"
        "        execute(given['manifest'], 'a', by)\n"
        "forever()\n"
    )
    kills = max(6, int(os.environ.get("OPERABLE_CAMPAIGN_KILLS", "0")) // 10)
    path = given(tmp_path, by, value)
    effects = Path(by.cwd, "effects")
    for _ in range(kills):
        before = size(effects)
        runner = subprocess.Popen([sys.executable, "-c", RUNNER, path, program])
        try:
            until(lambda: size(effects) != before)  # noqa: B023 - called at once
            time.sleep(chance.uniform(0, 0.1))  # the random point at which it is killed
        finally:
            runner.send_signal(chance.choice([signal.SIGKILL, signal.SIGHUP, signal.SIGTERM]))
            runner.wait()
        assert audit_log.verify(by.place("audit"))["problems"] == []

    execute(manifest(script("true")), "a", by)
    found = audit_log.verify(by.place("audit"))
    assert (found["verified"], found["running"]) == (True, 0)
    hashes = [record["command"]["args_hashes"][1] for record in audited(by)]
    for name in effects.read_text().splitlines():
        assert hash_text(f"echo {name} >> effects") in hashes
