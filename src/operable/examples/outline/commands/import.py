# ruff: noqa: N999 - the file is called like its command
"""`outline import`: notes from JSONL, a sink for `outline export` and for anything else that writes such lines.

The whole input is read and checked before the first note is written, and all notes are written in one transaction: after
any failure, a kill included, the store is as it was.
"""

from operable.examples.outline import effects, notes, rules
from operable.examples.outline.database import Reading
from operable.examples.outline.events import Created, Updated
from operable.examples.outline.transaction import Writing
from operable.tool import Change, Event, Fail, Input, ItemError, Stream, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection
    from typing import Any, Literal


class NoteIn(Input, type="note"):
    """A note to import; only the title is required. What `outline export` gives out fits."""

    title: str
    body: str = ""
    folder: str = ""
    tags: "list[str]" = []  # noqa: RUF012 - the record makes a fresh list for each instance
    id: "str | None" = None
    created_at: "str | None" = None
    updated_at: "str | None" = None
    version: "int | None" = None


class Skipped(Event):
    """A note was left as it is, because the store has one with its id."""

    id: str
    version: int


@command(
    mutates=True,
    examples=[
        "import --input-jsonl notes.jsonl --output jsonl",
        "import --input-jsonl - --on-conflict skip --output jsonl",
    ],
)
def import_(
    items: "Stream[NoteIn]", *, on_conflict: 'Literal["fail", "skip", "replace"]' = "fail"
) -> "Iterator[Change | ItemError]":
    """Take notes in, all or none.

    on_conflict: what to do with a note whose id exists: fail, skip it, or replace what is there
    """
    taken: dict[str, int] = {}
    with Reading() as connection:
        for item in items:
            try:
                yield _planned(connection, item, on_conflict, taken)
            except Fail as fail:
                fail.details["line_number"] = item.line_number
                yield ItemError(fail)


def _planned(
    connection: "Connection | None", item: "NoteIn", on_conflict: str, taken: "dict[str, int]"
) -> "Change":
    fields: dict[str, Any] = {
        "title": rules.title(item.title),
        "body": rules.body(item.body),
        "folder": rules.folder(item.folder),
        "tags": rules.tags(item.tags),
    }
    for name, value in (("created_at", item.created_at), ("updated_at", item.updated_at)):
        if value is not None:
            fields[name] = rules.timestamp(name, value)
    if item.version is not None:
        fields["version"] = rules.version(item.version)
    if item.id is None:
        return Change("create", **fields)
    note_id = rules.note_id(item.id)
    if note_id in taken:
        raise Fail(
            "validation",
            "DUPLICATE_ID",
            f"The id {note_id!r} was on line {taken[note_id]} already",
            target=note_id,
        )
    taken[note_id] = item.line_number
    note = notes.find(connection, note_id)
    if note is None:
        return Change("create", note_id, **fields)
    if on_conflict == "skip":
        return Change("skip", note_id, planned_version=note.version)
    if on_conflict == "replace":
        return Change("replace", note_id, **fields, planned_version=note.version)
    hint = "--on-conflict skip or replace"
    raise Fail("conflict", "NOTE_EXISTS", f"There is a note {note_id!r} already", target=note_id, hint=hint)


@import_.apply
def import_now(changes: "list[Change]") -> "list[Created | Updated | Skipped]":
    with Writing() as connection:
        return [_imported(connection, change) for change in changes]


def _imported(connection: "Connection", change: "Change") -> "Created | Updated | Skipped":
    if change.action == "skip":
        return Skipped(id=change.target, version=change["planned_version"])
    title, folder = change["title"], change["folder"]
    if change.action == "replace":
        fields = {"title": title, "body": change["body"], "folder": folder, "tags": "\n".join(change["tags"])}
        version, number = effects.change(connection, change.target, change["planned_version"], **fields)
        return Updated(id=change.target, version=version, title=title, folder=folder, change=number)
    version = change.get("version", 1)
    note_id, number = effects.add(
        connection,
        title=title,
        body=change["body"],
        folder=folder,
        tags=change["tags"],
        note_id=change.target or None,
        created_at=change.get("created_at"),
        updated_at=change.get("updated_at"),
        version=version,
    )
    return Created(id=note_id, version=version, title=title, folder=folder, change=number)


COMMAND = import_
