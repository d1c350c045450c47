"""The line splitter: the same lines for any chunking, bounded memory, linear cost."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.wire import lines as wire_lines
from operable.wire.lines import BlockSplitter, LineSplitter, LineTooLong, SkippingSplitter, split_lines

PIECES = st.lists(
    st.sampled_from([b"", b"a", b"bc", b"\n", b"\n\n", b"\r\n", b"d\ne", b"\0", b"\xff", b"x" * 9])
)


def split(chunks, limit=8):
    """Everything that can be seen of one use: the lines, the rest, and the error."""
    splitter = LineSplitter(limit)
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    if splitter.error is None:
        return lines, splitter.eof(), None
    with pytest.raises(LineTooLong) as caught:
        splitter.eof()
    assert caught.value is splitter.error
    return lines, None, (caught.value.line, caught.value.limit)


def test_a_chunk_gives_the_lines_that_it_completes():
    splitter = LineSplitter()

    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.feed(b"o") == []
    assert splitter.feed(b"\n\nthree\nfo") == [b"two", b"", b"three"]
    assert splitter.lines == 4
    assert splitter.eof() == b"fo"


def test_nothing_is_left_when_the_last_line_has_its_end():
    splitter = LineSplitter()
    splitter.feed(b"one\n")

    assert splitter.eof() is None


def test_carriage_return_nul_byte_order_mark_and_bad_utf8_are_delivered_as_they_are():
    splitter = LineSplitter()

    assert splitter.feed(b"a\r\nb\0\n\xef\xbb\xbfc\n\xff\n") == [b"a\r", b"b\0", b"\xef\xbb\xbfc", b"\xff"]


@given(PIECES, st.integers(1, 12))
def test_any_chunking_gives_the_same_lines(pieces, limit):
    whole = b"".join(pieces)

    once = split([whole], limit)

    assert split(pieces, limit) == once
    assert split([whole[i : i + 1] for i in range(len(whole))], limit) == once
    assert split(filter(None, pieces), limit) == once


@given(PIECES)
def test_without_long_lines_it_is_a_plain_split(pieces):
    *lines, rest = b"".join(pieces).split(b"\n")

    assert split(pieces, 1000) == (lines, rest or None, None)


@pytest.mark.parametrize(
    "chunks",
    [
        [b"ok\n12345678\n123456789\nnext\n"],
        [b"ok\n1234567", b"8\n12345678", b"9\nnext\n"],
        [b"ok\n12345678\n123456789"],
        [b"ok\n12345678\n", b"1234567", b"89"],
    ],
    ids=["in one chunk", "ended by a later chunk", "not ended", "grown beyond the limit"],
)
def test_a_line_beyond_the_limit_ends_the_splitting_and_is_reported_by_its_number(chunks):
    assert split(chunks) == ([b"ok", b"12345678"], None, (3, 8))


def test_after_a_line_beyond_the_limit_nothing_is_delivered_or_kept():
    splitter = LineSplitter(limit=1000)
    splitter.feed(b"x" * 1001)
    tracemalloc.start()
    try:
        for _ in range(100):
            assert splitter.feed(b"y" * 100_000) == []
        assert splitter.feed(b"\nfine\n") == []
        current, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert current < 200_000
    with pytest.raises(LineTooLong, match="line 1 is longer than 1000 bytes"):
        splitter.eof()


def test_a_line_that_arrives_in_tiny_chunks_is_kept_in_about_its_size():
    splitter = LineSplitter()
    tracemalloc.start()
    try:
        for _ in range(50_000):
            splitter.feed(bytes(10))
        current, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert current < 2 * 500_000
    assert splitter.feed(b"\n") == [bytes(500_000)]


def test_a_limit_below_one_byte_is_refused():
    with pytest.raises(ValueError, match="at least one byte"):
        LineSplitter(0)


@pytest.mark.parametrize("size", [1, 64, 65536])
def test_twice_as_long_a_line_costs_twice_the_copying(size, monkeypatch):
    copied = 0

    def counting_join(parts):
        nonlocal copied
        joined = b"".join(parts)
        copied += len(joined)
        return joined

    monkeypatch.setattr(wire_lines, "_join", counting_join)

    def cost(chunks):
        nonlocal copied
        copied = 0
        splitter = LineSplitter()
        for _ in range(chunks):
            splitter.feed(b"x" * size)
        (line,) = splitter.feed(b"\n")
        assert len(line) == size * chunks
        return copied

    count = 4096 if size < 65536 else 64
    assert cost(2 * count) <= 2 * cost(count) + size
    # Once to merge small pieces, once to make the line; large pieces are copied only once.
    assert cost(count) <= (2 if size < 65536 else 1) * size * count


def skipped(splitter, chunks):
    """The lines, with None for each that is too long."""
    lines = [line for chunk in chunks for line in splitter.feed(chunk)]
    rest = splitter.eof()
    return [None if isinstance(line, LineTooLong) else line for line in [*lines, *([rest] if rest else [])]]


@given(st.lists(st.binary(max_size=12)), st.integers(1, 10))
def test_a_line_that_is_too_long_costs_only_itself_whatever_the_chunks(chunks, limit):
    whole = b"".join(chunks)
    *ended, rest = whole.split(b"\n")
    expected = [line if len(line) <= limit else None for line in [*ended, *([rest] if rest else [])]]

    assert skipped(SkippingSplitter(limit), chunks) == expected
    assert skipped(SkippingSplitter(limit), [bytes([byte]) for byte in whole]) == expected
    assert skipped(SkippingSplitter(limit), [whole]) == expected


def test_nothing_of_a_line_that_is_too_long_is_kept_and_its_number_is_told():
    splitter = SkippingSplitter(1000)
    assert list(splitter.feed(b"first\n")) == [b"first"]
    assert list(splitter.feed(b"x" * 999)) == []
    tracemalloc.start()
    try:
        (error,) = [line for _ in range(1000) for line in splitter.feed(b"x" * 999)]
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()
    assert isinstance(error, LineTooLong)
    assert (error.line, error.limit) == (2, 1000)
    assert skipped(splitter, [b"\nthird\n" + b"y" * 2000]) == [b"third", None]


@given(PIECES)
def test_blocks_are_the_same_bytes_in_whole_lines(chunks):
    splitter = BlockSplitter(8)
    blocks, whole = [], b"".join(chunks)
    for chunk in chunks:
        blocks.append(splitter.feed(chunk))
        if splitter.too_long:
            assert len(whole[len(b"".join(blocks)) :]) > 8
            assert splitter.eof() == b""
            return
    assert not splitter.too_long
    assert all(block.endswith(b"\n") for block in blocks if block)
    assert b"".join(blocks) + splitter.eof() == whole


def test_bytes_that_are_all_there_are_lines_and_a_rest():
    assert split_lines(b"") == ([], b"")
    assert split_lines(b"a\n\nb") == ([b"a", b""], b"b")
    assert split_lines(b"a\r\n") == ([b"a\r"], b"")
