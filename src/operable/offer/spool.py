"""The file with all of a long result: made when there is more than a model can be given, gone with this process.

Nothing is written for a result that fits. What was kept in memory until then goes first, so the file has every event in its
order. A disk that is full, a folder that cannot be written, or a result beyond the limit is not a failure of the call,
which has been made: the part that was kept stays true, and `problem` says what is not there. The files of a process are
in one private folder, which the keeper removes however the process ends.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import IO

from operable.proc.tree.keeper import KEEPER

LIMIT = 64 * 1024 * 1024

_folders: dict[int, str] = {}  # of this process; a fork makes its own


class Spool:
    """Lines of one result; in memory up to `room` bytes, then in a file up to `LIMIT`."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._lines: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = None
        self._path: str | None = None
        self.problem: str | None = None  # why not all of it is there

    def add(self, line: bytes) -> None:
        self._size += len(line)
        if self.problem is not None:
            return
        if self._size > LIMIT:
            self.problem = f"the result is longer than {LIMIT} bytes; what is beyond that was not kept"
            return
        self._lines.append(line)
        if self._size > self._room:
            self._spill()

    def finish(self) -> str | None:
        """The path of the whole result, whose owner is the caller from now on; None when it could not be kept."""
        if self._lines:
            self._spill()
        self._close()
        path, self._path = self._path, None
        return path

    def discard(self) -> None:
        """Remove what no client asked for."""
        self._close()
        if self._path is not None:
            remove(self._path)
            self._path = None

    def _spill(self) -> None:
        lines, self._lines = self._lines, []
        try:
            if self._file is None:
                descriptor, self._path = tempfile.mkstemp(prefix="result-", suffix=".jsonl", dir=_folder())
                self._file = os.fdopen(descriptor, "wb", buffering=0)
            _write_all(self._file, b"".join(lines))
        except OSError as error:
            self.problem = f"the whole result could not be kept: {error.strerror}"
            self.discard()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def remove(path: str) -> None:
    """Remove a file; a file that another process has removed is gone as well."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _write_all(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _folder() -> str:
    """The private folder of this process, made when it is first needed."""
    pid = os.getpid()
    if pid not in _folders or not os.path.isdir(_folders[pid]):
        folder = tempfile.mkdtemp(prefix="operable-results-")
        _folders[pid] = folder
        KEEPER.leave(folder)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)  # where there is no keeper
    return _folders[pid]
