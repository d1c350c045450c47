"""Landlock rules: what a process and all that it starts give up permanently, without a privilege.

`ruleset` makes one as a descriptor, in the host; `restrict` applies it to the calling process, between fork and exec. Two
things can be given up: changing any file or device, and reaching processes outside (`SCOPES`: signals to them, and their
abstract unix sockets; Linux 6.12). Sockets of the file system are not in Landlock's power: the system call filter has them.
"""

import errno
import os
import struct

from operable.proc.sandbox.syscalls import libc

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION_FLAG, _PATH_BENEATH = 1, 1
# The first version that knows about truncating, commands to devices, and scopes.
TRUNCATING, DEVICES, SCOPING = 3, 5, 6
ABSTRACT_SOCKETS, SIGNALS = 1, 2
SCOPES = ABSTRACT_SOCKETS | SIGNALS
# WRITE_FILE, and from REMOVE_DIR to TRUNCATE: all that changes anything.
_WRITE_FILE, _TRUNCATE = 1 << 1, 1 << 14
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 15))
_IOCTL_DEV = 1 << 15  # a terminal, a disk or a driver is changed through a descriptor that only reads
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_NO_NEW_PRIVS = 38


def version() -> int:
    """What the kernel has; 0 or less: no Landlock."""
    found: int = libc().syscall(_CREATE, None, 0, _VERSION_FLAG)
    return found


def ruleset(*, writes: bool, scopes: int, scratch: str | None = None) -> int:
    """A descriptor of rules. `writes`: nothing can be changed but devices that keep nothing, and what is in `scratch`."""
    commands = _IOCTL_DEV if version() >= DEVICES else 0
    handled = struct.pack("QQQ", _CHANGES | commands if writes else 0, 0, scopes)
    rules: int = libc().syscall(_CREATE, handled, len(handled), 0)
    if rules < 0:
        raise OSError(errno.ENOSYS, "landlock_create_ruleset")
    if writes:
        for path in _DEVICES:
            _allow(rules, path, _WRITE_FILE | _TRUNCATE | commands)
        if scratch is not None:
            _allow(rules, scratch, _CHANGES)
    return rules


def restrict(rules: int) -> None:
    """Apply the rules to this process: two system calls and nothing else, because it runs between fork and exec."""
    if libc().prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(errno.EPERM, "no_new_privs")
    if libc().syscall(_RESTRICT, rules, 0) != 0:
        raise OSError(errno.EPERM, "landlock_restrict_self")


def _allow(rules: int, path: str, what: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not every container has all devices
    libc().syscall(_ADD, rules, _PATH_BENEATH, struct.pack("=Qi", what, place), 0)
    os.close(place)
