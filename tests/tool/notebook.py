"""A tool with one of everything that can be declared; tests run it as a program and look at what it says of itself."""

from __future__ import annotations

from operable.tool import (
    Change,
    Check,
    Event,
    Fail,
    Input,
    ItemError,
    Page,
    Progress,
    Record,
    Stream,
    Tool,
    Warn,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

tool = Tool(
    "notebook",
    version="2.3.4",
    schema_name="com.example.notebook.events",
    schema_version="2.1.0",
    schema_id="https://schemas.example.com/notebook/{version}/schema.json",
    summary="Notes in a book.",
    auth={"required": True, "methods": ["token"]},
)


class Author(Record):
    """Who wrote it."""

    name: str
    born: int | None = None


class Hit(Event):
    """One note that was found."""

    rank: int
    title: str
    state: Literal["open", "closed"] = "open"
    score: float | None = None
    authors: list[Author] = []  # noqa: RUF012 - a record copies its defaults
    from_: str = ""
    extra: Any = None


class Branch(Event):
    """A heading with the headings below it."""

    title: str
    below: list[Branch] = []  # noqa: RUF012


class Done(Event):
    id: str


class OldHit(Event, type="hit"):
    """One note that was found, as version 1 had it."""

    rank: int
    name: str


class NoteIn(Input):
    """A note to keep."""

    title: str
    tags: list[str] = []  # noqa: RUF012


class Found(Input, type="hit"):
    rank: int
    title: str
    state: str = ""
    score: float | None = None
    authors: list[Author] = []  # noqa: RUF012
    from_: str = ""
    extra: Any = None


@tool.command(
    limit=20, cursor="rank", examples=["search 'agent operable' --limit 2", "search cats --state open"]
)
def search(
    query: str,
    *,
    times: int = 5,
    state: Literal["open", "closed"] = "open",
    tag: list[str] = [],  # noqa: B006 - as authors write it
    fuzzy: bool = True,
    deep: bool = False,
    api_token: str = "none",
    page: Page,
) -> Iterator[Hit | Progress | Warn]:
    """Find notes by words.

    Looks at titles first.

    query: words to look for
    times: how many there are
        in this book
    state: only notes in this state
    api_token: who asks

    Nothing is changed by looking.
    """
    yield Progress(done=0, total=times)
    for rank in range((page.after or 0) + 1, times + 1):
        yield Hit(
            rank=rank,
            title=f"{query} {rank}",
            state=state,
            authors=[Author(name="A")],
            from_="me",
            extra={"x": [1]},
        )
    if deep:
        yield Warn("TOO_DEEP", "There is nothing below", target=query)


@tool.command()
def outline() -> Iterator[Branch]:
    """Show the headings."""
    yield Branch(title="a", below=[Branch(title="b"), Branch(title="c", below=[Branch(title="d")])])


@tool.command()
def get(*ids: str) -> Iterator[Hit | ItemError]:
    """Show notes by their ids; `lost` is always missing, `broken` ends everything."""
    for rank, id_ in enumerate(ids, start=1):
        missing = Fail("not_found", "NO_SUCH_NOTE", f"There is no note {id_}", target=id_)
        if id_ == "broken":
            raise missing
        yield ItemError(missing) if id_ == "lost" else Hit(rank=rank, title=id_)


@tool.command(destructive=True, bulk=True, examples=["delete n1 --confirm"])
def delete(*ids: str) -> Iterator[Change]:
    """Delete notes."""
    for id_ in ids:
        yield Change("delete", id_)


@delete.apply
def _delete(changes: list[Change]) -> Iterator[Done]:
    for change in changes:
        yield Done(id=change.target)


@tool.command("import", mutates=True, examples=["import --input-jsonl notes.jsonl --dry-run"])
def import_(notes: Stream[NoteIn], *, into: str = "inbox") -> Iterator[Change]:
    """Keep notes.

    into: the shelf to put them on
    """
    for note in notes:
        yield Change("create", note.title, into=into, line=note.line_number)


@import_.apply
def _import(changes: list[Change]) -> Iterator[Done]:
    for change in changes:
        yield Done(id=change.target)


@tool.command()
def count(hits: Stream[Found]) -> Iterator[Done]:
    """Pass on what another search found."""
    for hit in hits:
        yield Done(id=hit.title)


@tool.command(unbounded=True, heartbeat=0.2, timeout=None)
def watch() -> Iterator[Hit]:
    """Follow what changes."""
    from time import sleep

    for rank in range(1, 1000):
        yield Hit(rank=rank, title="changed")
        sleep(0.05)


@tool.command("shelf list", examples=["shelf list --all"])
def shelf_list(*, all: bool = False) -> Iterator[Done]:
    """List the shelves."""
    yield Done(id="a")


@tool.command("shelf add", mutates=True)
def shelf_add(name: str) -> Iterator[Change]:
    """Add a shelf."""
    yield Change("add", name)


@shelf_add.apply
def _shelf_add(changes: list[Change]) -> Iterator[Done]:
    return iter([Done(id=change.target) for change in changes])


@tool.command(hidden=True)
def secret_lair() -> Iterator[Done]:
    """Nobody is told of this."""
    yield Done(id="lair")


@tool.check("paper")
def paper() -> Check:
    return Check(ok=True, detail="white")


@tool.check("ink")
def ink() -> Check:
    raise Fail("config", "NO_INK", "The pen is empty", hint="buy ink")


@tool.check("weather")
def weather() -> Check:
    return Check(ok=False, severity="warning", detail="rain")


def to_version_1(event: dict[str, Any]) -> dict[str, Any] | None:
    if event["type"] == "hit":
        return {"type": "hit", "rank": event["rank"], "name": event["title"]}
    return None


tool.older_schema("1.0.0", events=[OldHit], convert=to_version_1)
tool.older_schema("2.0.0", events=[Hit, Done], convert=lambda event: event)

if __name__ == "__main__":
    tool.main()
