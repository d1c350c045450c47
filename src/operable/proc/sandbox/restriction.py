"""What a process gives up before it executes a program, without a sandbox around it: writing, the network, other processes.

Theory of operation. Landlock (Linux 6.2 and later) takes away every right to change the file system, seccomp takes away the
system calls that Landlock does not know (modes, owners, times, attributes), those that open a socket to anywhere, and those
that make a process. Both are inherited and cannot be given back, need no privilege, no namespace and no program, and cost
three system calls between fork and exec (`bubblewrap` costs ten milliseconds and more). What is left open: files that are
open already, the null device, sockets of the file system (AF_UNIX) and of the kernel (AF_NETLINK).

This file is also a script, for inside of a sandbox: `python restrict.py WORDS -- COMMAND`. The standard library only.
"""

import errno
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# What can be given up, by the word that a `Command` has for it.
WRITES, NETWORK, PROCESSES = "writes", "network", "processes"
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_ABI = 3  # the first that knows about truncating
# WRITE_FILE, and from REMOVE_DIR to TRUNCATE: all that changes anything.
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 15))
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
# Offsets in seccomp_data; an argument's lower half comes first on both architectures.
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_X32 = 0x40000000
_LOCAL_FAMILIES = (1, 16)  # AF_UNIX, AF_NETLINK
_CLONE_THREAD = 0x00010000
# machine -> (audit architecture, socket, clone, fork and vfork, what changes attributes of files)
_MACHINES: "dict[str, tuple[int, int, int, tuple[int, ...], tuple[int, ...]]]" = {
    "x86_64": (
        0xC000003E, 41, 56, (57, 58),
        (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280),
    ),
    "aarch64": (0xC00000B7, 198, 220, (), (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88)),
}  # fmt: skip
# Newer calls have one number everywhere: fchmodat2, setxattrat, removexattrat, file_setattr.
_NEWER_ATTRIBUTES = (452, 463, 466, 469)
_CLONE3, _IO_URING_SETUP = 435, 425


def missing(what: "frozenset[str]") -> "str | None":
    """Why these cannot be given up here; None: they can."""
    if not what:
        return None
    if not sys.platform.startswith("linux") or os.uname().machine not in _MACHINES:
        return f"there is no Landlock and seccomp for {sys.platform} on {os.uname().machine}"
    if WRITES in what:
        version = _libc().syscall(_LANDLOCK_CREATE, None, 0, _VERSION_FLAG)
        if version < _ABI:
            return "the kernel has no Landlock that knows about truncating (Linux 6.2 and later, enabled)"
    return None


class Restriction:
    """Prepared in the host, applied by `__call__` in the child: nothing but system calls happens there."""

    def __init__(self, what: "frozenset[str]") -> None:
        import ctypes

        self._libc = _libc()
        self._rules = _ruleset(self._libc) if WRITES in what else None
        code = program(what)
        self._code = ctypes.create_string_buffer(code, len(code))
        self._filter = ctypes.create_string_buffer(
            struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(self._code)), 16
        )

    def __call__(self) -> None:
        if self._libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(errno.EPERM, "no_new_privs")
        if self._rules is not None and self._libc.syscall(_LANDLOCK_RESTRICT, self._rules, 0) != 0:
            raise OSError(errno.EPERM, "landlock_restrict_self")
        if self._libc.prctl(_SET_SECCOMP, _MODE_FILTER, self._filter, 0, 0) != 0:
            raise OSError(errno.EPERM, "seccomp")

    def close(self) -> None:
        if self._rules is not None:
            os.close(self._rules)
            self._rules = None


def program(what: "frozenset[str]") -> bytes:
    """The filter, as the kernel reads it: each refused call gives an error, everything else passes."""
    arch, socket, clone, forks, attributes = _MACHINES[os.uname().machine]
    code = [
        *((_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), _refuse(errno.ENOSYS)),
        *((_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32), _refuse(errno.ENOSYS)),
        *_refused(_IO_URING_SETUP, errno.ENOSYS),  # it opens sockets without the call for that
    ]
    if WRITES in what:
        for number in (*attributes, *_NEWER_ATTRIBUTES):
            code += _refused(number, errno.EPERM)
    if PROCESSES in what:
        for number in forks:
            code += _refused(number, errno.EPERM)
        code += _refused(_CLONE3, errno.ENOSYS)  # its flags cannot be seen; everybody falls back to clone
        code += [(_EQUAL, 0, 4, clone), (_LOAD, 0, 0, _FIRST_ARGUMENT), (_ANY_BIT, 1, 0, _CLONE_THREAD),
                 _refuse(errno.EPERM), (_LOAD, 0, 0, _NUMBER)]  # fmt: skip
    if NETWORK in what:
        families = [
            (_EQUAL, len(_LOCAL_FAMILIES) - index, 0, family) for index, family in enumerate(_LOCAL_FAMILIES)
        ]
        code += [
            (_EQUAL, 0, len(families) + 2, socket),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            *families,
            _refuse(errno.EACCES),
        ]
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def _refused(number: int, error: int) -> "Iterator[tuple[int, int, int, int]]":
    yield (_EQUAL, 0, 1, number)
    yield _refuse(error)


def _refuse(error: int) -> "tuple[int, int, int, int]":
    return (_RETURN, 0, 0, _ERRNO | error)


def _ruleset(libc: "Any") -> int:
    """Nothing can be changed but what is written to devices that keep nothing."""
    handled = struct.pack("Q", _CHANGES)
    rules: int = libc.syscall(_LANDLOCK_CREATE, handled, len(handled), 0)
    if rules < 0:
        raise OSError(errno.ENOSYS, "landlock_create_ruleset")
    for path in _DEVICES:
        try:
            device = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # not every container has all of them
        rule = struct.pack("=Qi", _WRITE_FILE | _TRUNCATE, device)
        libc.syscall(_LANDLOCK_ADD, rules, _PATH_BENEATH, rule, 0)
        os.close(device)
    return rules


_loaded: "list[Any]" = []


def _libc() -> "Any":
    if not _loaded:
        import ctypes

        libc = ctypes.CDLL(None)
        libc.syscall.restype = ctypes.c_long
        _loaded.append(libc)
    return _loaded[0]


def words(what: "frozenset[str]") -> list[str]:
    """What is executed before a command that runs inside a sandbox."""
    return [_interpreter(), "-I", "-S", "-B", os.path.abspath(__file__), *sorted(what), "--"] if what else []


def mounts() -> dict[str, str]:
    """Place inside -> what must be seen there for that, read-only."""
    found = {os.path.abspath(__file__): os.path.abspath(__file__)}
    if not _interpreter().startswith(("/usr/", "/bin/", "/lib/")):
        found[sys.base_prefix] = sys.base_prefix
    return found


def _interpreter() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def main(argv: list[str]) -> None:
    at = argv.index("--")
    Restriction(frozenset(argv[:at]))()
    os.execv(argv[at + 1], argv[at + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
