"""`outline update`: new content for a note."""

from operable.examples.outline import effects, notes, rules
from operable.examples.outline.database import Reading
from operable.examples.outline.events import Updated
from operable.examples.outline.transaction import Writing
from operable.tool import Change, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(mutates=True, examples=["update doc_123 --title 'A better title' --if-version 3 --output jsonl"])
def update(
    id: str,
    *,
    title: "str | None" = None,
    body: "str | None" = None,
    tag: "list[str]" = [],  # noqa: B006
    remove_tag: "list[str]" = [],  # noqa: B006
    if_version: "int | None" = None,
) -> "Iterator[Change]":
    """Change what a note says; what is not given stays.

    id: the note
    title: the new title
    body: the new text
    tag: a tag to add; may be repeated
    remove_tag: a tag to take away; may be repeated
    if_version: only if the note still has this version
    """
    with Reading() as connection:
        note = notes.require(connection, id)
    version = note.version
    if if_version is not None and if_version != version:
        raise Fail(
            "conflict",
            "NOTE_CHANGED",
            f"Note {id!r} has version {version}, not {if_version}; nothing was done",
            target=id,
            hint="look at it again",
            expected_version=if_version,
            current_version=version,
        )
    fields: dict[str, object] = {}
    if title is not None:
        fields["title"] = rules.title(title)
    if body is not None:
        fields["body"] = rules.body(body)
    if tag or remove_tag:
        fields["tags"] = [name for name in rules.tags([*note.tags, *tag]) if name not in remove_tag]
    if not fields:
        raise Fail(
            "usage",
            "NOTHING_TO_UPDATE",
            "update needs something to change",
            hint="--title, --body, --tag, --remove-tag",
        )
    yield Change("update", id, version=version, **fields)


@update.apply
def update_now(changes: "list[Change]") -> "list[Updated]":
    done = []
    with Writing() as connection:
        for change in changes:
            fields = {name: change[name] for name in ("title", "body") if change.get(name) is not None}
            if change.get("tags") is not None:
                fields["tags"] = "\n".join(change["tags"])
            version, number = effects.change(connection, change.target, change["version"], **fields)
            note = notes.require(connection, change.target)
            done.append(
                Updated(
                    id=change.target, version=version, title=note.title, folder=note.folder, change=number
                )
            )
    return done


COMMAND = update
