"""The lines of one file of a log, from both ends."""

from contextlib import ExitStack

import pytest

from operable.state.sealed_file import LINE_LIMIT, LogLines
from tests.growth import calls


@pytest.fixture
def lines_of(tmp_path):
    """The lines of a file of these bytes, or of its first `size`; closed afterwards."""
    with ExitStack() as stack:

        def made(data, size=None):
            path = tmp_path / f"log-{len(data)}"
            path.write_bytes(data)
            return LogLines(stack.enter_context(path.open("rb")), len(data) if size is None else size)

        yield made


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a\n",
        b"torn",
        b"a\nbb\n\nccc\n",
        b"a\nbb\ntorn",
        b"".join(b"%d\n" % number for number in range(20_000)),
        b"before\n" + b"x" * (LINE_LIMIT + 100_000) + b"\nafter\n",
        b"before\n" + b"x" * (LINE_LIMIT + 100_000),
    ],
    ids=["empty", "one", "torn", "some", "torn end", "many", "long line", "long end"],
)
def test_from_the_end_come_the_same_lines_with_their_places_and_numbers(lines_of, data):
    lines = lines_of(data)

    back = list(lines.back())

    assert b"".join(line for _, line in reversed(back)) == data
    assert all(data[place : place + len(line)] == line for place, line in back)
    assert [lines.number(place) for place, _ in back[-5:]] == [
        data[:place].count(b"\n") + 1 for place, _ in back[-5:]
    ]
    if b"x" * LINE_LIMIT not in data:
        assert [line for _, line in reversed(back)] == list(lines)


def test_what_was_written_after_the_moment_is_not_seen_from_either_end(lines_of):
    lines = lines_of(b"a\nb\nc\n", size=4)

    assert list(lines) == [b"a\n", b"b\n"]
    assert [line for _, line in lines.back()] == [b"b\n", b"a\n"]


def test_the_last_lines_cost_the_same_in_a_file_of_any_size(lines_of):
    def last_five(count):
        lines = lines_of(b"".join(b"%020d\n" % number for number in range(count)))
        back = lines.back()
        return lambda: [next(back) for _ in range(5)]

    assert calls(last_five(1000)) == calls(last_five(50_000))
