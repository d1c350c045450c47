"""Lines of a file by their place: any file gives the same lines from its end, from an offset, and in windows."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.state.line_file import line_start, lines_back, tail, whole_lines
from tests.growth import calls

LONG = b"x" * 100_000  # longer than several windows
FILES = st.lists(st.sampled_from([b"", b"a", b"bb", LONG]), max_size=8).map(b"\n".join)


@pytest.fixture(scope="module")
def descriptor(tmp_path_factory):
    """A function that makes a file of these bytes, and gives the descriptor that reads it."""
    path = tmp_path_factory.mktemp("lines") / "file"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)

    def made(data):
        os.ftruncate(fd, 0)
        os.pwrite(fd, data, 0)
        return fd

    yield made
    os.close(fd)


@given(data=FILES)
def test_the_end_of_the_last_whole_line_and_all_lines_before_it_are_found(descriptor, data):
    fd = descriptor(data)
    whole = data[: data.rfind(b"\n") + 1]

    assert tail(fd) == (len(whole), len(data))
    assert list(lines_back(fd, len(whole))) == whole.splitlines(keepends=True)[::-1]


@given(data=FILES, window=st.sampled_from([1, 7, 4096]))
def test_windows_of_any_size_give_the_whole_lines_in_order(descriptor, data, window):
    fd, offset, pieces = descriptor(data), 0, []
    while piece := whole_lines(fd, offset, window):
        pieces.append(piece)
        offset += len(piece)

    assert b"".join(pieces) == data[: data.rfind(b"\n") + 1]
    assert all(piece.endswith(b"\n") for piece in pieces)


@given(data=FILES, share=st.floats(0, 1))
def test_the_first_line_that_begins_at_or_behind_an_offset_is_found(descriptor, data, share):
    fd, offset = descriptor(data), int(len(data) * share)
    starts = [0, *(place + 1 for place in range(len(data)) if data[place : place + 1] == b"\n")]

    assert line_start(fd, offset) == next((start for start in starts if start >= offset), None)


def test_a_line_longer_than_the_limit_is_not_given_and_a_torn_one_has_no_beginning(descriptor):
    fd = descriptor(b"before\n" + LONG + b"\nafter\n")

    assert list(lines_back(fd, 7 + len(LONG) + 1 + 6, limit=50_000)) == [b"after\n"]
    assert tail(descriptor(b"before\n" + LONG), limit=50_000) == (-1, 7 + len(LONG))


def test_a_line_of_twice_the_length_costs_about_twice_as_much_to_find_from_the_end(descriptor):
    def last_line(windows):
        data = b"x" * (windows * 16 * 1024) + b"\n"
        fd = descriptor(data)
        return calls(lambda: next(lines_back(fd, len(data))))

    assert last_line(512) <= last_line(256) + 8  # one more window that is twice as large, not 256 more
