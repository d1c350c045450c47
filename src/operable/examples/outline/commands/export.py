"""`outline export`: everything, in the form that `outline import` takes back."""

from operable.examples.outline import notes, rules
from operable.examples.outline.events import Note
from operable.tool import Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    cursor="id",
    columns=("id", "title", "folder", "tags", "body"),
    examples=["export --output jsonl", "export --folder work --output jsonl"],
)
def export(*, folder: "str | None" = None, page: "Page") -> "Iterator[Note]":
    """Give out whole notes, all of them unless you set a limit; one consistent state of the store.

    folder: only in and below this folder
    """
    where = None if folder is None else rules.folder(folder)
    yield from notes.whole(folder=where, after=page.after, fetch=page.fetch)


COMMAND = export
