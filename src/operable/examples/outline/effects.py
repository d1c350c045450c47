"""Changing notes: each function makes one change inside the transaction of its caller and reports what it did.

A change is planned before it is made, and others may be faster. Every change of an existing note therefore says which
version it was planned for; when the note has another one by now, nothing of the transaction happens.
"""

import os
import time

from operable.examples.outline.notes import find
from operable.tool import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection

    from operable.examples.outline.events import Note

# 32 symbols in the order of ASCII, without the letters that are read as digits: ids sort like the numbers behind them.
_SYMBOLS = "0123456789abcdefghjkmnpqrstvwxyz"
_last_made = 0


def new_id() -> str:
    """`doc_`, ten symbols of milliseconds, six of randomness; later ones sort after earlier ones of the same process."""
    global _last_made  # noqa: PLW0603 - one process, one clock
    _last_made = max(time.time_ns() // 1_000_000, _last_made + 1)
    number = (_last_made << 30) | (int.from_bytes(os.urandom(4), "big") >> 2)
    return "doc_" + "".join(_SYMBOLS[(number >> shift) & 31] for shift in range(75, -5, -5))


def now() -> str:
    nanoseconds = time.time_ns()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(nanoseconds // 10**9))}.{nanoseconds // 10**6 % 1000:03d}Z"


def add(
    connection: "Connection",
    *,
    title: str,
    body: str,
    folder: str,
    tags: "list[str]",
    note_id: "str | None" = None,
    created_at: "str | None" = None,
    updated_at: "str | None" = None,
    version: int = 1,
) -> "tuple[str, int]":
    """A new note; its id and the number of the change. A given id that exists by now is a conflict."""
    chosen = note_id or new_id()
    created = created_at or now()
    if note_id is not None and find(connection, note_id) is not None:
        raise Fail("conflict", "NOTE_EXISTS", f"There is a note {note_id!r} already", target=note_id)
    connection.execute(
        "INSERT INTO notes (id, title, body, folder, tags, created_at, updated_at, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (chosen, title, body, folder, "\n".join(tags), created, updated_at or created, version),
    )
    return chosen, last_change(connection)


def change(connection: "Connection", note_id: str, planned_version: int, **fields: str) -> "tuple[int, int]":
    """New values for some fields; the new version and the number of the change."""
    fields["updated_at"] = now()
    columns = ", ".join(f"{name} = ?" for name in fields)  # names of our own, never input
    done = connection.execute(
        f"UPDATE notes SET {columns}, version = version + 1 WHERE id = ? AND version = ?",
        (*fields.values(), note_id, planned_version),
    )
    if done.rowcount != 1:
        raise changed_meanwhile(connection, note_id, planned_version)
    return planned_version + 1, last_change(connection)


def remove(connection: "Connection", note_id: str, planned_version: int) -> int:
    """Gone; the number of the change."""
    done = connection.execute("DELETE FROM notes WHERE id = ? AND version = ?", (note_id, planned_version))
    if done.rowcount != 1:
        raise changed_meanwhile(connection, note_id, planned_version)
    return last_change(connection)


def expect(connection: "Connection", note_id: str, planned_version: int) -> "Note":
    """The note, if it is still the one that was planned with."""
    note = find(connection, note_id)
    if note is None or note.version != planned_version:
        raise changed_meanwhile(connection, note_id, planned_version)
    return note


def changed_meanwhile(connection: "Connection", note_id: str, planned_version: int) -> "Fail":
    note = find(connection, note_id)
    state = "is gone" if note is None else f"has version {note.version}"
    fail = Fail(
        "conflict",
        "NOTE_CHANGED",
        f"Note {note_id!r} {state}, not version {planned_version} as planned; nothing was done",
        target=note_id,
        hint="look at it again",
        expected_version=planned_version,
    )
    if note is not None:
        fail.details["current_version"] = note.version
    return fail


def last_change(connection: "Connection") -> int:
    (number,) = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return int(number)
