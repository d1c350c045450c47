"""`outline copy`: the same note again."""

from operable.examples.outline import effects, notes, rules
from operable.examples.outline.database import Reading
from operable.examples.outline.transaction import Writing
from operable.tool import Change, Event, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Copied(Event):
    """A note came into being as a copy of another."""

    id: str
    version: int
    title: str
    folder: str
    source_id: str
    change: int


@command(mutates=True, examples=["copy doc_123 --to work/ideas --output jsonl"])
def copy(id: str, *, to: "str | None" = None, title: "str | None" = None) -> "Iterator[Change]":
    """Make a new note with the text and the tags of another.

    id: the note to copy
    to: the folder of the copy; that of the original when left out
    title: the title of the copy; that of the original when left out
    """
    with Reading() as connection:
        note = notes.require(connection, id)
    yield Change(
        "copy",
        id,
        version=note.version,
        title=note.title if title is None else rules.title(title),
        folder=note.folder if to is None else rules.folder(to),
    )


@copy.apply
def copy_now(changes: "list[Change]") -> "list[Copied]":
    done = []
    with Writing() as connection:
        for change in changes:
            source = change.target
            note = effects.expect(connection, source, change["version"])
            title, folder = change["title"], change["folder"]
            note_id, number = effects.add(
                connection, title=title, body=note.body, folder=folder, tags=note.tags
            )
            done.append(
                Copied(id=note_id, version=1, title=title, folder=folder, source_id=source, change=number)
            )
    return done


COMMAND = copy
