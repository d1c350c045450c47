"""A program inside stops the first process of its namespace, or traces the command: its runner ends all the same."""

import os
import select
import sys
from itertools import product

import pytest

from operable.proc.child import FROZEN, Child, ChildEnd
from operable.proc.command import PreparedCommand
from operable.proc.reactor import SelectorReactor
from operable.proc.sandbox.confinement import Confinement, sandbox
from operable.proc.spawn import prepare
from operable.proc.tree.descendants import living
from tests.proc.sandbox.unfiltered import without_filter

pytestmark = pytest.mark.needs("bwrap")
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))

# The command starts an attacker with a session of its own, waits for its word, and ends. The attacker lives on and holds
# the victim: the first process (seized and interrupted, so that it never waits again), or the command (as its tracer).
ATTACK = """
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def ptrace(request, pid, data=0):
    if libc.ptrace(request, pid, None, ctypes.c_void_p(data)) < 0: raise OSError(ctypes.get_errno(), 'ptrace')
reading, writing = os.pipe()
command = os.getpid()
libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)  # any process may trace this one, where Yama asks
if os.fork() == 0:
    os.setsid()
    if sys.argv[1] == 'first process':
        ptrace(0x4206, 1); ptrace(0x4207, 1)
        os.waitpid(1, 0x40000000)
        os.kill(1, signal.SIGSTOP)
    else:
        ptrace(0x4206, command)
    os.write(writing, b'x')
    while True: signal.pause()
os.close(writing)
assert os.read(reading, 1) == b'x'
print('held', flush=True)
os._exit(3)
"""


class Attempt:
    """A run without a deadline, as sessions of agents run, with descriptors of the two that are left when it is held."""

    def __init__(self, reactor: SelectorReactor, command: PreparedCommand) -> None:
        self._reactor = reactor
        self.ends: list[ChildEnd] = []
        self.out = bytearray()
        self.inside: list[int] = []
        self._child = Child(reactor, command, on_stdout=self.out.extend, on_end=self.ends.append)
        reactor.call_later(120.0, lambda: self._child.kill("the test"))
        self._look()

    def _look(self) -> None:
        left = living(self._child.pid) if self.out else []
        if len(left) == 2:  # first process and attacker; the command itself has ended
            self.inside = [os.pidfd_open(each.pid) for each in left]
        elif not self.ends:
            self._reactor.call_later(0.05, self._look)


def run(*commands: PreparedCommand) -> list[Attempt]:
    """All of them at the same time."""
    reactor = SelectorReactor()
    try:
        attempts = [Attempt(reactor, command) for command in commands]
        reactor.run(lambda: all(each.ends for each in attempts))
    finally:
        reactor.close()
    return attempts


HELD = {
    f"{victim}, {'tree' if tree else 'group'}, {'outlive' if outlive else 'die'}": (victim, tree, outlive)
    for victim, tree, outlive in product(("first process", "command"), (True, False), (True, False))
}


@pytest.fixture(scope="module")
def held() -> dict[str, Attempt]:
    """Every way to hold back the end of a command. At the same time: each waits for the grace of the runner."""
    commands = []
    for victim, tree, outlive in HELD.values():
        command = prepare([PYTHON, "-I", "-S", "-c", ATTACK, victim])._replace(tree=tree)
        place = Confinement(
            cwd="/tmp", root="system", readable={sys.base_prefix: sys.base_prefix}, outlive=outlive
        )
        commands.append(without_filter(sandbox("bubblewrap").wrap(command, place)))
    return dict(zip(HELD, run(*commands), strict=True))


@pytest.mark.parametrize("way", HELD)
def test_a_program_that_keeps_the_end_of_the_command_back_is_ended(held, way):
    attempt = held[way]
    end = attempt.ends[0]

    assert bytes(attempt.out) == b"held\n", end.stderr.text()
    assert end.cause == FROZEN
    assert len(attempt.inside) == 2
    for pidfd in attempt.inside:
        assert select.select([pidfd], [], [], 60.0)[0], "it lives"
        os.close(pidfd)


def test_with_the_filter_nothing_is_held():
    command = prepare([PYTHON, "-I", "-S", "-c", ATTACK, "first process"])
    place = Confinement(cwd="/tmp", root="system", readable={sys.base_prefix: sys.base_prefix})

    (attempt,) = run(sandbox("bubblewrap").wrap(command, place))
    end = attempt.ends[0]

    assert (end.cause, bytes(attempt.out)) == (None, b"")
    assert "PermissionError" in end.stderr.text()


def test_a_command_that_takes_its_time_is_left_alone():
    code = "import time; time.sleep(1.5); print('done')"
    command = prepare([PYTHON, "-I", "-S", "-c", code])
    place = Confinement(cwd="/tmp", root="system", readable={sys.base_prefix: sys.base_prefix})

    (attempt,) = run(sandbox("bubblewrap").wrap(command, place))
    end = attempt.ends[0]

    assert (end.cause, end.status, bytes(attempt.out)) == (None, 0, b"done\n")
    assert not end.leftovers
