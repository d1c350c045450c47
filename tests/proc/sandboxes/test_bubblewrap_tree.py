"""Agents in bubblewrap, supervised as trees: signals for those inside, and nobody left."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from operable.proc.child import OPEN, Child, ChildEnd
from operable.proc.tree.escalation import Graces
from operable.proc.tree.keeper import missing
from tests.proc.drive import BACKENDS, drive
from tests.proc.sandboxes.confined import command_for

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.skipif(missing() is not None, reason=str(missing()))]

# What the leader does about SIGTERM is settled before a daemon says "ready", which the test answers with the signal.
AGENT = """
import os, signal
signal.signal(signal.SIGTERM, {on_terminate})
if os.fork() == 0:
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid(); os.write(1, b"ready\\n")
    while True: signal.pause()
while True: signal.pause()
"""
POLITE = AGENT.format(on_terminate="lambda *_: (os.write(2, b'goodbye'), os._exit(7))")
DEAF = AGENT.format(on_terminate="signal.SIG_IGN")


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def closed(backend: str, code: str, work: Path, graces: Graces) -> ChildEnd:
    ends: list[ChildEnd] = []
    with command_for(code, work) as (command, _):

        def scenario(reactor, finish):
            def ended(end):
                ends.append(end)
                finish()

            child = Child(
                reactor,
                command,
                on_stdout=lambda _: child.terminate(),
                on_end=ended,
                stdin=OPEN,
                timeout=200,
                graces=graces,
            )

        drive(backend, scenario)
    return ends[0]


def test_closing_asks_the_agent_and_not_its_sandbox(backend, tmp_path: Path):
    end = closed(backend, POLITE, tmp_path, Graces())

    assert (end.status, end.stderr.text(), end.cause) == (7, "goodbye", "closed")


def test_an_agent_that_does_not_hear_is_killed_with_its_daemons(backend, tmp_path: Path):
    end = closed(backend, DEAF, tmp_path, Graces(terminate=0.3))

    assert (end.cause, end.gave_up) == ("closed", False)
    assert end.status in (-signal.SIGKILL, 128 + signal.SIGKILL)


HOST = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from operable.proc.child import OPEN, Child
from operable.proc.tree.keeper import KEEPER
from operable.proc.reactor import SelectorReactor
from operable.proc.tree.descendants import living
from tests.proc.sandboxes.confined import command_for
reactor = SelectorReactor()
heard = []
def took(chunk):
    heard.append(chunk)
    if b"".join(heard).count(b"ready") == 3:
        print(KEEPER.pid, *[member.pid for member in living(KEEPER.pid)], flush=True)
with command_for({code!r}, Path({work!r})) as (command, _):
    children = [Child(reactor, command, stdin=OPEN, on_stdout=took, on_end=print) for _ in range(3)]
    reactor.run(lambda: False)
"""


def test_kill_9_of_the_host_leaves_nobody_inside_either(tmp_path: Path):
    root = str(Path(__file__).parents[3])
    code = HOST.format(root=root, code=DEAF, work=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        pids = [int(word) for word in host.stdout.readline().split()]
        assert len(pids) >= 1 + 3 * 5
        host.kill()
        host.wait(timeout=200)
    assert [pid for pid in pids if not _gone(pid)] == []


def _gone(pid: int) -> bool:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], 20)[0])
    finally:
        os.close(pidfd)
