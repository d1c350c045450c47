"""The host is a real process that we kill; its children must not survive it."""

import os
import select
import signal
import subprocess
import sys

import pytest

from operable.proc.tree import warden
from operable.proc.tree.warden import Warden

# A host that starts one supervised child, says both pids, and hangs. The child ignores the closing of its pipes.
HOST = """
import signal, sys
from operable.proc.child import Child
from operable.proc.reactor import SelectorReactor
from operable.proc.spawn import prepare
from operable.proc.tree.warden import WARDEN
code = "import os, signal, sys; {child}; print(os.getpid(), flush=True)\\nwhile True: signal.pause()"
reactor = SelectorReactor()
def said(chunk):
    print(int(chunk), WARDEN.pid, flush=True)
    {then}
child = Child(reactor, prepare([sys.executable, "-I", "-S", "-c", code]), on_stdout=said, on_end=print, timeout=200)
reactor.run(lambda: False)
"""


def wait_until_gone(pid: int, seconds: float = 20) -> bool:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], seconds)[0])
    finally:
        os.close(pidfd)


def start_host(child="0", then="pass"):
    code = HOST.replace("{child}", child).replace("{then}", then)
    host = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert host.stdout is not None
    child_pid, warden_pid = map(int, host.stdout.readline().split())
    return host, child_pid, warden_pid


@pytest.mark.parametrize(
    "child", ["0", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"], ids=["polite", "stubborn"]
)
def test_a_host_killed_with_sigkill_leaves_no_child_and_no_warden(child):
    host, child_pid, warden_pid = start_host(child)
    with host:
        host.kill()
        assert host.wait(timeout=200) == -signal.SIGKILL
    assert wait_until_gone(child_pid)
    assert wait_until_gone(warden_pid)


def test_a_host_that_just_exits_leaves_no_child():
    host, child_pid, warden_pid = start_host(then="sys.exit(0)")
    with host:
        assert host.wait(timeout=200) == 0
    assert wait_until_gone(child_pid)
    assert wait_until_gone(warden_pid)


def test_who_waits_for_the_output_of_the_host_does_not_wait_for_the_warden():
    code = (
        "import operable.proc.tree.warden as w, os; w.WARDEN.watch(os.getpid() + 1_000_000); "
        "w.WARDEN.release(os.getpid() + 1_000_000); print(w.WARDEN.pid)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=200)
    assert wait_until_gone(int(done.stdout))


def sleeper():
    return subprocess.Popen(["sleep", "100"], start_new_session=True)


def test_a_group_that_was_released_is_left_alone():
    host = Warden()
    with sleeper() as kept, sleeper() as released:
        host.watch(released.pid)
        host.watch(kept.pid)
        host.release(released.pid)
        host.forget()  # closes the pipe, as the end of the host does
        assert kept.wait(timeout=200) == -signal.SIGTERM
        assert released.poll() is None
        released.kill()


def test_a_warden_that_was_killed_is_replaced_and_gets_the_whole_list():
    host = Warden()
    with sleeper() as first, sleeper() as second:
        host.watch(first.pid)
        old = host.pid
        assert old is not None
        os.kill(old, signal.SIGKILL)
        os.waitid(os.P_PID, old, os.WEXITED | os.WNOWAIT)
        host.watch(second.pid)
        assert host.pid != old
        host.forget()
        assert first.wait(timeout=200) == -signal.SIGTERM
        assert second.wait(timeout=200) == -signal.SIGTERM


def test_a_fork_of_the_host_does_not_keep_the_warden_waiting():
    host, child_pid, _ = start_host(
        then="import os; pid = os.fork(); pid or signal.pause(); print(pid, flush=True)"
    )
    with host:
        assert host.stdout is not None
        fork_pid = int(host.stdout.readline())
        host.kill()
        host.wait(timeout=200)
        assert wait_until_gone(child_pid)
        os.kill(fork_pid, signal.SIGKILL)


def test_without_a_shell_there_is_no_warden_and_it_says_so(monkeypatch):
    monkeypatch.setattr(warden, "_SHELL", "/no/such/shell")
    host = Warden()
    host.watch(2_000_000)
    assert not host.active
    host.release(2_000_000)


# A host with a warden that marks, and may take the mark back before it ends.
MARKING = """
import resource, sys
from operable.proc.tree.warden import WARDEN
if len(sys.argv) > 3:
    limit = int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_RTTIME, (limit, limit))  # the warden itself carries it, too
    WARDEN.mark(sys.argv[1], limit)
else:
    WARDEN.mark(sys.argv[1])
WARDEN.watch(10_000_000)
WARDEN.release(10_000_000)
WARDEN.mark(sys.argv[2]) if len(sys.argv) < 4 else None
print(WARDEN.pid)
"""


@pytest.mark.parametrize("taken_back", [False, True])
def test_only_a_mark_that_still_holds_ends_who_carries_it(taken_back):
    word = os.urandom(16).hex()
    carrier = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import signal; signal.pause()"],
        env={"CARRIED": word},
        start_new_session=True,
    )
    try:
        words = [word, "" if taken_back else word]
        done = subprocess.run(
            [sys.executable, "-c", MARKING, *words], capture_output=True, check=True, timeout=200
        )
        assert wait_until_gone(int(done.stdout))
        if taken_back:
            assert carrier.poll() is None
        else:
            assert carrier.wait(timeout=200) == -signal.SIGTERM
    finally:
        carrier.kill()
        carrier.wait(timeout=200)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no such limit")
def test_a_limit_that_nobody_else_has_marks_too_and_is_not_lost_with_the_environment():
    limit = (1 << 60) + int.from_bytes(os.urandom(6))
    script = f"import resource, signal; resource.setrlimit(resource.RLIMIT_RTTIME, ({limit}, {limit})); print(flush=True)"
    carrier = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", f"{script}; signal.pause()"],
        env={},
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    with carrier, sleeper() as other:
        try:
            assert carrier.stdout is not None
            carrier.stdout.readline()
            done = subprocess.run(
                [sys.executable, "-c", MARKING, os.urandom(16).hex(), "", str(limit)],
                capture_output=True,
                check=True,
                timeout=200,
            )
            assert carrier.wait(timeout=200) == -signal.SIGTERM
            assert wait_until_gone(int(done.stdout))
            assert other.poll() is None
        finally:
            carrier.kill()
            other.kill()
