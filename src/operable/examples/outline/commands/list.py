"""`outline list`: the notes, a page at a time."""

from operable.examples.outline import rules
from operable.examples.outline.database import Reading, narrowed, tag_list
from operable.tool import Event, Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Entry(Event):
    """One note in a list, without its body."""

    id: str
    title: str
    folder: str
    tags: "list[str]"
    updated_at: str
    version: int


@command(
    limit=50,
    cursor="id",
    columns=("id", "title", "folder", "tags", "updated_at"),
    examples=["list --output jsonl", "list --folder work --limit 10 --output jsonl"],
)
def list_(*, folder: "str | None" = None, tag: "str | None" = None, page: "Page") -> "Iterator[Entry]":
    """List the notes, oldest first.

    folder: only in and below this folder
    tag: only with this tag
    """
    where, values = narrowed(None if folder is None else rules.folder(folder), tag)
    with Reading() as connection:
        if connection is None:
            return
        rows = connection.execute(
            f"SELECT id, title, folder, tags, updated_at, version FROM notes WHERE id > ?{where} ORDER BY id LIMIT ?",
            (page.after or "", *values, -1 if page.fetch is None else page.fetch),
        )
        for note_id, title, place, tags, updated_at, version in rows:
            yield Entry(
                id=note_id,
                title=title,
                folder=place,
                tags=tag_list(tags),
                updated_at=updated_at,
                version=version,
            )


COMMAND = list_
