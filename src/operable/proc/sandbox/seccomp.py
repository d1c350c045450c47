"""The system call filters of every enclosure, as bytes that the kernel reads (classic BPF).

`enclosure` is for a command inside bubblewrap, which loads it last, before it executes the command. `restriction` is for a
process that gives up rights without a sandbox (`restriction`). Both are built once for each set of words and kept.

Theory of operation. A filter sees the number of a call and its arguments as numbers, never what a pointer leads to. What
is refused gives an error that programs know; everything else passes. A call of another architecture (32 bit through
`int 0x80`, x32) has numbers of its own and is refused whole. Calls whose flags are behind a pointer (clone3, openat2) do
not exist inside: every C library then uses the older call, whose flags are seen.

When the kernel loads a filter, it tries it with every number there is, so a filter that compares one number after the other
takes 0.2 ms to load. These search by halves, which takes a third of that and less at each call (`_searched`).

Deliberately not here: paths (mounts and Landlock), addresses (namespaces and the proxy), quantities (limits).
"""

from __future__ import annotations

import errno
import os
import struct

from operable.proc.sandbox.syscalls import ARCHITECTURES, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Maker = TypeVar("Maker", bound=Callable[..., bytes])

Instruction = tuple[int, int, int, int]
# The number of a call, and what decides about it: it returns an error, or goes on behind its end.
Rule = tuple[int, list[Instruction]]

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
# Offsets in seccomp_data; of an argument the lower half comes first on both architectures.
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _GO = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06, 0x05
_PASS: Instruction = (_RETURN, 0, 0, _ALLOW)
_X32 = 0x40000000
_FARTHEST = 255  # a conditional jump
# So many numbers are compared one after the other: halves of them would be longer, and not faster.
_FEW = 8

_KEYS = ("add_key", "request_key", "keyctl")
_OTHERS = ("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd")
_MACHINE = (
    *("bpf", "perf_event_open", "userfaultfd", "quotactl", "quotactl_fd", "kexec_load", "kexec_file_load"),
    *("init_module", "finit_module", "delete_module", "create_module", "get_kernel_syms", "query_module"),
    *("swapon", "swapoff", "reboot", "settimeofday", "adjtimex", "clock_settime", "clock_adjtime", "syslog"),
    *("acct", "nfsservctl", "lookup_dcookie", "fanotify_init", "fanotify_mark", "open_by_handle_at"),
    *("modify_ldt", "iopl", "ioperm", "uselib", "_sysctl", "vhangup", "sethostname", "setdomainname"),
)
# Programs try these first and do without them when the kernel does not know them.
_ABSENT = ("io_uring_setup", "io_uring_enter", "io_uring_register", "openat2")
_MOUNTS = (
    *("mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount"),
    *("fspick", "mount_setattr", "open_tree_attr", "setns"),
)
_ATTRIBUTES = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime", "utimes"),
    *("futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr"),
    *("lremovexattr", "fremovexattr", "removexattrat", "file_setattr"),
)
# Objects of the machine that are not files: no Landlock rule covers them, and they outlive the process that makes them.
_SHARED_OBJECTS = (
    *(
        "shmget",
        "shmat",
        "shmctl",
        "semget",
        "semop",
        "semctl",
        "semtimedop",
        "msgget",
        "msgsnd",
        "msgrcv",
        "msgctl",
    ),
    *("mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify"),
)
_FEIGNED = 0  # the "error" of a call that does nothing and succeeds
# Every CLONE_NEW flag; of time namespaces `clone` does not know, where that bit belongs to the signal.
_NEW_SPACES = 0x7E020000
_NEW_TIME = 0x80
_CLONE_THREAD = 0x00010000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_NETLINK_ROUTE = 0  # what getifaddrs asks; without capabilities it changes nothing
_STREAM, _SEQPACKET, _TYPE_MASK = 1, 5, 0xF
_SPECIAL_BITS = 0o6000  # setuid, setgid
_MAKES_FILE = 0o100 | 0o20000000  # O_CREAT, __O_TMPFILE: only then is there a mode
# call -> index of its mode
_MODES = {
    **dict.fromkeys(("chmod", "fchmod", "creat", "mkdir", "mknod"), 1),
    **dict.fromkeys(("fchmodat", "fchmodat2", "mkdirat", "mknodat"), 2),
}
# Typing into the terminal of another process, and its line discipline; flags, attributes, versions, labels, encryption and
# verity of files; freezing file systems.
_COMMANDS = (
    *(0x5412, 0x541C, 0x541D, 0x5423, 0x5437),
    *(0x40086602, 0x40046602, 0x401C5820, 0x40087602, 0x40047602, 0x40086604, 0x40046604, 0x41009432),
    *(0x800C6613, 0xC0506617, 0xC0406618, 0xC0406619, 0x40806685, 0xC0045877, 0xC0045878, 0xC0185879),
)
# Commands of btrfs and f2fs make and remove snapshots, or change files, through a descriptor that only reads, and no rule of
# Landlock sees them. Of their numbers only those stay that copy between files that are open: they need a writing one.
_FILE_SYSTEMS, _KIND = (0x9400, 0xF500), 0xFF00
_COPIES = (0x40049409, 0x4020940D, 0xC0189436)  # FICLONE, FICLONERANGE, FIDEDUPERANGE
# F_SETLEASE, F_NOTIFY: a process with a lease of a file keeps every writer waiting, outside as well.
_LEASES = (1024, 1026)


def _kept(make: Maker) -> Maker:
    """Build each filter once. `functools` has that, and takes longer to load than a filter to build."""
    built: dict[object, bytes] = {}

    def filter_of(**words: bool) -> bytes:
        key = tuple(sorted(words.items()))
        if key not in built:
            built[key] = make(**words)
        return built[key]

    filter_of.__doc__ = make.__doc__
    return filter_of  # type: ignore[return-value]  # called by the same words


def missing() -> str | None:
    """Why there is no filter for this machine; None: there is one."""
    machine = os.uname().machine
    return None if machine in ARCHITECTURES else f"there is no system call filter for {machine}"


@_kept
def enclosure(*, sockets: bool = False, namespaces: bool = False, processes: bool = True) -> bytes:
    """For a command inside bubblewrap. What is True it may have: unix sockets, namespaces of its own, other processes."""
    machine = os.uname().machine
    code = _refuse(machine, (*_KEYS, *_OTHERS, *_MACHINE, "file_setattr"), errno.EPERM)
    code += _refuse(machine, ("name_to_handle_at",), errno.EOPNOTSUPP)
    code += _refuse(machine, _ABSENT, errno.ENOSYS)
    code += _modes(machine)
    code += _files(machine) + _priorities(machine)
    code += _sockets(
        machine, families=(_INET, _INET6), sockets=sockets, netlink=True, error=errno.EAFNOSUPPORT
    )
    if not namespaces:
        code += _no_namespaces(machine)
    return _assembled(machine, code + ([] if processes else _no_children(machine)))


@_kept
def addition(*, sockets: bool, processes: bool) -> bytes:
    """What `enclosure` refuses beyond its least, for a relay that needs both itself; empty when nothing is left."""
    machine = os.uname().machine
    code = [] if sockets else _no_unix_sockets(machine)
    code += [] if processes else _no_children(machine)
    return _assembled(machine, code) if code else b""


@_kept
def restriction(
    *, writes: bool, network: bool, processes: bool, sockets: bool, signals: bool, attributes: bool = False
) -> bytes:
    """For a process that gives up what is True here. `attributes`: the call reports that changing them succeeded."""
    machine = os.uname().machine
    code = _refuse(machine, _ABSENT[:3], errno.ENOSYS)  # io_uring does all of it without the calls for it
    if attributes:
        code += _refuse(machine, _ATTRIBUTES, _FEIGNED)
    if writes:
        code += _refuse(machine, (*_ATTRIBUTES, *_MACHINE), errno.EPERM) + _files(machine)
        code += _refuse(machine, _SHARED_OBJECTS, errno.EACCES)
        code += _no_namespaces(machine)
    if processes:
        code += _no_children(machine)
    if network:
        code += _sockets(machine, families=(), sockets=not sockets, netlink=True, error=errno.EACCES)
    elif sockets:
        code += _no_unix_sockets(machine)
    if signals:
        code += _refuse(machine, (*_OTHERS, *_KEYS), errno.EPERM) + _priorities(machine)
        for name in ("prlimit64", "sched_setaffinity"):
            code += _on(machine, name, _only_itself(0, errno.EPERM))
    return _assembled(machine, code)


def _assembled(machine: str, rules: list[Rule]) -> bytes:
    head = [
        *((_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, ARCHITECTURES[machine]), _error(errno.ENOSYS)),
        *((_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32), _error(errno.ENOSYS)),
    ]
    checks: dict[int, list[Instruction]] = {}
    for number, more in rules:
        if not _is_refusal(checks.setdefault(number, [])):
            checks[number] += more
    code = [*head, *_searched(sorted(checks.items()))]
    return b"".join(struct.pack("HBBI", *each) for each in code)


def _searched(rules: list[Rule]) -> list[Instruction]:
    """Decide about the number that is loaded: by one half of the rules or by the other, down to a few."""
    if len(rules) <= _FEW:
        return _compared(rules)
    middle = len(rules) // 2
    lower, upper = _searched(rules[:middle]), _searched(rules[middle:])
    first = rules[middle][0]
    if len(lower) <= _FARTHEST:
        return [(_AT_LEAST, len(lower), 0, first), *lower, *upper]
    return [(_AT_LEAST, 0, 1, first), (_GO, 0, 0, len(lower)), *lower, *upper]


def _compared(rules: list[Rule]) -> list[Instruction]:
    """Decide by one number after the other. What decides alike is there once, behind the numbers."""
    behind = [_PASS]
    places: dict[tuple[Instruction, ...], int] = {}
    tests = []
    for position, (number, checks) in enumerate(rules):
        body = tuple(checks) if _is_refusal(checks) else (*checks, _PASS)
        if body not in places:
            places[body] = len(behind)
            behind += body
        tests.append((_EQUAL, len(rules) - position - 1 + places[body], 0, number))
    return [*tests, *behind]


def _is_refusal(checks: list[Instruction]) -> bool:
    """Whether nothing that comes behind it is ever reached."""
    return len(checks) == 1 and checks[0][0] == _RETURN


def _refuse(machine: str, names: tuple[str, ...], error: int) -> list[Rule]:
    return [(number, [_error(error)]) for number in numbers(machine, names)]


def _on(machine: str, name: str, checks: list[Instruction]) -> list[Rule]:
    """These checks of the arguments, for one call."""
    return [(number, checks) for number in numbers(machine, (name,))]


def _bits(index: int, mask: int, error: int) -> list[Instruction]:
    return [_argument(index), (_ANY_BIT, 0, 1, mask), _error(error)]


def _values(index: int, values: tuple[int, ...], error: int) -> list[Instruction]:
    """Refuse these values of an argument."""
    last = len(values) - 1
    tests = [(_EQUAL, last - position, int(position == last), value) for position, value in enumerate(values)]
    return [_argument(index), *tests, _error(error)]


def _only(index: int, values: tuple[int, ...], error: int, mask: int = 0) -> list[Instruction]:
    """Refuse every value of an argument but these."""
    tests = [(_EQUAL, len(values) - position, 0, value) for position, value in enumerate(values)]
    masked = [(_AND, 0, 0, mask)] if mask else []
    return [_argument(index), *masked, *tests, _error(error)]


def _only_itself(index: int, error: int) -> list[Instruction]:
    """Refuse every process but the caller, which is 0."""
    return _only(index, (0,), error)


def _modes(machine: str) -> list[Rule]:
    code: list[Rule] = []
    for name, index in _MODES.items():
        code += _on(machine, name, _bits(index, _SPECIAL_BITS, errno.EPERM))
    for name, index in (("open", 1), ("openat", 2)):
        mode = _bits(index + 1, _SPECIAL_BITS, errno.EPERM)
        code += _on(machine, name, [_argument(index), (_ANY_BIT, 0, len(mode), _MAKES_FILE), *mode])
    return code


def _files(machine: str) -> list[Rule]:
    """Terminals, attributes, file systems, leases."""
    code = _on(machine, "ioctl", _values(1, _COMMANDS, errno.EPERM)) + _no_file_systems(machine)
    return code + _on(machine, "fcntl", _values(1, _LEASES, errno.EPERM))


def _no_file_systems(machine: str) -> list[Rule]:
    """No commands that a file system has for itself."""
    refusal = _only(1, _COPIES, errno.EPERM)
    checks: list[Instruction] = []
    for kind in _FILE_SYSTEMS:
        checks += [_argument(1), (_AND, 0, 0, _KIND), (_EQUAL, 0, len(refusal), kind), *refusal]
    return _on(machine, "ioctl", checks)


def _no_namespaces(machine: str) -> list[Rule]:
    code = _refuse(machine, _MOUNTS, errno.EPERM) + _refuse(machine, ("clone3",), errno.ENOSYS)
    code += _on(machine, "clone", _bits(0, _NEW_SPACES, errno.EPERM))
    return code + _on(machine, "unshare", _bits(0, _NEW_SPACES | _NEW_TIME, errno.EPERM))


def _priorities(machine: str) -> list[Rule]:
    """A process may change its own priority, as `nice` does, and that of no other."""
    code: list[Rule] = []
    for name, which in (("setpriority", 0), ("ioprio_set", 1)):
        code += _on(machine, name, _only(0, (which,), errno.EPERM) + _only_itself(1, errno.EPERM))
    for name in ("sched_setscheduler", "sched_setparam", "sched_setattr"):
        code += _on(machine, name, _only_itself(0, errno.EPERM))
    return code


def _sockets(
    machine: str, *, families: tuple[int, ...], sockets: bool, netlink: bool, error: int
) -> list[Rule]:
    known = (*families, *((_UNIX,) if sockets else ()))
    code = [] if sockets else _no_unix_sockets(machine)
    if not netlink:
        code += _on(machine, "socket", _only(0, known, error))
    else:
        # Netlink has one more check, of the protocol; all others have none.
        protocol = _only(2, (_NETLINK_ROUTE,), error)
        named = [(_EQUAL, 0, len(protocol), _NETLINK), *protocol]
        code += _on(machine, "socket", [*_only(0, (*known, _NETLINK), error), *named])
    return code + _on(machine, "socketpair", _only(0, (_UNIX,), errno.EAFNOSUPPORT))


def _no_unix_sockets(machine: str) -> list[Rule]:
    """No socket that has an address in the file system or beside it. A pair that is connected stays; one of datagrams
    does not, because it can still send to any address.
    """
    pairs = _only(1, (_STREAM, _SEQPACKET), errno.EACCES, mask=_TYPE_MASK)
    return _on(machine, "socket", _values(0, (_UNIX,), errno.EACCES)) + _on(machine, "socketpair", pairs)


def _no_children(machine: str) -> list[Rule]:
    code = _refuse(machine, ("fork", "vfork"), errno.EPERM) + _refuse(machine, ("clone3",), errno.ENOSYS)
    return code + _on(machine, "clone", [_argument(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), _error(errno.EPERM)])


def _argument(index: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _error(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)
