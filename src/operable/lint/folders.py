"""The folders of a laboratory on the host: made, and taken away whatever a tool has done in them.

Theory of operation. Whoever is killed cannot take its folder away; the next linter does. A folder holds a locked file for
as long as its linter lives. The file gets its name when it is locked, so one that can be locked belongs to a dead linter.

A tool that is not run by root may leave folders that cannot be emptied and files that cannot be read, though they are ours:
the first are opened again when they go, the second cannot be copied.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import Self

_PREFIX = "aoi-lint-"
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Premises:
    """A folder that is ours until it is left."""

    folder: str
    lock: int

    @classmethod
    def taken(cls) -> Self:
        """A new one. Those of linters that were killed are taken away."""
        _clear(tempfile.gettempdir())
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        try:
            lock, unnamed = tempfile.mkstemp(dir=folder)
        except OSError:
            os.rmdir(folder)
            raise
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(unnamed, f"{folder}/{_LOCK}")
        return cls(folder, lock)

    def leave(self) -> None:
        discard(self.folder)
        os.close(self.lock)


def discard(folder: str) -> None:
    """Take it away with all that is in it. Nobody may be at work in it any more."""
    shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        return
    for place, names, _ in os.walk(folder):
        for path in (f"{place}/{name}" for name in names):
            if not os.path.islink(path) and os.stat(path).st_uid == os.geteuid():
                os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def copyable(folder: str) -> bool:
    """Whether everything in it can be read."""
    for place, names, files in os.walk(folder):
        paths = [(f"{place}/{name}", os.R_OK | os.X_OK) for name in names]
        paths += [(f"{place}/{name}", os.R_OK) for name in files]
        if not all(os.path.islink(path) or os.access(path, mode) for path, mode in paths):
            return False
    return True


def _clear(parent: str) -> None:
    try:
        names = os.listdir(parent)
    except OSError:
        return  # some may write there and not look
    for folder in (f"{parent}/{name}" for name in names if name.startswith(_PREFIX)):
        try:
            # Somebody else's is nothing of ours, whatever its name.
            if os.lstat(folder).st_uid == os.geteuid() and _dead(folder):
                discard(folder)
        except OSError:
            continue  # another linter was faster, or it is no folder


def _dead(folder: str) -> bool:
    lock = os.open(f"{folder}/{_LOCK}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
