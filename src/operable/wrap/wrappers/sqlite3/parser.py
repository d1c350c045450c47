"""Rows of an SQLite database, from the library: exact values, one statement, read only."""

from __future__ import annotations

import os
import sqlite3

from operable.kernel.errors import Fail
from operable.wrap.fields import base64, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_ALLOWED = frozenset(
    (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)
# Pragmas that report and do not set; with an argument they name what is reported.
_TELLING = frozenset(
    ("table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list")
)
# So many steps of its machine between two looks at whether we should stop (well below a millisecond).
_STEPS = 10_000
# While others write, wait so long for our turn.
_BUSY = 5.0
# The header of a database; one byte of it says how it is written (https://www.sqlite.org/fileformat2.html).
# The versions of the format for writing and for reading: SQLite goes by the second, older readers by the first.
_HEADER, _MODES, _WAL = 100, slice(18, 20), 2


class _Text(bytes):
    """Text of the database as it is stored."""


def query(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    for index, (names, values) in enumerate(_rows(inputs["database"], inputs["sql"], inputs["parameter"]), 1):
        if upstream.after is None or index > upstream.after:
            row = {name: _value(value) for name, value in zip(names, values, strict=True)}
            yield {"type": "row", "index": index, "row": row}


def tables(upstream: Upstream) -> Iterator[Any]:
    sql = "select name, type, sql from sqlite_schema where type in ('table', 'view') order by name"
    for _, (name, kind, text) in _rows(upstream.inputs["database"], sql, []):
        event: dict[str, Any] = {"type": "table", "kind": kind.decode("ascii"), "sql": None}
        put(event, "name", name)
        if text is not None:
            put(event, "sql", text)
        yield event


def _rows(path: str, sql: str, parameters: list[str]) -> Iterator[tuple[list[str], Any]]:
    from urllib.parse import quote

    if not os.path.isfile(path):
        raise Fail("not_found", "PATH_NOT_FOUND", "there is no such database", target=path)
    seen = _idle_log(path)
    # Without these, reading a database in WAL mode makes or changes files beside it.
    still = "&immutable=1" if seen else "&readonly_shm=1"
    address = f"file:{quote(os.fsencode(path))}?mode=ro{still}"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY, isolation_level=None)
        try:
            connection.text_factory = _Text  # text is not always UTF-8; a blob stays plain bytes
            connection.set_authorizer(_allow)
            connection.set_progress_handler(lambda: 0, _STEPS)  # gives signals and deadlines their turn
            found = connection.execute(sql, parameters)
            names = _distinct([column[0] for column in found.description or ()])
            for values in found:
                yield names, values
            if seen != (_idle_log(path) if seen else None):
                message = "another process began to write to the database while it was read"
                raise Fail("temporary", "DATABASE_CHANGED", message, hint="ask again", retryable=True)
        finally:
            connection.close()
    except sqlite3.Error as problem:
        raise _fail(problem) from problem


def _idle_log(path: str) -> tuple[int, int] | None:
    """Size and time of a database in WAL mode that no process has open; None for every other."""
    place = os.path.realpath(path)
    with open(place, "rb") as file:
        header = file.read(_HEADER)
    # A process that has it open keeps both files beside it; one of them alone is a leftover, or a trap.
    if _WAL not in header[_MODES] or (os.path.exists(f"{place}-shm") and os.path.exists(f"{place}-wal")):
        return None
    if os.path.exists(f"{place}-wal") and os.path.getsize(f"{place}-wal"):
        message = "a program has died while it wrote to the database, and reading it would repair it"
        raise Fail(
            "conflict", "DATABASE_NEEDS_REPAIR", message, hint="open it once with a program that may write"
        )
    status = os.stat(place)
    return status.st_size, status.st_mtime_ns


def _allow(
    action: int, first: str | None, _second: str | None, _database: str | None, _trigger: str | None
) -> int:
    telling = action == sqlite3.SQLITE_PRAGMA and str(first).lower() in _TELLING
    return sqlite3.SQLITE_OK if action in _ALLOWED or telling else sqlite3.SQLITE_DENY


def _distinct(names: list[str]) -> list[str]:
    """Names of columns, the second of one name with `:2`; where a column is called that already, the next number."""
    found: list[str] = []
    for name in names:
        distinct, number = name, 1
        while distinct in found or (number > 1 and distinct in names):
            number += 1
            distinct = f"{name}:{number}"
        found.append(distinct)
    return found


def _value(value: Any) -> Any:
    if isinstance(value, _Text):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"text": value.decode("utf-8", "replace"), "b64": base64(value)}
    if isinstance(value, bytes):
        return {"b64": base64(value)}
    if isinstance(value, float) and value - value != 0:
        return {"number": "Infinity" if value > 0 else "-Infinity"}
    return value


def _fail(problem: sqlite3.Error) -> Fail:
    name = getattr(problem, "sqlite_errorname", "") or "SQLITE_ERROR"
    message = f"sqlite: {problem}"
    if name.startswith("SQLITE_READONLY_"):  # a log that no process uses any more
        return Fail(
            "conflict", "DATABASE_NEEDS_REPAIR", message, hint="open it once with a program that may write"
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Fail("temporary", name, message)
    if name.startswith("SQLITE_AUTH") or "not authorized" in message or "prohibited" in message:
        return Fail("authz", "NOT_READ_ONLY", message, hint="only statements that read are run")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return Fail("validation", name, message)
    return Fail("validation", name, message, hint="look at the statement")
