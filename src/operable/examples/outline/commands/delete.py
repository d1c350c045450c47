"""`outline delete`: notes, one or many, permanently."""

from operable.examples.outline import effects, notes, rules
from operable.examples.outline.database import Reading
from operable.examples.outline.events import Deleted
from operable.examples.outline.transaction import Writing
from operable.tool import Change, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    destructive=True,
    bulk=True,
    examples=[
        "delete doc_123 --confirm --output jsonl",
        "delete --folder old --confirm-count 12 --output jsonl",
    ],
)
def delete(*ids: str, folder: "str | None" = None) -> "Iterator[Change]":
    """Delete notes. There is no way back but a copy made with `export`.

    ids: the notes
    folder: also everything in and below this folder
    """
    if not ids and folder is None:
        raise Fail(
            "usage", "MISSING_OPERAND", "delete needs the ids of notes or --folder", hint="outline list"
        )
    place = None if folder is None else rules.folder(folder)
    with Reading() as connection:
        for note in notes.select(connection, ids, place):
            yield Change("delete", note.id, version=note.version, title=note.title, folder=note.folder)


@delete.apply
def delete_now(changes: "list[Change]") -> "list[Deleted]":
    done = []
    with Writing() as connection:
        for change in changes:
            number = effects.remove(connection, change.target, change["version"])
            done.append(
                Deleted(
                    id=change.target,
                    version=change["version"],
                    title=change["title"],
                    folder=change["folder"],
                    change=number,
                )
            )
    return done


COMMAND = delete
