"""The folders of a laboratory on the host: made, and taken away whatever a tool has done in them.

Theory of operation. A killed process cannot remove its folder; the next linter does. A folder contains a locked file for
as long as its linter lives. The file gets its name when it is locked, so one that can be locked belongs to a dead linter.

A tool that is not run by root may leave folders that cannot be emptied and files that cannot be read, though they are ours:
the first are opened again when they go, the second cannot be copied.

Most calls change nothing, and to copy what a setup has made may cost more than the call. So an untouched folder is used
again. The kernel says so: whatever is done to a file or a folder, or to its mode, owner, name or attributes, moves its
time of change, which no process can set. That clock has ticks of some milliseconds; a folder is given out when the tick
in which it was made is over, so that no touch can have the same time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Self

from operable.kernel.data_class import dataclass
from operable.state.lock import create_locked, is_locked

_PREFIX = "aoi-lint-"
_LOCK = "lock"
# The longest tick of a kernel is 10 ms. Where the time of change does not move at all, nothing serves twice.
_TICK = 0.001
_TICKS = 100


@dataclass(frozen=True, slots=True)
class Premises:
    """A folder that is ours until it is left."""

    folder: str
    lock: int

    @classmethod
    def taken(cls) -> Self:
        """A new one. Those of linters that were killed are taken away."""
        _clear(tempfile.gettempdir())
        folder = os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX))
        try:
            return cls(folder, create_locked(f"{folder}/{_LOCK}"))
        except OSError:
            os.rmdir(folder)
            raise

    def leave(self) -> None:
        discard(self.folder)
        os.close(self.lock)


class Stock:
    """Folders that are all alike, for one experiment after the other. Thread-safe."""

    def __init__(self, made: Callable[[], str]) -> None:
        """`made` makes a new one."""
        self._made = made
        self._marks: dict[str, dict[str, tuple[int, ...]]] = {}
        self._left: deque[str] = deque()

    def take(self) -> str:
        """One that is as it was made. What was left and has been touched is taken away, at the latest moment: by then
        the process that worked in it is dead.
        """
        while True:
            try:
                folder = self._left.pop()
            except IndexError:
                break
            if self._untouched(folder):
                return folder
            self.drop(folder)
        folder = self._made()
        self._marks[folder] = _marks(folder) if _tick_is_over(folder) else {}
        return folder

    def leave(self, folder: str) -> None:
        """It is not needed any more."""
        self._left.append(folder)

    def drop(self, folder: str) -> None:
        """It must not be used any more."""
        del self._marks[folder]
        discard(folder)

    def _untouched(self, folder: str) -> bool:
        try:
            return _marks(folder) == self._marks[folder]
        except OSError:
            return False  # another process is at work in it


def _marks(folder: str) -> dict[str, tuple[int, ...]]:
    """What cannot stay the same when something in it is touched."""
    return {path: (status.st_ino, status.st_size, status.st_ctime_ns) for path, status in _within(folder)}


def _within(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    for place, names, files in os.walk(folder):
        for path in (f"{place}/{name}" for name in (*names, *files)):
            yield path, os.lstat(path)


def _tick_is_over(folder: str) -> bool:
    """Wait until something that is changed in the folder has a later time of change than all that is there."""
    newest = max((status.st_ctime_ns for _, status in _within(folder)), default=0)
    for _ in range(_TICKS):
        os.utime(folder)
        if os.stat(folder).st_ctime_ns > newest:
            return True
        time.sleep(_TICK)
    return False


def discard(folder: str) -> None:
    """Take it away with all that is in it. No process may be at work in it any more."""
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
            # A folder of another user is not ours, whatever its name.
            if os.lstat(folder).st_uid == os.geteuid() and not is_locked(f"{folder}/{_LOCK}"):
                discard(folder)
        except OSError:
            continue  # another linter was faster, or it is not a folder
