"""A filter refuses the calls that it names and no others. Each is really made, with arguments that the kernel would refuse
for another reason: nothing of the machine is changed, also where a filter failed.
"""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from operable.proc.sandbox import seccomp, syscalls
from tests.proc.sandbox.kernel import needs_filters

pytestmark = needs_filters
MACHINE = platform.machine()

# Applies the filter that is given in hexadecimal digits (none: no filter), then runs the code behind it.
PRELUDE = """
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
program = bytes.fromhex(sys.argv[1])
if program:
    code = ctypes.create_string_buffer(program, len(program))
    libc.prctl(38, 1, 0, 0, 0)
    assert libc.prctl(22, 2, struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code)), 0, 0) == 0
"""


def filtered(program: bytes, code: str, *arguments: str, cwd: Path | None = None) -> list[str]:
    argv = [sys.executable, "-I", "-S", "-c", PRELUDE + code, program.hex(), *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=200, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def errors(program: bytes, names: list[str]) -> dict[str, str]:
    """Each call with six arguments of -1: no such process, descriptor, address or flag."""
    shown = [(name, number) for name in names for number in syscalls.numbers(MACHINE, (name,))]
    code = "for number in sys.argv[2:]: print(call(int(number), *[-1] * 6))"
    found = filtered(program, code, *(str(number) for _, number in shown))
    return dict(zip([name for name, _ in shown], found, strict=True))


REFUSED = [
    *("add_key", "request_key", "keyctl", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp"),
    *("pidfd_getfd", "bpf", "perf_event_open", "userfaultfd", "quotactl", "quotactl_fd", "kexec_load"),
    *("kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff", "reboot"),
    *("settimeofday", "adjtimex", "clock_settime", "clock_adjtime", "syslog", "acct", "nfsservctl"),
    *(
        "lookup_dcookie",
        "fanotify_init",
        "fanotify_mark",
        "open_by_handle_at",
        "modify_ldt",
        "iopl",
        "ioperm",
    ),
    *("uselib", "_sysctl", "sethostname", "setdomainname", "file_setattr", "create_module", "query_module"),
    *("get_kernel_syms", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen"),
    *("fsconfig", "fsmount", "fspick", "mount_setattr", "open_tree_attr", "setns", "unshare"),
    *("setpriority", "ioprio_set", "sched_setscheduler", "sched_setparam", "sched_setattr"),
]
ABSENT = ["io_uring_setup", "io_uring_enter", "io_uring_register", "openat2", "clone3"]


def test_what_an_enclosed_command_does_not_need_is_refused():
    told = errors(seccomp.enclosure(), [*REFUSED, *ABSENT, "name_to_handle_at"])

    expected = {
        **dict.fromkeys(REFUSED, "EPERM"),
        **dict.fromkeys(ABSENT, "ENOSYS"),
        "name_to_handle_at": "ENOTSUP",
    }
    assert {name: told[name] for name in told if told[name] != expected[name]} == {}


def test_without_the_filter_the_kernel_has_other_reasons():
    """So it was the filter."""
    told = errors(b"", [*REFUSED, *ABSENT, "name_to_handle_at"])

    # Of these, some are refused for other reasons as well, or do not exist any more.
    same = {name for name in REFUSED if told.get(name, "EPERM") == "EPERM"}
    assert same <= {"perf_event_open", "kcmp", "iopl", "_sysctl", "bpf", "setpriority"}, same
    assert told["keyctl"] != "EPERM" != told["ptrace"]
    assert "ENOSYS" not in {told["clone3"], told["openat2"]}


def test_declared_needs_open_what_they_name_and_nothing_else():
    mounts = ["mount", "umount2", "pivot_root", "chroot", "fsopen", "setns", "unshare"]

    closed = errors(seccomp.enclosure(), mounts)
    opened = errors(seccomp.enclosure(namespaces=True), [*mounts, "keyctl", "ptrace", "sethostname"])

    assert set(closed.values()) == {"EPERM"}
    assert "EPERM" not in {opened[name] for name in mounts}
    assert {opened[name] for name in ("keyctl", "ptrace", "sethostname")} == {"EPERM"}


@pytest.mark.parametrize("flag", ["NEWUSER", "NEWNS", "NEWPID", "NEWNET", "NEWIPC", "NEWUTS", "NEWCGROUP"])
def test_no_namespace_is_made_by_clone_or_unshare(flag):
    number = {
        "NEWUSER": 0x10000000, "NEWNS": 0x20000, "NEWPID": 0x20000000, "NEWNET": 0x40000000,
        "NEWIPC": 0x08000000, "NEWUTS": 0x04000000, "NEWCGROUP": 0x02000000,
    }[flag]  # fmt: skip
    clone, unshare = syscalls.numbers(MACHINE, ("clone", "unshare"))
    # CLONE_THREAD alone is not valid: without a filter the call would give EINVAL, and start nothing.
    code = "print(call(int(sys.argv[2]), int(sys.argv[4]) | 0x10000, 0, 0, 0, 0), call(int(sys.argv[3]), int(sys.argv[4])))"

    told = filtered(seccomp.enclosure(), code, str(clone), str(unshare), str(number))

    assert told == ["EPERM", "EPERM"]


def test_threads_children_and_own_priority_stay_possible():
    code = (
        "import subprocess, threading\n"
        "thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n"
        "print(subprocess.run(['echo', 'child'], capture_output=True, text=True).stdout.strip())\n"
        "os.nice(1); print('nice')\n"
        "libc.unshare(0x400); print('files')\n"
    )

    assert filtered(seccomp.enclosure(), code) == ["thread", "child", "nice", "files"]


def test_who_may_start_nothing_has_threads_only():
    code = (
        "import subprocess, threading\n"
        "thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n"
        "for start in (os.fork, lambda: subprocess.run(['true'])):\n"
        "    try: start(); print('started')\n"
        "    except PermissionError: print('refused')\n"
    )

    assert filtered(seccomp.enclosure(processes=False), code) == ["thread", "refused", "refused"]


MODES = """
def attempt(name, what):
    try: what(); print(name, 'done')
    except OSError as error: print(name, errno.errorcode[error.errno])
open('file', 'w').close(); os.mkdir('folder'); file = os.open('file', os.O_RDWR); here = os.open('.', os.O_RDONLY)
for bits in (0o4755, 0o2755, 0o6777):
    attempt('chmod', lambda: os.chmod('file', bits))
    attempt('fchmod', lambda: os.fchmod(file, bits))
    attempt('fchmodat', lambda: os.chmod('file', bits, dir_fd=here))
    print('fchmodat2', call(452, here, b'file', bits, 0))
    attempt('open', lambda: os.open('new1', os.O_CREAT | os.O_WRONLY, bits))
    attempt('openat', lambda: os.open('new2', os.O_CREAT | os.O_WRONLY, bits, dir_fd=here))
    attempt('tmpfile', lambda: os.open('.', os.O_TMPFILE | os.O_WRONLY, bits))
    attempt('mkdir', lambda: os.mkdir('new3', bits))
    attempt('mknod', lambda: os.mknod('new4', bits | 0o100000))
"""


def test_no_way_leads_to_a_file_with_setuid_or_setgid(tmp_path):
    told = filtered(seccomp.enclosure(), MODES, cwd=tmp_path)

    outcomes = set(zip(told[::2], told[1::2], strict=True))
    assert outcomes == {
        (name, "EPERM")
        for name in (
            "chmod",
            "fchmod",
            "fchmodat",
            "fchmodat2",
            "open",
            "openat",
            "tmpfile",
            "mkdir",
            "mknod",
        )
    }
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o6000] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_other_modes_and_opening_without_a_mode_are_as_ever(tmp_path):
    code = (
        "os.close(os.open('file', os.O_CREAT | os.O_WRONLY, 0o644)); os.chmod('file', 0o1755); print('made')\n"
        f"number = {syscalls.numbers(MACHINE, ('openat',))[0]}\n"
        "print(call(number, -100, b'file', os.O_RDONLY, 0o6777))\n"  # a register that nobody cleared
    )

    assert filtered(seccomp.enclosure(), code, cwd=tmp_path) == ["made", "done"]


FAMILIES = """
import socket
for family in range(1, 46):
    outcome = set()
    for kind in (1, 2, 3, 5):
        for protocol in (0, 1):
            try: socket.socket(family, kind, protocol).close(); outcome.add('open')
            except OSError as error: outcome.add(errno.errorcode[error.errno])
    print(family, 'refused' if outcome == {sys.argv[2]} else 'open' if 'open' in outcome else 'other')
"""


def test_only_the_families_of_the_internet_are_left_beside_routes():
    told = filtered(seccomp.enclosure(sockets=True), FAMILIES, "EAFNOSUPPORT")

    outcomes = dict(zip(map(int, told[::2]), told[1::2], strict=True))
    assert {family for family in outcomes if outcomes[family] != "refused"} == {1, 2, 10, 16}


def test_netlink_is_for_routes_only():
    code = (
        "import socket\n"
        "for protocol in range(0, 23):\n"
        "    try: socket.socket(16, socket.SOCK_RAW, protocol).close(); print(protocol)\n"
        "    except OSError as error: assert error.errno == errno.EAFNOSUPPORT, error\n"
        "print(*(name for _, name in socket.if_nameindex() if name == 'lo'))"
    )

    assert filtered(seccomp.enclosure(), code) == ["0", "lo"]


UNIX = """
import socket
def attempt(name, what):
    try: what(); print(name, 'open')
    except OSError as error: print(name, errno.errorcode[error.errno])
attempt('stream', lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
attempt('datagram', lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC))
attempt('pair', lambda: socket.socketpair())
attempt('packets', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK))
attempt('datagrams', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt('raw', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW | socket.SOCK_CLOEXEC))
"""


@pytest.mark.parametrize("program", ["enclosure", "addition"])
def test_unix_sockets_that_are_not_declared_are_connected_pairs_only(program):
    """A datagram socket of a pair can send to any address: /dev/log, the notify socket of systemd."""
    code = {
        "enclosure": seccomp.enclosure(),
        "addition": seccomp.addition(sockets=False, processes=True),
    }[program]

    told = filtered(code, UNIX)

    assert dict(zip(told[::2], told[1::2], strict=True)) == {
        **dict.fromkeys(("stream", "datagram", "datagrams", "raw"), "EACCES"),
        **dict.fromkeys(("pair", "packets"), "open"),
    }
    declared = filtered(seccomp.enclosure(sockets=True), UNIX)
    assert set(declared[1::2]) == {"open"}


def test_nothing_is_added_where_everything_is_declared():
    assert seccomp.addition(sockets=True, processes=True) == b""


def test_nobody_types_into_a_terminal_and_no_attribute_is_set(tmp_path):
    code = (
        "import fcntl, pty\n"
        "master, slave = pty.openpty()\n"
        "file = os.open('file', os.O_CREAT | os.O_RDWR)\n"
        "def attempt(name, fd, command, argument):\n"
        "    try: fcntl.ioctl(fd, command, argument); print(name, 'done')\n"
        "    except OSError as error: print(name, errno.errorcode[error.errno])\n"
        "attempt('TIOCSTI', slave, 0x5412, b'x'); attempt('TIOCLINUX', slave, 0x541C, b'x')\n"
        "attempt('TIOCSETD', slave, 0x5423, bytes(4)); print('high', call(int(sys.argv[2]), slave, 0x5412 | 1 << 32, b'x'))\n"
        "for command in (0x40086602, 0x40046602, 0x401C5820): attempt(hex(command), file, command, bytes(28))\n"
        "attempt('TCGETS', slave, 0x5401, bytes(64)); attempt('GETFLAGS', file, 0x80086601, bytes(8))\n"
    )
    number = str(syscalls.numbers(MACHINE, ("ioctl",))[0])

    told = filtered(seccomp.enclosure(), code, number, cwd=tmp_path)

    outcomes = dict(zip(told[::2], told[1::2], strict=True))
    assert outcomes.pop("TCGETS") == "done"
    assert outcomes.pop("GETFLAGS") != "EPERM"
    assert set(outcomes.values()) == {"EPERM"}, outcomes
    assert len(outcomes) == 7


@pytest.mark.parametrize("light", [True, False])
def test_no_file_system_is_commanded_through_a_reading_descriptor(tmp_path, light):
    """The file system of the tests does not know these commands; refused are they all the same."""
    code = (
        "import fcntl\n"
        "folder = os.open('.', os.O_RDONLY)\n"
        "for command in (0x5000940E, 0x50009417, 0x5000940F, 0xF501, 0x40049409, 0x80086601, 0x5413):\n"
        "    try: fcntl.ioctl(folder, command, bytes(1000)); print(hex(command), 'done')\n"
        "    except OSError as error: print(hex(command), errno.errorcode[error.errno])\n"
    )
    given_up = {"writes": True, "network": False, "processes": False, "sockets": False, "signals": False}

    program = seccomp.restriction(**given_up) if light else seccomp.enclosure()

    told = filtered(program, code, cwd=tmp_path)

    outcomes = dict(zip(told[::2], told[1::2], strict=True))
    assert [outcomes.pop(each) for each in ("0x5000940e", "0x50009417", "0x5000940f", "0xf501")] == [
        "EPERM"
    ] * 4
    assert len(outcomes) == 3
    assert "EPERM" not in outcomes.values()


LEASE = """
import fcntl
open('file', 'w').close()
file = os.open('file', os.O_RDONLY)
for name, descriptor, command, argument in (('lease', file, 1024, 0), ('watch', os.open('.', 0), 1026, 2)):
    try: fcntl.fcntl(descriptor, command, argument); print(name, 'done')
    except OSError as error: print(name, errno.errorcode[error.errno])
fcntl.fcntl(file, fcntl.F_GETFL); fcntl.lockf(os.open('other', os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX); print('lock', 'done')
"""


@pytest.mark.parametrize("light", [True, False])
def test_no_lease_keeps_writers_outside_waiting(tmp_path, light):
    given_up = {"writes": True, "network": False, "processes": False, "sockets": False, "signals": False}
    program = seccomp.restriction(**given_up) if light else seccomp.enclosure()

    assert filtered(program, LEASE, cwd=tmp_path) == ["lease", "EPERM", "watch", "EPERM", "lock", "done"]
    assert filtered(b"", LEASE, cwd=tmp_path) == ["lease", "done", "watch", "done", "lock", "done"]


@pytest.mark.skipif(MACHINE != "x86_64", reason="only this machine has other architectures in it")
def test_calls_of_another_architecture_are_refused_whole():
    """getpid, by its number of 32 bits (int 0x80) and by that of x32: harmless, and past every number that is named."""
    code = (
        "import mmap\n"
        "page = mmap.mmap(-1, 4096, prot=7)\n"
        "page.write(bytes.fromhex('b814000000cd80c3'))\n"
        "entry = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))\n"
        "print(errno.errorcode.get(-entry(), 'done'), call(39 | 0x40000000), call(39))\n"
    )

    assert filtered(seccomp.enclosure(), code) == ["ENOSYS", "ENOSYS", "done"]


def test_every_filter_is_built_once():
    assert seccomp.enclosure() is seccomp.enclosure()
    assert len(seccomp.enclosure()) % 8 == 0
    assert len(seccomp.enclosure()) // 8 <= 4096  # the kernel takes no longer one
