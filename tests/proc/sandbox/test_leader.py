"""A program inside stops the first process of its namespace, or traces the command: its runner ends all the same."""

import os
import select
import sys
from pathlib import Path

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


def run(command: PreparedCommand) -> tuple[ChildEnd, bytes, list[int]]:
    """Without a deadline, as sessions of agents run; with descriptors of who was inside after a second."""
    reactor, ends, out = SelectorReactor(), list[ChildEnd](), bytearray()
    try:
        child = Child(reactor, command, on_stdout=out.extend, on_end=ends.append)
        reactor.call_later(120.0, lambda: child.kill("the test"))
        inside: list[int] = []
        reactor.call_later(1.0, lambda: inside.extend(os.pidfd_open(each.pid) for each in living(child.pid)))
        reactor.run(lambda: bool(ends))
    finally:
        reactor.close()
    return ends[0], bytes(out), inside


@pytest.mark.parametrize("victim", ["first process", "command"])
@pytest.mark.parametrize("tree", [True, False], ids=["tree", "group"])
@pytest.mark.parametrize("outlive", [True, False], ids=["outlive", "die"])
def test_a_program_that_keeps_the_end_of_the_command_back_is_ended(tmp_path: Path, victim, tree, outlive):
    command = prepare([PYTHON, "-I", "-S", "-c", ATTACK, victim])._replace(tree=tree)
    place = Confinement(
        cwd="/tmp", root="system", readable={sys.base_prefix: sys.base_prefix}, outlive=outlive
    )

    end, out, inside = run(without_filter(sandbox("bubblewrap").wrap(command, place)))

    assert out == b"held\n", end.stderr.text()
    assert end.cause == FROZEN
    assert len(inside) == 2  # first process and attacker; the command itself has ended
    for pidfd in inside:
        assert select.select([pidfd], [], [], 60.0)[0], "it lives"
        os.close(pidfd)


def test_with_the_filter_nothing_is_held(tmp_path: Path):
    command = prepare([PYTHON, "-I", "-S", "-c", ATTACK, "first process"])
    place = Confinement(cwd="/tmp", root="system", readable={sys.base_prefix: sys.base_prefix})

    end, out, _ = run(sandbox("bubblewrap").wrap(command, place))

    assert (end.cause, out) == (None, b"")
    assert "PermissionError" in end.stderr.text()


def test_a_command_that_takes_its_time_is_left_alone(tmp_path: Path):
    code = "import time; time.sleep(1.5); print('done')"
    command = prepare([PYTHON, "-I", "-S", "-c", code])
    place = Confinement(cwd="/tmp", root="system", readable={sys.base_prefix: sys.base_prefix})

    end, out, _ = run(sandbox("bubblewrap").wrap(command, place))

    assert (end.cause, end.status, out) == (None, 0, b"done\n")
    assert not end.leftovers
