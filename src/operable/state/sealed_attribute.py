"""The announcement that a log carries itself, as an attribute of its file: records and announcement cost one sync.

    user.operable.announced:  boot ID, a NUL, and what `<log>.head.new` says; `batch` begins with the hash before the records

Theory of operation. Until the kernel ends, each process sees the files as they were written, synced or not: `.head` and
`.head.new` say all that is to be said. Only a power cut makes a difference: it may undo what was not synced. ext4 puts
changes of names, attributes and sizes on disk in the order in which they were made, and a file that replaces another one
not before its content. So an attribute that was set before the records is on disk when they are, and the sync of the log
is enough. The attribute counts only after another start of the kernel than the one that it names: within one start, a
head that was set back is not the work of a power cut. Any other file system gets the syncs of `announce_head`.
"""

from __future__ import annotations

import errno
import os
from functools import lru_cache

_NAME = "user.operable.announced"
# An attribute shares one block with all others of the file, and has to be small: a larger announcement is synced.
_LIMIT = 2048
_BOOT = "/proc/sys/kernel/random/boot_id"
_MOUNTS = "/proc/self/mountinfo"
_UNORDERED = ("data=writeback", "noauto_da_alloc", "nobarrier", "barrier=0")
_ABSENT = (errno.ENODATA, errno.ENOTSUP, errno.ENOENT, errno.ENOSYS)


def carry(fd: int, announcement: bytes) -> bool:
    """Let the log carry this, on disk with the next sync of the log. False: it must be synced elsewhere."""
    boot = boot_id()
    if boot is None or len(announcement) > _LIMIT or not is_ordered(os.fstat(fd).st_dev):
        return False
    try:
        os.setxattr(fd, _NAME, b"boot %s\0%s" % (boot, announcement))
    except OSError:
        return False  # no room, or attributes are switched off: what is written next says if that matters
    return True


def carried(log: str) -> bytes | None:
    """What the log carries of an earlier start of the kernel. Returns None if that is nothing, or of this one."""
    if not hasattr(os, "getxattr"):
        return None
    try:
        value = os.getxattr(log, _NAME, follow_symlinks=False)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    boot, _, announcement = value.partition(b"\0")
    return None if boot == b"boot %s" % (boot_id() or b"") else announcement


def boot_id() -> bytes | None:
    """The name of this start of the kernel."""
    try:
        with open(_BOOT, "rb") as file:
            return file.read(64).strip() or None
    except OSError:
        return None


@lru_cache(maxsize=16)
def is_ordered(device: int) -> bool:
    """Whether the file system on this device puts its changes on disk in their order: ext4, as it is by default."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            found = [line for line in file if line.split(" ", 3)[2] == number]
    except OSError:
        return False
    kinds = [line.rpartition(" - ")[2].split() for line in found]
    return bool(kinds) and all(
        kind[0] == "ext4" and not any(option in _UNORDERED for option in kind[-1].split(","))
        for kind in kinds
    )
