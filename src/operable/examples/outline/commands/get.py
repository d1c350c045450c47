"""`outline get`: whole notes by their ids."""

from operable.examples.outline import notes
from operable.examples.outline.database import Reading
from operable.examples.outline.events import Note
from operable.tool import ItemError, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=1000, columns=("id", "title", "folder", "body"), examples=["get doc_123 --output jsonl"])
def get(id: str, *more_ids: str) -> "Iterator[Note | ItemError]":
    """Show whole notes.

    id: a note, as `list` and `search` name it
    more_ids: further notes; one that does not exist is an error of its own and stops no other
    """
    with Reading() as connection:
        for note_id in (id, *more_ids):
            note = notes.find(connection, note_id)
            if note is not None:
                yield note
            elif more_ids:
                yield ItemError(notes.missing(note_id))
            else:
                raise notes.missing(note_id)


COMMAND = get
