"""The tool that `bench/emit.py` measures: finds a word in a file, on the SDK as any author would write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from operable.tool import Event, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

# A list becomes lines in one call. With more rows alive at a time the garbage collector would look at them.
BATCH = 100

tool = Tool("grep", version="1.0.0", schema_name="org.operable.bench.events")


class Match(TypedDict):
    """One line with the word in it; where in the line it stands, as pairs of start and end."""

    type: Literal["match"]
    path: str
    line_number: int
    column: int
    text: str
    submatches: list[list[int]]


class Number(Event):
    """One number."""

    value: int
    text: str


@tool.command()
def match(word: str, path: str) -> Iterator[list[Match]]:
    """Find the lines of a file that contain a word."""
    size, rows = len(word), list[Match]()
    with open(path) as file:
        for number, line in enumerate(file, start=1):
            start = line.find(word)
            if start < 0:
                continue
            found = [[start, start + size]]
            following = line.find(word, start + size)
            while following >= 0:
                found.append([following, following + size])
                following = line.find(word, following + size)
            row: Match = {
                "type": "match",
                "path": path,
                "line_number": number,
                "column": start + 1,
                "text": line,
                "submatches": found,
            }
            rows.append(row)
            if len(rows) == BATCH:
                yield rows
                rows = []
    yield rows


@tool.command()
def count(*, upto: int) -> Iterator[Number]:
    """Count."""
    for value in range(upto):
        yield Number(value=value, text="a number among others")


if __name__ == "__main__":
    tool.main()
