"""The tool that `bench/emit.py` measures: finds a word in a file, on the SDK as any author would write it."""

from __future__ import annotations

from operable.tool import Event, Record, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

tool = Tool("grep", version="1.0.0", schema_name="org.operable.bench.events")


class Submatch(Record):
    """Where a match begins and ends in its line, in characters."""

    start: int
    end: int


class Match(Event):
    """One line with the word in it."""

    path: str
    line_number: int
    column: int
    text: str
    submatches: list[Submatch]


class Number(Event):
    """One number."""

    value: int
    text: str


@tool.command()
def match(word: str, path: str) -> Iterator[Match]:
    """Find the lines of a file that contain a word."""
    size = len(word)
    with open(path) as file:  # noqa: PTH123 - what costs least to start
        for number, line in enumerate(file, start=1):
            start = line.find(word)
            if start >= 0:
                where = [Submatch(start=start, end=start + size)]
                following = line.find(word, start + size)
                while following >= 0:
                    where.append(Submatch(start=following, end=following + size))
                    following = line.find(word, following + size)
                yield Match(path=path, line_number=number, column=start + 1, text=line, submatches=where)


@tool.command()
def count(*, upto: int) -> Iterator[Number]:
    """Count."""
    for value in range(upto):
        yield Number(value=value, text="a number among others")


if __name__ == "__main__":
    tool.main()
