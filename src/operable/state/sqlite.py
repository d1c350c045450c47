"""Reads an SQLite file without changing it or delaying its writers, also where the reader may not write.

A database in write-ahead mode has files beside it that SQLite creates even for a reader. In a read-only folder, such as a
backup, a snapshot or the home of another user, SQLite cannot create them. There the file is read as it is, provided
that it is complete (nothing waits in a write-ahead log) and does not change during the read.

A database that a confined program wrote is not opened where it is: SQLite obeys the files beside it, and a journal can
name any file of the user for deletion. `read_foreign_database` reads a private copy of it, without a journal.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TypeVar

_BUSY_TIMEOUT = 10.0
_UNWRITABLE = (8, 14)  # READONLY and CANTOPEN, without their variants
# Bytes of a foreign database and of its log, and steps of SQLite's machine for one query: a row takes about ten.
_LARGEST_COPY = 64 * 1024 * 1024
_MOST_STEPS, _STEPS_AT_ONCE = 100_000_000, 100_000
_Result = TypeVar("_Result")


def read_database(
    path: str, query: Callable[[sqlite3.Connection], _Result], *, busy: float = _BUSY_TIMEOUT
) -> _Result:
    """Returns what the query returns; `busy` seconds a writer is waited for. Raises sqlite3.Error if it cannot be read."""
    try:
        return _run(query, path, "mode=ro", busy)
    except sqlite3.OperationalError as error:
        before = _state(path)
        if error.sqlite_errorcode & 0xFF not in _UNWRITABLE or before is None:
            raise
    result = _run(query, path, "mode=ro&immutable=1", busy)
    if _state(path) != before:
        raise sqlite3.OperationalError("it was changed while it was read")
    return result


def read_foreign_database(real: str, query: Callable[[sqlite3.Connection], _Result]) -> _Result:
    """The same for a database that an untrusted program wrote, by its real path. Nothing that its name, its content or
    the files beside it say can have an effect here.

    Raises sqlite3.Error if it cannot be read, and OSError if it is not a file of at most 64 MiB. A transaction that was
    interrupted (a hot journal) is not rolled back: such a database cannot be read.
    """
    import tempfile

    from operable.state.real_file import read_file

    database, _ = read_file(real, _LARGEST_COPY)
    if _beside(f"{real}-journal")[:1] not in (b"", b"\0"):
        raise sqlite3.DatabaseError("a transaction was interrupted")
    with tempfile.TemporaryDirectory(prefix="operable-database-") as folder:
        copy = os.path.join(folder, "copy")
        for path, content in ((copy, database), (f"{copy}-wal", _beside(f"{real}-wal"))):
            with open(path, "wb") as file:
                file.write(content)
        return _run(_bounded(query), copy, "mode=rw")


def _beside(real: str) -> bytes:
    from operable.state.real_file import read_file

    try:
        return read_file(real, _LARGEST_COPY)[0]
    except FileNotFoundError:
        return b""


def _bounded(query: Callable[[sqlite3.Connection], _Result]) -> Callable[[sqlite3.Connection], _Result]:
    """A damaged database can lead a query in circles; the schema is not trusted to call functions with an effect."""
    left = _MOST_STEPS // _STEPS_AT_ONCE

    def go_on() -> int:
        nonlocal left
        left -= 1
        return int(left < 0)

    def asked(connection: sqlite3.Connection) -> _Result:
        connection.execute("PRAGMA trusted_schema = 0")
        connection.set_progress_handler(go_on, _STEPS_AT_ONCE)
        return query(connection)

    return asked


def _run(
    query: Callable[[sqlite3.Connection], _Result], path: str, mode: str, busy: float = _BUSY_TIMEOUT
) -> _Result:
    from urllib.parse import quote

    address = f"file:{quote(os.fsencode(os.path.abspath(path)))}?{mode}"
    with closing(sqlite3.connect(address, uri=True, timeout=busy, isolation_level=None)) as connection:
        connection.execute("PRAGMA query_only = 1")
        return query(connection)


def _state(path: str) -> tuple[int, int, int] | None:
    """What changes with every write. None if something waits in a write-ahead log beside the file."""
    if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
        return None
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns
