"""A tool for the tests that reads structured input, as a transformer and as a sink."""

from __future__ import annotations

import os

from operable.tool import Change, Event, Fail, Input, ItemError, Stream, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

tool = Tool("intake", version="1.0.0", schema_name="com.example.intake.events")


class NoteIn(Input):
    """One note."""

    title: str
    n: int = 0


class HitIn(Input, type="hit"):
    """A hit of another tool."""

    rank: int
    title: str = ""


class Note(Event):
    """One note that was read."""

    title: str
    n: int
    line: int


class Done(Event):
    """One note that was written."""

    id: str


@tool.command(limit=None)
def echo(notes: Stream[NoteIn]) -> Iterator[Note]:
    """Pass on what comes."""
    for note in notes:
        yield Note(title=note.title, n=note.n, line=note.line_number)


@tool.command(limit=None)
def hits(hits: Stream[HitIn]) -> Iterator[Note]:
    """Pass on the hits of another tool."""
    for hit in hits:
        yield Note(title=hit.title, n=hit.rank, line=hit.line_number)


@tool.command(limit=None)
def first(notes: Stream[NoteIn]) -> Iterator[Note]:
    """Take one, and be done."""
    for note in notes:
        yield Note(title=note.title, n=note.n, line=note.line_number)
        break


@tool.command(limit=None)
def refuse(notes: Stream[NoteIn]) -> Iterator[Note | ItemError]:
    """Refuse every other item."""
    for note in notes:
        if note.n % 2:
            yield ItemError(Fail("not_found", "ODD", "odd", line_number=note.line_number))
        else:
            yield Note(title=note.title, n=note.n, line=note.line_number)


@tool.command(limit=None)
def children(notes: Stream[NoteIn]) -> Iterator[Note]:
    """Start a child that reads its stdin, for each item."""
    import subprocess

    for note in notes:
        subprocess.run(["/bin/cat"], check=True)
        yield Note(title=note.title, n=note.n, line=note.line_number)


@tool.command(limit=None)
def size(notes: Stream[NoteIn]) -> Iterator[Note]:
    """Count, and tell the peak of memory in KiB."""
    count = 0
    for _ in notes:
        count += 1
    with open("/proc/self/status") as status:
        (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    yield Note(title="peak", n=peak, line=count)


@tool.command(name="import", mutates=True, max_plan=1000)
def import_(notes: Stream[NoteIn]) -> Iterator[Change]:
    """Write notes."""
    for note in notes:
        yield Change("create", note.title, n=note.n)


@import_.apply
def _import(changes: list[Change]) -> Iterator[Done]:
    for change in changes:
        with open(os.environ["STORE"], "a") as store:
            store.write(f"{change.target}\n")
        yield Done(id=change.target)


if __name__ == "__main__":
    tool.main()
