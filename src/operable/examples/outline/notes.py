"""Reading whole notes; the queries that only one command needs are in the file of that command.

Lists are ordered by id, which begins with the time of creation, so that a page can go on after the last id seen whatever
was added or deleted meanwhile. A store that is not there yet has no notes.
"""

from operable.examples.outline.database import Reading, narrowed, tag_list
from operable.examples.outline.events import Note
from operable.tool import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection
    from typing import Any

_WHOLE = "SELECT id, title, body, folder, tags, created_at, updated_at, version FROM notes"


def whole(*, folder: "str | None", after: "str | None", fetch: "int | None") -> "Iterator[Note]":
    where, values = narrowed(folder)
    with Reading() as connection:
        if connection is None:
            return
        for row in connection.execute(
            f"{_WHOLE} WHERE id > ?{where} ORDER BY id LIMIT ?",
            (after or "", *values, -1 if fetch is None else fetch),
        ):
            yield _note(row)


def find(connection: "Connection | None", note_id: str) -> "Note | None":
    if connection is None:
        return None
    row = connection.execute(f"{_WHOLE} WHERE id = ?", (note_id,)).fetchone()
    return None if row is None else _note(row)


def require(connection: "Connection | None", note_id: str) -> "Note":
    note = find(connection, note_id)
    if note is None:
        raise missing(note_id)
    return note


def missing(note_id: str) -> "Fail":
    return Fail(
        "not_found", "NOTE_NOT_FOUND", f"There is no note {note_id!r}", target=note_id, hint="outline list"
    )


def select(connection: "Connection | None", ids: "tuple[str, ...]", folder: "str | None") -> "list[Note]":
    """The notes that a bulk command means: these ids, and everything in and below this folder; each once."""
    chosen = {note_id: require(connection, note_id) for note_id in ids}
    if folder is not None and connection is not None:
        where, values = narrowed(folder)
        for row in connection.execute(f"{_WHOLE} WHERE true{where} ORDER BY id", values):
            chosen.setdefault(row[0], _note(row))
    return list(chosen.values())


def _note(row: "tuple[Any, ...]") -> "Note":
    note_id, title, body, folder, tags, created_at, updated_at, version = row
    return Note(
        id=note_id,
        title=title,
        body=body,
        folder=folder,
        tags=tag_list(tags),
        created_at=created_at,
        updated_at=updated_at,
        version=version,
    )
