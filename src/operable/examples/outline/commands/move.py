"""`outline move`: notes into another folder."""

from operable.examples.outline import effects, notes, rules
from operable.examples.outline.database import Reading
from operable.examples.outline.transaction import Writing
from operable.tool import Change, Event, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Moved(Event):
    """A note is in another folder."""

    id: str
    version: int
    title: str
    folder: str
    previous_folder: str
    change: int


@command(
    mutates=True,
    examples=[
        "move doc_123 --to work/done --output jsonl",
        "move --folder drafts --to archive/drafts --output jsonl",
    ],
)
def move(*ids: str, to: str, folder: "str | None" = None) -> "Iterator[Change]":
    """Put notes into another folder. Notes that are there already stay as they are.

    ids: the notes
    to: the folder they go to
    folder: also everything in and below this folder, which keeps its order of folders
    """
    if not ids and folder is None:
        raise Fail("usage", "MISSING_OPERAND", "move needs the ids of notes or --folder", hint="outline list")
    target, source = rules.folder(to), None if folder is None else rules.folder(folder)
    with Reading() as connection:
        for note in notes.select(connection, ids, source):
            below = "" if source is None or note.id in ids else note.folder[len(source) :].lstrip("/")
            destination = rules.folder(f"{target}/{below}")
            if destination != note.folder:
                yield Change(
                    "move",
                    note.id,
                    version=note.version,
                    title=note.title,
                    folder=note.folder,
                    to=destination,
                )


@move.apply
def move_now(changes: "list[Change]") -> "list[Moved]":
    done = []
    with Writing() as connection:
        for change in changes:
            version, number = effects.change(
                connection, change.target, change["version"], folder=change["to"]
            )
            done.append(
                Moved(
                    id=change.target,
                    version=version,
                    title=change["title"],
                    folder=change["to"],
                    previous_folder=change["folder"],
                    change=number,
                )
            )
    return done


COMMAND = move
