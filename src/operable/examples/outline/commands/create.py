"""`outline create`: a new note."""

from operable.examples.outline import rules
from operable.examples.outline.effects import add
from operable.examples.outline.events import Created
from operable.examples.outline.transaction import Writing
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    examples=["create 'Agent-Operable Tools' --body 'A conforming tool …' --tag agents --output jsonl"],
)
def create(title: str, *, body: str = "", folder: str = "", tag: "list[str]" = []) -> "Iterator[Change]":  # noqa: B006
    """Make a note.

    title: one line
    body: the text
    folder: where it belongs, as work/ideas; the top when left out
    tag: a tag; may be repeated
    """
    yield Change(
        "create",
        title=rules.title(title),
        body=rules.body(body),
        folder=rules.folder(folder),
        tags=rules.tags(tag),
    )


@create.apply
def create_now(changes: "list[Change]") -> "list[Created]":
    done = []
    with Writing() as connection:
        for change in changes:
            title, folder = change["title"], change["folder"]
            note_id, number = add(
                connection, title=title, body=change["body"], folder=folder, tags=change["tags"]
            )
            done.append(Created(id=note_id, version=1, title=title, folder=folder, change=number))
    return done


COMMAND = create
