"""Looking into an SQLite file without changing what it holds or holding up who writes, also where nothing can be written.

A database in write-ahead mode has files beside it that SQLite makes even for a reader. In a folder that is read-only,
such as a backup, a snapshot or somebody else's home, that is impossible; there the file is read as it stands, provided
that it is complete (nothing waits in a write-ahead log) and that nobody changes it meanwhile.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

_BUSY_TIMEOUT = 10.0
_UNWRITABLE = (8, 14)  # READONLY and CANTOPEN, without their variants
_Found = TypeVar("_Found")


def look(path: str, question: Callable[[sqlite3.Connection], _Found]) -> _Found:
    """What the question finds; sqlite3.Error when the file cannot be read."""
    try:
        return _ask(path, "mode=ro", question)
    except sqlite3.OperationalError as problem:
        before = _state(path)
        if problem.sqlite_errorcode & 0xFF not in _UNWRITABLE or before is None:
            raise
    found = _ask(path, "mode=ro&immutable=1", question)
    if _state(path) != before:
        raise sqlite3.OperationalError("it was changed while it was read")
    return found


def _ask(path: str, how: str, question: Callable[[sqlite3.Connection], _Found]) -> _Found:
    from urllib.parse import quote

    place = f"file:{quote(os.fsencode(os.path.abspath(path)))}?{how}"
    with closing(sqlite3.connect(place, uri=True, timeout=_BUSY_TIMEOUT, isolation_level=None)) as connection:
        connection.execute("PRAGMA query_only = 1")
        return question(connection)


def _state(path: str) -> tuple[int, int, int] | None:
    """What changes when somebody writes; None when something waits in a log beside the file."""
    if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
        return None
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns
