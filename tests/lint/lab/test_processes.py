"""What /proc tells the host about a sandbox: who is there, how large, waiting for what."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from operable.lint.lab.custody import Custody
from operable.lint.lab.processes import Census, Waiting, census, kill, living, names_below, waiting
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.spawn import launch, prepare

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


@pytest.fixture
def inside(tmp_path: Path):
    """Starts a command in a sandbox, and gives what is known of it."""
    started = []

    def start(*words: str) -> tuple[Custody, int]:
        custody = Custody(sandbox("bubblewrap"), network=False)
        confinement = Confinement(cwd="/tmp/x", writable={"/tmp/x": str(tmp_path)}, gate=custody.theirs)
        launched = launch(sandbox("bubblewrap").wrap(prepare(words), confinement))
        custody.handed_over()
        started.append((custody, launched))
        assert until(lambda: custody.known(launched.leader.pid))
        custody.open()
        assert until(lambda: custody.led(launched.leader.pid))
        assert custody.init is not None
        return custody, custody.init

    yield start
    for custody, launched in started:
        custody.close()
        assert until(lambda launched=launched: not launched.leader.alive())
        launched.leader.reap()
        launched.leader.release()
        os.close(launched.stdout)
        os.close(launched.stderr)


def until(true, limit: float = 20.0) -> bool:
    deadline = time.monotonic() + limit
    while not true():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.01)
    return True


def test_the_inmates_are_counted_and_measured(inside):
    _, init = inside("sh", "-c", "sleep 50 & sleep 50 & wait")

    assert until(lambda: census(init).processes >= 4)  # the first one, the shell, and two that sleep
    assert census(init).memory > 0
    assert until(lambda: waiting(init).idle)


def test_whoever_waits_for_room_in_a_pipe_is_seen_with_what_it_has_to_write(inside):
    code = "import os, fcntl; fcntl.fcntl(1, 1031, 4096); os.write(1, b'x' * 4096); os.write(1, b'y' * 77)"
    _, init = inside(os.path.realpath(sys.executable), "-c", code)

    assert until(lambda: waiting(init).writing)
    assert waiting(init).pending in (77, None)  # None: not every kernel tells


def test_the_end_of_the_first_process_is_the_end_of_all(inside):
    custody, init = inside("sh", "-c", "setsid sleep 50 & wait")
    assert until(lambda: census(init).processes >= 3)

    kill(init)

    assert until(custody.ended)
    assert not living(init)


def test_processes_of_the_host_are_never_taken_for_inmates():
    # As long as a sandbox is being set up, its first process sees the /proc of the host, as this one does.
    users = [] if os.geteuid() == 0 else ["--user"]
    process = subprocess.Popen(["unshare", *users, "--pid", "--fork", "--kill-child", "sleep", "50"])
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        assert until(lambda: children.read_text().split())
        first = int(children.read_text().split()[0])

        assert census(first) == Census(0, 0)
        assert waiting(first) == Waiting()
    finally:
        process.kill()
        process.wait(10)


def test_who_is_gone_is_nobody(inside):
    process = subprocess.Popen(["true"])
    process.wait(10)

    assert not living(process.pid)
    assert census(process.pid) == Census(0, 0)
    assert waiting(process.pid) == Waiting()
    assert names_below(process.pid) == []
    kill(process.pid)  # and nothing happens
