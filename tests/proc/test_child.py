"""Real processes that behave badly in every way we know, on both reactors."""

import os
import signal
import subprocess
import sys

import pytest

from operable.proc.child import OPEN, Child, ChildEnd
from operable.proc.reactor import SelectorReactor
from operable.proc.spawn import prepare
from operable.proc.tree import group as group_module
from operable.proc.tree.escalation import Graces
from operable.proc.tree.group import Group, group_alive
from tests.proc.drive import BACKENDS, SHORT, drive, python, ran

READY_THEN_WAIT = "import signal,sys; {setup}; print('ready', flush=True); signal.pause()"


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def cancel_when_ready(child, said):
    if said.endswith(b"ready\n"):
        child.cancel()


class Interrupted(SelectorReactor):
    """A host that is interrupted when it has started a child and begins to watch it."""

    def add_reader(self, *_):
        raise KeyboardInterrupt


def test_who_is_interrupted_while_a_child_is_taken_over_leaves_no_process():
    def children():
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return set(file.read().split())

    ran(BACKENDS[0], python(""))  # whatever watches over the first child is there from now on
    before, reactor = children(), Interrupted()
    with pytest.raises(KeyboardInterrupt):
        Child(reactor, prepare(python("import signal; signal.pause()")), on_stdout=print, on_end=print)
    reactor.close()

    assert children() - before == set()


def test_output_status_and_diagnostics_arrive(backend):
    run = ran(backend, python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))
    assert run.stdout == b"out\n"
    assert run.end.stderr.text() == "err\n"
    assert (run.end.status, run.end.cause) == (3, None)


def test_the_child_leads_a_session_of_its_own_with_no_terminal(backend):
    run = ran(backend, python("import os; print(os.getsid(0) == os.getpgrp() == os.getpid())"))
    assert run.stdout == b"True\n"


def test_no_descriptor_but_the_three_standard_ones_reaches_the_child(backend):
    with open(os.devnull, "rb") as extra:
        os.set_inheritable(extra.fileno(), True)
        run = ran(
            backend, python("import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:4])")
        )
    # The fourth is the listing itself.
    assert run.stdout == b"[0, 1, 2, 3]\n"


def test_a_tool_that_handles_sigint_can_still_write_its_last_words(backend):
    code = (
        "import os, signal\n"
        "def stop(*_): os.write(1, b'last words\\n'); os._exit(130)\n"
        "signal.signal(signal.SIGINT, stop); print('ready', flush=True); signal.pause()"
    )
    run = ran(backend, python(code), when_it_says=cancel_when_ready, graces=Graces())
    assert run.stdout == b"ready\nlast words\n"
    assert (run.end.status, run.end.cause) == (130, "cancelled")


def test_a_tool_that_ignores_sigint_gets_sigterm(backend):
    argv = python(READY_THEN_WAIT.format(setup="signal.signal(signal.SIGINT, signal.SIG_IGN)"))
    assert ran(backend, argv, when_it_says=cancel_when_ready).end.status == -signal.SIGTERM


def test_a_tool_that_ignores_both_gets_sigkill(backend):
    setup = "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    code = f"import signal; {setup}; print('ready', flush=True)\nwhile True: signal.pause()"
    run = ran(backend, python(code), when_it_says=cancel_when_ready)
    assert run.end.status == -signal.SIGKILL
    assert not group_alive(run.pid)


def test_the_deadline_ends_a_silent_tool(backend):
    argv = python("import signal; signal.signal(signal.SIGINT, signal.SIG_DFL); signal.pause()")
    run = ran(backend, argv, timeout=0.2)
    assert run.end.cause == "deadline"
    assert run.end.status in (-signal.SIGINT, 1)


def test_a_child_killed_by_somebody_else_is_reported_by_its_signal(backend):
    argv = python(READY_THEN_WAIT.format(setup="sys.stdout.write('half a li'); sys.stdout.flush()"))

    def kill(child, said):
        if said.endswith(b"ready\n"):
            os.kill(child.pid, signal.SIGKILL)

    run = ran(backend, argv, when_it_says=kill)
    assert run.stdout == b"half a liready\n"
    assert (run.end.status, run.end.cause) == (-signal.SIGKILL, None)


def test_a_grandchild_in_the_group_that_keeps_the_pipe_open_does_not_hold_the_caller(backend):
    code = (
        "import os, signal, sys\n"
        "reading, writing = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(writing, b'x')\n"
        "    while True: signal.pause()\n"
        "os.read(reading, 1); print('done', flush=True); os._exit(0)\n"
    )
    run = ran(backend, python(code))
    assert run.stdout == b"done\n"
    assert (run.end.status, run.end.cause, run.end.leftovers) == (0, None, True)
    assert not group_alive(run.pid)


def test_a_grandchild_that_closed_its_pipes_is_ended_with_the_group(backend):
    code = (
        "import os, signal, sys\n"
        "reading, writing = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.close(0); os.close(1); os.close(2); os.write(writing, b'x'); signal.pause()\n"
        "os.read(reading, 1); os._exit(0)\n"
    )
    run = ran(backend, python(code))
    assert run.end.status == 0
    assert not group_alive(run.pid)


def test_a_daemon_that_left_the_group_and_floods_the_pipe_is_left_behind(backend):
    # It has a session of its own, so no signal to the group reaches it; it ends by itself when its pipe breaks.
    code = (
        "import os, sys\n"
        "sys.stdout.write('the tool wrote this\\n'); sys.stdout.flush()\n"
        "reading, writing = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); os.write(writing, b'x')\n"
        "    while True: os.write(1, b'flood ' * 1000)\n"
        "os.read(reading, 1); os._exit(0)\n"
    )
    run = ran(backend, python(code))
    assert run.stdout.startswith(b"the tool wrote this\n")
    assert (run.end.status, run.end.held_open) == (0, True)


def test_a_paused_reader_loses_nothing_that_the_tool_wrote_before_it_ended(backend):
    # A daemon holds the pipe, the consumer takes nothing until the group is gone: the 60,000 bytes are still there.
    code = (
        "import os, sys\n"
        "reading, writing = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); os.close(2); os.write(writing, b'x'); os.read(0, 1); os._exit(0)\n"
        "os.read(reading, 1); os.write(1, b'y' * 60000); os._exit(0)\n"
    )
    hold_read, hold_write = os.pipe()
    taken = bytearray()
    ends: list[ChildEnd] = []

    def scenario(reactor, finish):
        def ended(end):
            ends.append(end)
            finish()

        child = Child(
            reactor,
            prepare(python(code)),
            on_stdout=taken.extend,
            on_end=ended,
            stdin=hold_read,
            timeout=200,
            graces=SHORT,
        )
        child.stdout.pause()
        resume_when_ended(reactor, child)

    def resume_when_ended(reactor, child):
        if child._ladder.phase == "ended":
            assert taken == b""
            child.stdout.resume()
        else:
            reactor.call_later(0.01, lambda: resume_when_ended(reactor, child))

    try:
        drive(backend, scenario)
    finally:
        os.close(hold_read)
        os.close(hold_write)
    assert len(taken) == 60000
    assert (ends[0].status, ends[0].held_open) == (0, True)


def test_a_flood_on_stderr_neither_blocks_the_child_nor_fills_memory(backend):
    code = "import os\nfor _ in range(400): os.write(2, b'e' * 65536)\nos.write(2, b'the end'); print('done')"
    run = ran(backend, python(code))
    assert run.stdout == b"done\n"
    assert run.end.stderr.total == 400 * 65536 + 7
    assert run.end.stderr.omitted > 25_000_000
    assert run.end.stderr.text().endswith("the end")
    assert len(run.end.stderr.text()) < 100_000


def test_input_larger_than_the_pipe_goes_both_ways_without_deadlock(backend):
    data = os.urandom(1 << 20) * 3
    run = ran(
        backend,
        python(
            "import sys\nfor c in iter(lambda: sys.stdin.buffer.read1(9999), b''): sys.stdout.buffer.write(c)"
        ),
        stdin=data,
    )
    assert run.stdout == data
    assert not run.end.stdin_unread


def test_a_child_that_does_not_read_its_input_is_no_error(backend):
    run = ran(backend, python("print('enough')"), stdin=b"x" * 1_000_000)
    assert run.stdout == b"enough\n"
    assert (run.end.status, run.end.stdin_unread) == (0, True)


def test_without_input_the_child_reads_end_of_file(backend):
    assert ran(backend, python("import sys; print(repr(sys.stdin.read()))")).stdout == b"''\n"


def test_an_open_file_can_be_the_input(backend, tmp_path):
    (tmp_path / "in").write_text("from a file")
    with (tmp_path / "in").open("rb") as file:
        run = ran(backend, python("import sys; print(sys.stdin.read())"), stdin=file)
    assert run.stdout == b"from a file\n"


def test_a_conversation_over_an_open_pipe(backend):
    code = "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)"
    taken = bytearray()

    def scenario(reactor, finish):
        def took(chunk):
            taken.extend(chunk)
            if taken == b"HELLO\n":
                inlet.write(b"bye\n")
                inlet.finish()

        child = Child(reactor, prepare(python(code)), on_stdout=took, on_end=finish, stdin=OPEN, timeout=200)
        assert child.stdin is not None
        inlet = child.stdin
        inlet.write(b"hello\n")

    drive(backend, scenario)
    assert taken == b"HELLO\nBYE\n"


def test_nothing_ambient_reaches_the_child(backend, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    run = ran(backend, python("import os; print(sorted(os.environ))"), env={"GIVEN": "1"})
    assert b"AWS" not in run.stdout
    assert b"GIVEN" in run.stdout
    assert b"PATH" in run.stdout


def test_a_paused_reader_blocks_the_child_instead_of_growing_memory(backend):
    # The child tells on stderr how much it got rid of; a full pipe stops it at the kernel's buffer.
    code = (
        "import os\n"
        "os.set_blocking(1, False); total = 0\n"
        "try:\n"
        "    while True: total += os.write(1, b'x' * 4096)\n"
        "except BlockingIOError: os.write(2, b'%d' % total)\n"
    )
    ends: list[ChildEnd] = []

    def scenario(reactor, finish):
        def ended(end):
            ends.append(end)
            finish()

        child = Child(
            reactor, prepare(python(code)), on_stdout=lambda _: None, on_end=ended, timeout=200, graces=SHORT
        )
        child.stdout.pause()
        # It has exited when its diagnostics are complete; only then does the consumer look at the output.
        child._on_stderr = lambda _: child.stdout.resume()

    drive(backend, scenario)
    assert int(ends[0].stderr.text()) <= 1 << 20


def test_without_pidfds_the_exit_is_found_by_asking(backend, monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    run = ran(backend, python("print('hello')"))
    assert (run.stdout, run.end.status) == (b"hello\n", 0)


def test_a_status_that_somebody_else_took_is_unknown_not_zero(backend):
    def steal(child, said):
        if b"ready" in said:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)

    run = ran(backend, python(READY_THEN_WAIT.format(setup="0")), when_it_says=steal)
    assert run.end.status is None


def test_a_process_that_survives_sigkill_is_left_behind_in_bounded_time(backend, monkeypatch):
    # Uninterruptible sleep cannot be had in a test; a signal that never arrives looks the same from here.
    monkeypatch.setattr(group_module, "signal_group", lambda *_: None)
    graces = Graces(interrupt=0.05, terminate=0.05, kill=0.05, drain=0.05)
    left: list[Child] = []

    def keep(child, said):
        left.append(child)
        child.cancel()

    run = ran(backend, python(READY_THEN_WAIT.format(setup="0")), when_it_says=keep, graces=graces)
    assert (run.end.gave_up, run.end.status) == (True, None)
    os.kill(run.pid, signal.SIGKILL)
    leader = left[0]._leader
    assert isinstance(leader, Group)
    assert isinstance(leader.process, subprocess.Popen)
    leader.process.wait(200)


def test_many_children_on_one_reactor(backend):
    ends: list[ChildEnd] = []

    def scenario(reactor, finish):
        def ended(end):
            ends.append(end)
            if len(ends) == 8:
                finish()

        for number in range(8):
            Child(
                reactor,
                prepare(["/bin/sh", "-c", f"exit {number}"]),
                on_stdout=lambda _: None,
                on_end=ended,
                timeout=200,
            )

    drive(backend, scenario)
    assert sorted(end.status or 0 for end in ends) == list(range(8))


def test_no_descriptor_is_left_open(backend):
    def descriptors():
        return set(os.listdir("/proc/self/fd"))

    ran(backend, python("pass"))
    before = descriptors()
    ran(backend, python("pass"), stdin=b"x" * 200_000)
    ran(backend, [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=b"x" * 200_000)
    assert descriptors() == before
