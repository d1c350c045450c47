"""What a process has given up, neither it nor anything that it starts can do."""

import os
import socket
import struct
import subprocess
import sys
import threading

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.sandbox import landlock, restriction, seccomp
from operable.proc.sandbox.restriction import ATTRIBUTES, NETWORK, PROCESSES, SIGNALS, SOCKETS, WRITES
from operable.proc.spawn import launch, prepare
from tests.proc.sandbox.kernel import needs_scopes

ALL = frozenset((NETWORK, PROCESSES, SIGNALS, SOCKETS, WRITES))
pytestmark = needs_scopes


def ran(what, *argv, cwd=None):

    return output(prepare(argv, cwd=cwd)._replace(gives_up=frozenset(what)), timeout=200)


CHANGES = """
import os
def tried(name, *arguments, **options):
    try:
        getattr(os, name)(*arguments, **options)
        print(name, "done")
    except OSError as problem:
        print(name, "refused", problem.errno in (1, 13))
tried("open", "new", os.O_CREAT | os.O_WRONLY)
tried("open", "file", os.O_WRONLY)
tried("truncate", "file", 0)
tried("unlink", "file")
tried("rename", "file", "other")
tried("link", "file", "hard")
tried("symlink", "file", "soft")
tried("mkdir", "folder")
tried("mkfifo", "pipe")
tried("chmod", "file", 0o777)
tried("chown", "file", os.getuid(), os.getgid())
tried("utime", "file", (1, 1))
tried("setxattr", "file", "user.a", b"b")
tried("open", "/dev/null", os.O_WRONLY | os.O_TRUNC)
print(open("file").read())
"""


def test_who_gave_up_writing_can_change_nothing_and_read_everything(tmp_path):
    file = tmp_path / "file"
    file.write_text("text")
    before = file.stat()

    done = ran([WRITES], sys.executable, "-c", CHANGES, cwd=tmp_path)

    lines = done.stdout.decode().splitlines()
    assert lines[-2:] == ["open done", "text"]
    assert [line.split()[1:] for line in lines[:-2]] == [["refused", "True"]] * 13, done
    assert os.listdir(tmp_path) == ["file"]
    assert (file.stat().st_mode, file.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


DEVICE = """
import fcntl, os, sys, termios
terminal = os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY)
for name, command, value in (
    ("echo", termios.TCSETS, bytes(60)), ("size", termios.TIOCSWINSZ, bytes(8)), ("stop", termios.TCXONC, 0),
    ("typed", termios.TCFLSH, termios.TCIFLUSH),
):
    try:
        fcntl.ioctl(terminal, command, value)
        print(name, "done")
    except OSError as problem:
        print(name, "refused")
"""


@pytest.mark.skipif(
    landlock.version() < landlock.DEVICES, reason="this kernel has no rule for commands to devices"
)
def test_who_gave_up_writing_commands_no_device_through_a_reading_descriptor(tmp_path):
    host, terminal = os.openpty()
    try:
        done = ran([WRITES], sys.executable, "-c", DEVICE, os.ttyname(terminal))
    finally:
        os.close(host)
        os.close(terminal)

    assert done.stdout.decode().split()[1::2] == ["refused"] * 4, done


def test_in_its_scratch_folder_it_changes_content_and_names_and_outside_of_it_nothing(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "file").write_text("text")
    program = (
        "import os\n"
        "os.mkdir('a'); open('a/new', 'w').write('x'); os.rename('a/new', 'new'); os.link('new', 'hard')\n"
        "os.truncate('new', 0); os.unlink('hard'); os.symlink('../file', 'soft')\n"
        "for act in (lambda: os.chmod('new', 0o777), lambda: os.rename('new', '../new'), lambda: open('soft', 'a'),\n"
        "            lambda: os.link('../file', 'stolen'), lambda: os.rename('../file', 'stolen')):\n"
        "    try:\n"
        "        act()\n"
        "        print('done')\n"
        "    except OSError as problem:\n"
        "        print('refused')\n"
    )
    command = prepare([sys.executable, "-c", program], cwd=str(scratch))

    done = output(command._replace(gives_up=frozenset([WRITES]), scratch=str(scratch)), timeout=200)

    assert done.stdout.decode().split() == ["refused"] * 5, done
    assert sorted(os.listdir(scratch)) == ["a", "new", "soft"]
    assert sorted(os.listdir(tmp_path)) == ["file", "scratch"]
    assert (tmp_path / "file").read_text() == "text"


def test_attributes_that_are_given_up_are_changed_in_name_only(tmp_path):
    scratch, file = tmp_path / "scratch", tmp_path / "file"
    scratch.mkdir()
    file.touch(0o600)
    os.utime(file, (1, 1))
    program = (
        "import os\n"
        "open('own', 'w').close(); os.chmod('own', 0o4777); os.chmod('../file', 0o777); os.utime('../file')\n"
        "fd = os.open('../file', os.O_RDONLY); os.fchmod(fd, 0o777); os.utime(fd); os.chown(fd, 1, 1)\n"
        "os.setxattr('../file', 'user.a', b'x'); print(oct(os.stat('own').st_mode & 0o4000))\n"
    )
    command = prepare([sys.executable, "-c", program], cwd=str(scratch))
    given_up = frozenset((WRITES, ATTRIBUTES))

    done = output(command._replace(gives_up=given_up, scratch=str(scratch)), timeout=200)

    assert done.stdout.decode().split() == ["0o0"], done
    facts = file.stat()
    assert (facts.st_mode & 0o777, facts.st_mtime, facts.st_uid) == (0o600, 1, os.getuid())
    assert os.listxattr(file) == []


def test_nothing_that_it_starts_can_either(tmp_path):
    done = ran([WRITES], "sh", "-c", "setsid sh -c 'echo x > made'; echo $?", cwd=tmp_path)

    assert done.stdout != b"0\n"
    assert list(tmp_path.iterdir()) == []


def test_who_gave_up_the_network_opens_no_socket_to_anywhere():
    program = (
        "import socket\n"
        "for family in (socket.AF_INET, socket.AF_INET6, socket.AF_PACKET, socket.AF_UNIX, socket.AF_NETLINK):\n"
        "    try:\n        socket.socket(family, socket.SOCK_RAW if family == 17 else socket.SOCK_DGRAM)\n"
        "        print(family.name, 'open')\n"
        "    except PermissionError:\n        print(family.name, 'refused')\n"
    )

    done = ran([NETWORK], sys.executable, "-c", program)

    assert dict(line.split() for line in done.stdout.decode().splitlines()) == {
        **dict.fromkeys(("AF_INET", "AF_INET6", "AF_PACKET"), "refused"),
        **dict.fromkeys(("AF_UNIX", "AF_NETLINK"), "open"),  # netlink for asking about routes
    }


UNIX = """
import errno, os, socket, sys
def attempt(name, what):
    try: what(); print(name, 'open')
    except OSError as error: print(name, errno.errorcode[error.errno])
def connect(address):
    with socket.socket(socket.AF_UNIX) as client: client.connect(address)
os.chdir(sys.argv[1])
attempt('path', lambda: connect('service'))
attempt('abstract', lambda: connect(chr(0) + sys.argv[2]))
attempt('bind', lambda: socket.socket(socket.AF_UNIX).bind(chr(0) + sys.argv[2] + '-own'))
attempt('pair', socket.socketpair)
attempt('datagrams', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt('internet', lambda: socket.socket(socket.AF_INET))
"""


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ([], {}),
        ([NETWORK], {"abstract": "EPERM", "internet": "EACCES"}),
        ([SOCKETS], dict.fromkeys(("path", "abstract", "bind", "datagrams"), "EACCES")),
        ([NETWORK, SOCKETS], dict.fromkeys(("path", "abstract", "bind", "datagrams", "internet"), "EACCES")),
    ],
)
def test_who_gave_up_sockets_reaches_no_service_by_path_or_name(tmp_path, monkeypatch, what, expected):
    monkeypatch.chdir(tmp_path)  # a short name: the path of a socket has 108 bytes
    name = f"operable-restriction-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as by_path, socket.socket(socket.AF_UNIX) as by_name:
        by_path.bind("service")
        by_name.bind(f"\0{name}")
        by_path.listen()
        by_name.listen()
        done = ran(what, sys.executable, "-c", UNIX, str(tmp_path), name)

    told = dict(line.split() for line in done.stdout.decode().splitlines())
    usual = dict.fromkeys(("path", "abstract", "bind", "pair", "datagrams", "internet"), "open")
    assert told == usual | expected, done.stderr


OTHERS = """
import ctypes, errno, os, resource, signal, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
other = int(sys.argv[1])
def attempt(name, what):
    try: what(); print(name, 'done')
    except OSError as error: print(name, errno.errorcode[error.errno])
def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0: raise OSError(ctypes.get_errno(), name)
attempt('signal', lambda: os.kill(other, signal.SIGUSR1))
attempt('stop', lambda: os.kill(other, signal.SIGSTOP))
attempt('pidfd', lambda: signal.pidfd_send_signal(os.pidfd_open(other), signal.SIGUSR1))
attempt('group', lambda: os.killpg(os.getpgid(other), signal.SIGUSR1))
attempt('trace', lambda: call('ptrace', 16, other, 0, 0))
attempt('memory', lambda: call('process_vm_readv', other, 0, 0, 0, 0, 0))
attempt('file', lambda: open(f'/proc/{other}/mem', 'rb').close())
def environment():
    if not open(f'/proc/{other}/environ', 'rb').read(1): raise OSError(errno.EACCES, 'empty')
attempt('environment', environment)
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, other, 5))
attempt('priorities', lambda: os.setpriority(os.PRIO_USER, os.getuid(), 5))
attempt('limit', lambda: resource.prlimit(other, resource.RLIMIT_NOFILE, (100, 100)))
attempt('affinity', lambda: os.sched_setaffinity(other, {0}))
attempt('own affinity', lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
attempt('own signal', lambda: os.kill(os.getpid(), 0))
attempt('own priority', lambda: os.nice(1))
attempt('own limit', lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
child = subprocess.Popen(['sleep', '100'])
attempt('own child', lambda: os.kill(child.pid, signal.SIGKILL))
child.wait()
"""


def test_who_gave_up_signals_does_nothing_to_another_process():
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as other:
        try:
            done = ran([SIGNALS], sys.executable, "-c", OTHERS, str(other.pid))
            assert other.poll() is None
        finally:
            other.kill()

    told = dict(line.rsplit(" ", 1) for line in done.stdout.decode().splitlines())
    own = ("own signal", "own priority", "own limit", "own child", "own affinity")
    assert {name: told.pop(name) for name in own} == dict.fromkeys(own, "done"), done.stderr
    assert {name: outcome for name, outcome in told.items() if outcome not in ("EPERM", "EACCES")} == {}
    assert len(told) == 12


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has something to lose")
def test_root_that_gave_up_writing_keeps_the_capabilities_to_read_and_no_others(tmp_path):
    script = "grep Cap /proc/self/status; unshare --mount true && echo made; chroot / true && echo rooted"
    done = ran([WRITES], "sh", "-c", script)

    told = dict(line.split() for line in done.stdout.decode().splitlines())
    assert set(told) == {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"}
    kept = {bit for bit in range(64) if int(told["CapEff:"], 16) >> bit & 1}
    assert kept <= {2, 5, 10, 11, 13, 14, 15, 19, 23, 34, 37}
    assert 2 in kept  # what root can read, it can read
    assert told["CapEff:"] == told["CapPrm:"] == told["CapBnd:"]


@pytest.mark.parametrize("word", sorted(ALL))
def test_a_kernel_that_has_it_all_misses_nothing(word):
    assert restriction.missing(ALL) is None
    assert restriction.missing(frozenset([word])) is None


@pytest.mark.parametrize(
    ("version", "what", "missing"),
    [
        (2, [WRITES], "truncating"),
        (3, [WRITES], None),
        (5, [SIGNALS], "signals"),
        (6, [SIGNALS], None),
        (5, [WRITES, SIGNALS], "signals"),
        (0, [NETWORK, PROCESSES, SOCKETS], None),
    ],
)
def test_an_older_landlock_misses_what_it_does_not_know(monkeypatch, version, what, missing):
    monkeypatch.setattr(landlock, "version", lambda: version)

    reason = restriction.missing(frozenset(what))

    assert reason is None if missing is None else missing in (reason or "")


def test_a_machine_without_a_filter_misses_everything(monkeypatch):
    monkeypatch.setattr(seccomp, "missing", lambda: "no filter")
    for word in ALL:
        assert "seccomp" in (restriction.missing(frozenset([word])) or "")


def test_what_is_not_known_cannot_be_given_up():
    assert "wings" in (restriction.missing(frozenset(("wings",))) or "")


def test_a_listening_service_is_not_reached():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        program = f"import socket; socket.create_connection(('127.0.0.1', {port}), 10)"

        assert ran([], sys.executable, "-c", program).status == 0
        assert ran([NETWORK], sys.executable, "-c", program).status == 1


def test_who_gave_up_processes_has_threads_and_no_children():
    program = (
        "import os, subprocess, threading\n"
        "thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n"
        "for start in (os.fork, lambda: subprocess.run(['true']), lambda: os.posix_spawn('/bin/true', ['true'], {})):\n"
        "    try:\n        start(); print('started')\n"
        "    except PermissionError:\n        print('refused')\n"
    )

    done = ran([PROCESSES], sys.executable, "-c", program)

    assert done.stdout.decode().split() == ["thread", "refused", "refused", "refused"], done


def test_it_is_given_up_also_when_many_threads_of_the_host_start_programs(tmp_path):
    codes: list[int | None] = []

    def start() -> None:
        codes.append(ran(ALL, "touch", str(tmp_path / "made")).status)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert codes == [1] * 8
    assert list(tmp_path.iterdir()) == []


def test_the_host_itself_gives_up_nothing(tmp_path):
    ran(ALL, "true")

    (tmp_path / "made").write_text("x")
    socket.socket(socket.AF_INET).close()
    assert subprocess.run(["true"], check=False, timeout=200).returncode == 0


def test_no_descriptor_stays_open():
    ran(ALL, "true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        ran(ALL, "true")
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_program_that_is_not_there_is_still_told_apart(tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(Fail) as caught:
        ran(ALL, str(script))
    assert caught.value.code == "TOOL_INTERPRETER_MISSING"


def test_what_the_kernel_does_not_take_is_a_refusal_and_nothing_runs(tmp_path, monkeypatch):

    monkeypatch.setattr(restriction, "program", lambda what: struct.pack("HBBI", 0xFFFF, 0, 0, 0))
    command = prepare(["touch", str(tmp_path / "made")])._replace(gives_up=ALL)
    with pytest.raises(Fail) as caught:
        launch(command)
    assert caught.value.code == "SANDBOX_UNAVAILABLE"
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_it_is_told(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "darwin" in (restriction.missing(ALL) or "")
    assert restriction.missing(frozenset()) is None


def test_a_program_that_is_asked_its_state_changes_nothing_and_keeps_the_network(tmp_path):
    (tmp_path / "file").write_text("kept")
    command = restriction.without_changes(prepare([sys.executable, "-c", CHANGES], cwd=str(tmp_path)))
    shown = output(command, timeout=200).stdout.decode()

    assert restriction.keeps_changes() is None
    assert "unlink refused True" in shown
    assert "open refused True" in shown
    assert (sorted(os.listdir(tmp_path)), (tmp_path / "file").read_text()) == (["file"], "kept")
    connected = prepare([sys.executable, "-c", "import socket; socket.socket(); print('open')"])
    assert output(restriction.without_changes(connected), timeout=200).stdout == b"open\n"


def test_where_the_kernel_takes_nothing_away_the_program_keeps_its_rights_and_that_is_said(monkeypatch):
    monkeypatch.setattr(landlock, "version", lambda: 0)
    command = prepare(["true"])
    assert restriction.keeps_changes() is not None
    assert restriction.without_changes(command) is command
