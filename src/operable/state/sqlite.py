"""Reads an SQLite file without changing it or delaying its writers, also where the reader may not write.

A database in write-ahead mode has files beside it that SQLite creates even for a reader. In a read-only folder, such as a
backup, a snapshot or the home of another user, SQLite cannot create them. There the file is read as it is, provided
that it is complete (nothing waits in a write-ahead log) and does not change during the read.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

_BUSY_TIMEOUT = 10.0
_UNWRITABLE = (8, 14)  # READONLY and CANTOPEN, without their variants
_Result = TypeVar("_Result")


def read_database(path: str, query: Callable[[sqlite3.Connection], _Result]) -> _Result:
    """Returns what the query returns. Raises sqlite3.Error if the file cannot be read."""
    try:
        return _run(query, path, "mode=ro")
    except sqlite3.OperationalError as error:
        before = _state(path)
        if error.sqlite_errorcode & 0xFF not in _UNWRITABLE or before is None:
            raise
    result = _run(query, path, "mode=ro&immutable=1")
    if _state(path) != before:
        raise sqlite3.OperationalError("it was changed while it was read")
    return result


def _run(query: Callable[[sqlite3.Connection], _Result], path: str, mode: str) -> _Result:
    from urllib.parse import quote

    address = f"file:{quote(os.fsencode(os.path.abspath(path)))}?{mode}"
    with closing(
        sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT, isolation_level=None)
    ) as connection:
        connection.execute("PRAGMA query_only = 1")
        return query(connection)


def _state(path: str) -> tuple[int, int, int] | None:
    """What changes with every write. None if something waits in a write-ahead log beside the file."""
    if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
        return None
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns
