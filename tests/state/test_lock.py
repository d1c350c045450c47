"""Locks that end with whoever holds them."""

import errno
import fcntl
import itertools
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from operable.flow.audit import log as audit_log
from operable.flow.audit.log import verify
from operable.flow.errors import FlowError
from operable.state.lock import EXCLUSIVE, SHARED, acquire, held, is_locked
from tests.flow.callers import until


@contextmanager
def opened(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_a_lock_that_is_held_ends_in_a_timeout_and_one_of_a_killed_process_is_free(tmp_path):
    path = str(tmp_path / "lock")
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(TimeoutError), held(path, SHARED, opened, wait=0.05):
                pass
        finally:
            holder.send_signal(signal.SIGKILL)
            holder.wait()
    with held(path, EXCLUSIVE, opened):
        pass


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path):
    """Else two would hold it: one the file that is gone, the other the file that has its name."""
    path = str(tmp_path / "lock")
    took = threading.Event()
    asked = threading.Event()

    @contextmanager
    def watched(name):
        with opened(name) as fd:
            asked.set()
            yield fd

    def take():
        with held(path, EXCLUSIVE, watched) as fd:
            assert os.path.samestat(os.fstat(fd), os.stat(path))
            took.set()

    with opened(path) as first:
        fcntl.flock(first, fcntl.LOCK_EX)
        waiting = threading.Thread(target=take)
        waiting.start()
        until(asked.is_set)
        os.unlink(path)
        with opened(path) as second:
            fcntl.flock(second, fcntl.LOCK_EX)
            fcntl.flock(first, fcntl.LOCK_UN)
            assert not took.wait(0.2)
    waiting.join(120)
    assert took.is_set()


@pytest.mark.parametrize("work", ["append", "verify"])
@pytest.mark.parametrize(
    "problem, words",
    [
        (OSError(errno.ENOLCK, "No locks available"), "the audit log cannot be locked: No locks available"),
        (BlockingIOError(), "the audit log is locked by something that hangs"),
    ],
)
def test_an_audit_log_that_cannot_be_locked_is_neither_written_nor_judged(
    tmp_path, monkeypatch, work, problem, words
):
    path = str(tmp_path / "audit.ndjson")
    audit_log.append(path, {"execution_id": "e0"})

    def refuse(_fd, _kind):
        raise problem

    monkeypatch.setattr("operable.state.lock.time.monotonic", itertools.count(step=20.0).__next__)
    monkeypatch.setattr("operable.state.lock.fcntl.flock", refuse)
    with pytest.raises(FlowError) as caught:
        audit_log.append(path, {"execution_id": "e1"}) if work == "append" else verify(path)
    monkeypatch.undo()

    assert caught.value.message == words
    assert verify(path)["records"] == 1


def test_a_lock_without_an_end_lasts_as_long_as_its_descriptor(tmp_path):
    path = str(tmp_path / "lock")
    descriptor = acquire(path)
    try:
        assert is_locked(path)
        with pytest.raises(TimeoutError):
            acquire(path)
    finally:
        os.close(descriptor)
    assert not is_locked(path)
    os.close(acquire(path))


def test_a_file_is_locked_before_it_has_its_name_and_until_its_maker_is_killed(tmp_path):
    program = (
        "import sys\nfrom operable.state.lock import create_locked\n"
        "descriptor = create_locked(sys.argv[1])\nprint('made', flush=True)\nsys.stdin.read()\n"
    )
    path = str(tmp_path / "owner")
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == b"made\n"
        assert os.listdir(tmp_path) == ["owner"]
        assert is_locked(path)
        maker.kill()
        maker.wait(timeout=100)
    assert not is_locked(path)
    with pytest.raises(FileNotFoundError):
        is_locked(str(tmp_path / "other"))


def test_a_caller_may_give_up_between_two_attempts(tmp_path):
    descriptor = acquire(str(tmp_path / "lock"))
    waited = []

    def give_up(seconds):
        waited.append(seconds)
        if len(waited) == 3:
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt), held(str(tmp_path / "lock"), EXCLUSIVE, pause=give_up):
            pytest.fail("the lock is another's")
    finally:
        os.close(descriptor)
    assert waited == sorted(waited)
