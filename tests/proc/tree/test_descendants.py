import os
import signal
import subprocess

from operable.proc.tree.descendants import living, signal_tree
from tests.proc.drive import python

# A child and a grandchild, the second in a session of its own; both say their numbers.
FAMILY = (
    "import os, signal, sys\n"
    "if os.fork() == 0:\n"
    "    os.setsid(); print(os.getppid(), os.getpid(), flush=True)\n"
    "    while True: signal.pause()\n"
    "while True: signal.pause()\n"
)


def test_descendants_are_found_with_their_generation_and_signalled_below_it():
    with subprocess.Popen(python(FAMILY), stdout=subprocess.PIPE) as family:
        assert family.stdout is not None
        parent, child = map(int, family.stdout.readline().split())
        mine = {member.pid: member.generation for member in living(os.getpid())}
        below = [member.pid for member in living(parent)]

        assert (mine[parent], mine[child]) == (1, 2)
        assert below == [child]
        assert signal_tree(parent, signal.SIGKILL) == 1
        assert family.poll() is None
        assert signal_tree(parent, signal.SIGKILL, below=1) == 0
        family.kill()


def test_a_number_that_was_given_to_somebody_else_is_left_alone():
    from operable.proc.tree.descendants import Member, _signal

    with subprocess.Popen(["sleep", "100"]) as stranger:
        _signal(Member(stranger.pid, b"1", 1), signal.SIGKILL)
        assert stranger.poll() is None
        stranger.kill()
    _signal(Member(stranger.pid, b"1", 1), signal.SIGKILL)


def test_a_zombie_is_not_alive():
    with subprocess.Popen(["true"]) as done:
        os.waitid(os.P_PID, done.pid, os.WEXITED | os.WNOWAIT)
        assert done.pid not in [member.pid for member in living(os.getpid())]
