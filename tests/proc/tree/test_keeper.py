"""Whole trees: agents with daemons that left everything, and hosts that are killed. All of them real processes."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.proc.child import OPEN, Child, ChildEnd
from operable.proc.spawn import launch, prepare
from operable.proc.tree import keeper as keeper_module
from operable.proc.tree.escalation import Graces
from operable.proc.tree.group import Group
from operable.proc.tree.keeper import KEEPER, Keeper, missing
from tests.proc.drive import BACKENDS, SHORT, drive, python

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

# A process that has left its group, its session and its parent, and ignores everything that can be ignored.
DAEMON = """
import os, signal, sys
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
def daemon():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            os.write(writing, b"%d\\n" % os.getpid())
            while True: signal.pause()
        os._exit(0)
    os.wait()
    return int(os.read(reading, 32))
"""
# 20 of those below a host that says who they are, then waits to be killed.
HOST = """
import sys
from operable.proc.child import OPEN, Child
from operable.proc.tree.keeper import KEEPER
from operable.proc.reactor import SelectorReactor
from operable.proc.spawn import prepare
reactor = SelectorReactor()
agent = DAEMON + "print(os.getpid(), daemon(), flush=True)\\nwhile True: signal.pause()"
said = []
def took(chunk):
    said.extend(chunk.split())
    if len(said) == 2 * SESSIONS:
        print(KEEPER.pid, *map(int, said), flush=True)
        AFTER
children = [
    Child(reactor, prepare([sys.executable, "-I", "-S", "-c", agent])._replace(tree=True), stdin=OPEN, on_stdout=took, on_end=print)
    for _ in range(SESSIONS)
]
reactor.run(lambda: False)
"""


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def wait_until_gone(pid: int, seconds: float = 30) -> bool:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([pidfd], [], [], seconds)[0])
    finally:
        os.close(pidfd)


def start_host(sessions: int, after: str = "pass") -> tuple["subprocess.Popen[bytes]", int, list[int]]:
    code = HOST.replace("DAEMON", repr(DAEMON)).replace("SESSIONS", str(sessions)).replace("AFTER", after)
    host = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert host.stdout is not None
    keeper, *pids = map(int, host.stdout.readline().split())
    return host, keeper, pids


def test_kill_9_of_a_host_with_20_sessions_leaves_nobody():
    host, keeper, pids = start_host(20)
    with host:
        assert len(set(pids)) == 40
        host.kill()
        assert host.wait(timeout=200) == -signal.SIGKILL
    assert [pid for pid in [*pids, keeper] if not wait_until_gone(pid)] == []


def test_a_host_that_just_exits_leaves_nobody():
    host, keeper, pids = start_host(2, "sys.exit(0)")
    with host:
        assert host.wait(timeout=200) == 0
    assert [pid for pid in [*pids, keeper] if not wait_until_gone(pid)] == []


def test_a_fork_of_the_host_that_lives_on_changes_nothing():
    host, keeper, pids = start_host(
        2, "import os, signal; pid = os.fork(); pid or signal.pause(); print(pid, flush=True)"
    )
    with host:
        assert host.stdout is not None
        fork = int(host.stdout.readline())
        host.kill()
        host.wait(timeout=200)
        gone = [wait_until_gone(pid) for pid in [*pids, keeper]]
        os.kill(fork, signal.SIGKILL)
    assert all(gone)


def test_what_is_left_of_a_stem_that_somebody_killed_is_killed_and_the_end_is_told():
    host, _, (agent, daemon) = start_host(1)
    with host:
        assert host.stdout is not None
        stem = parent_of(agent)
        assert Path(f"/proc/{stem}/comm").read_text() == "operable-stem\n"
        os.kill(stem, signal.SIGKILL)
        assert wait_until_gone(agent)
        assert wait_until_gone(daemon)
        assert b"End(status=None" in host.stdout.readline()
        host.kill()


def test_stems_of_a_killed_keeper_go_on_and_a_new_keeper_serves(backend):
    first = tree_of(backend, python("print('ready', flush=True); input()"), until=b"ready\n")
    old = KEEPER.pid
    assert old is not None
    os.kill(old, signal.SIGKILL)
    os.waitid(os.P_PID, old, os.WEXITED | os.WNOWAIT)

    second = tree_of(backend, python("print('ready', flush=True); input()"), until=b"ready\n")

    assert (first.status, second.status) == (0, 0)
    assert KEEPER.pid != old


class _Tree:
    """Runs a tree; at `until` it is told to go on by a line on its stdin, or `act` is called."""

    def __init__(self) -> None:
        self.said = bytearray()
        self.ends: list[ChildEnd] = []


def tree_of(backend, argv, *, until=b"\0", act=None, graces=SHORT, cwd=None) -> ChildEnd:
    run = _Tree()

    def scenario(reactor, finish):
        def took(chunk):
            run.said.extend(chunk)
            if run.said.endswith(until):
                if act is not None:
                    act(child, bytes(run.said))
                elif child.stdin is not None:
                    child.stdin.write(b"\n")

        def ended(end):
            run.ends.append(end)
            finish()

        command = prepare(argv, cwd=cwd)._replace(tree=True)
        child = Child(reactor, command, on_stdout=took, on_end=ended, stdin=OPEN, timeout=200, graces=graces)

    drive(backend, scenario)
    assert len(run.ends) == 1
    return run.ends[0]


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])


def test_status_and_diagnostics_arrive_as_from_a_group(backend):
    end = tree_of(backend, python("import sys; print('err', file=sys.stderr); sys.exit(3)"))
    assert (end.status, end.cause, end.leftovers, end.stderr.text()) == (3, None, False, "err\n")


def test_a_leader_that_a_signal_ended_is_reported_by_it(backend):
    assert tree_of(backend, ["sh", "-c", "kill -9 $$"]).status == -signal.SIGKILL


def test_closing_ends_a_daemon_that_left_the_session_and_ignores_sigterm(backend):
    pids: list[int] = []

    def close(child, said):
        pids.extend(map(int, said.split()))
        child.terminate()

    code = DAEMON + "print(os.getpid(), daemon(), flush=True)\nwhile True: signal.pause()"
    end = tree_of(backend, python(code), until=b"\n", act=close)
    assert (end.status, end.cause) == (-signal.SIGKILL, "closed")
    assert all(wait_until_gone(pid) for pid in pids)


def test_daemons_that_outlive_their_agent_are_ended_and_reported(backend):
    pids: list[int] = []
    code = DAEMON + "print(daemon(), flush=True); input()"
    end = tree_of(backend, python(code), until=b"\n", act=lambda child, said: _note(child, said, pids))
    assert (end.status, end.leftovers) == (0, True)
    assert all(wait_until_gone(pid, 0) for pid in pids)


def _note(child, said, pids):
    pids.append(int(said))
    child.stdin.write(b"\n")


def test_closing_begins_with_sigterm_so_that_an_agent_can_say_goodbye(backend):
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(2, b'goodbye'), os._exit(7)))\n"
        "signal.signal(signal.SIGINT, lambda *_: os._exit(8))\n"
        "print('ready', flush=True); signal.pause()"
    )
    end = tree_of(
        backend, python(code), until=b"ready\n", act=lambda child, _: child.terminate(), graces=Graces()
    )
    assert (end.status, end.stderr.text()) == (7, "goodbye")


def test_a_fork_bomb_is_ended(backend):
    # A chain, not a doubling: no limit of processes binds root, and the machine is shared.
    code = (
        "import os, signal\nprint('ready', flush=True); input()\nwhile os.fork() == 0: pass\nsignal.pause()"
    )

    def boom(child, _):
        child.stdin.write(b"\n")
        child._reactor.call_later(0.3, child.kill)

    end = tree_of(backend, python(code), until=b"ready\n", act=boom)
    assert (end.cause, end.gave_up) == ("cancelled", False)


@pytest.mark.parametrize(
    "content, code",
    [(b"#!/no/such/interpreter\n", "TOOL_INTERPRETER_MISSING"), (b"junk", "TOOL_FORMAT_UNKNOWN")],
)
def test_what_cannot_be_executed_is_explained_as_without_a_keeper(tmp_path, content, code):
    program = tmp_path / "program"
    program.write_bytes(content)
    program.chmod(0o755)
    command = prepare([str(program)])._replace(tree=True)
    launch(prepare(["true"])._replace(tree=True)).leader.abort()
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(Fail) as caught:
        launch(command, pipe_stdin=True)
    assert caught.value.code == code
    assert set(os.listdir("/proc/self/fd")) == before


def test_the_agent_gets_its_own_environment_folder_and_default_signals(tmp_path, backend):
    code = (
        "import os, signal, sys; s = signal.getsignal\n"
        'sys.stderr.write(f\'{os.getcwd()} {sorted(os.environ)[:1]} {len(os.listdir("/proc/self/fd"))} '
        "{s(signal.SIGTERM) == s(signal.SIGHUP) == signal.SIG_DFL}')"
    )
    end = tree_of(backend, python(code), cwd=tmp_path)
    where, first, descriptors, defaults = end.stderr.text().split()
    assert (where, descriptors, defaults) == (str(tmp_path), "4", "True")
    assert first != "[]"


def test_an_environment_and_arguments_of_a_megabyte_pass(backend):
    argv = [*python("import sys; sys.exit(len(sys.argv))"), *("x" * 100_000 for _ in range(9))]
    assert tree_of(backend, argv).status == 10


def test_aborting_without_a_reactor_ends_the_tree():
    launched = launch(prepare(["sleep", "1000"])._replace(tree=True))
    launched.leader.abort()
    assert wait_until_gone(launched.leader.pid)
    for fd in (launched.stdout, launched.stderr):
        os.close(fd)


def test_many_sessions_share_one_keeper(backend):
    before = KEEPER.pid or launch_pid()
    for _ in range(3):
        tree_of(backend, ["true"])
    assert KEEPER.pid == before


def launch_pid() -> int:
    launch(prepare(["true"])._replace(tree=True)).leader.abort()
    assert KEEPER.pid is not None
    return KEEPER.pid


def test_without_a_subreaper_a_tree_is_a_watched_group_and_the_keeper_says_why(monkeypatch):
    monkeypatch.setattr(keeper_module, "missing", lambda: "no subreaper here")
    launched = launch(prepare(["true"])._replace(tree=True))
    assert isinstance(launched.leader, Group)
    assert isinstance(launched.leader.process, subprocess.Popen)
    launched.leader.process.wait(200)
    launched.leader.abort()
    with pytest.raises(Fail, match="no subreaper here"):
        Keeper().start(prepare(["true"]), 0, 1, 2)


def test_descriptors_beyond_the_three_are_refused_for_a_tree():
    with pytest.raises(ValueError, match="no further descriptors"):
        launch(prepare(["true"])._replace(tree=True, fds=(0,)))


LEAVING = """
import os, sys
from operable.proc.tree.keeper import KEEPER
for path in sys.argv[1:]: KEEPER.leave(path)
KEEPER.take(sys.argv[2])
print(KEEPER.pid, flush=True)
sys.stdin.read()
"""


def test_a_folder_that_was_left_is_removed_after_kill_9_and_links_are_not_followed(tmp_path):
    left, taken, outside = tmp_path / "left", tmp_path / "taken", tmp_path / "outside"
    for folder in (left / "deep", taken, outside):
        folder.mkdir(parents=True)
        (folder / "secret").write_text("x")
    (left / "link").symlink_to(outside)
    words = [sys.executable, "-c", LEAVING, str(left), str(taken)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        keeper = int(host.stdout.readline())
        host.kill()
        host.wait(timeout=200)
    assert wait_until_gone(keeper)
    assert sorted(os.listdir(tmp_path)) == ["outside", "taken"]
    assert (outside / "secret").exists()


def test_a_new_keeper_knows_of_the_folders_of_the_old_one(tmp_path):
    (tmp_path / "left").mkdir()
    keeper = Keeper()
    keeper.leave(str(tmp_path / "left"))
    old = keeper.pid
    assert old is not None
    os.kill(old, signal.SIGKILL)
    os.waitid(os.P_PID, old, os.WEXITED | os.WNOWAIT)
    keeper.leave(str(tmp_path / "other"))
    new = keeper.pid
    assert new not in (None, old)
    keeper.forget()  # closes the socket, as the end of the host does
    assert new is not None
    assert wait_until_gone(new)
    os.waitpid(new, 0)
    assert os.listdir(tmp_path) == []


def test_words_that_have_no_bytes_are_refused_and_the_keeper_goes_on(tmp_path):
    """A Command can be made without `prepare`, which would refuse them."""
    command = prepare(["true"])._replace(argv=("true", "half \ud800"), tree=True)

    with pytest.raises(Fail, match="cannot start"):
        launch(command)

    pid = KEEPER.pid
    launched = launch(prepare(["true"])._replace(tree=True))
    launched.leader.abort()
    os.close(launched.stdout)
    os.close(launched.stderr)
    assert KEEPER.pid == pid
