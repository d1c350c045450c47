"""Lines out of chunks, whatever the chunks; what is too long is skipped and told."""

from hypothesis import given
from hypothesis import strategies as st

from operable.flow.rpc.lines import RequestLines


def fed(lines, chunks):
    return [line for chunk in chunks for line in lines.feed(chunk)] + list(lines.eof())


@given(st.lists(st.binary(max_size=12)), st.integers(1, 10))
def test_any_chunking_gives_the_same_lines(chunks, limit):
    whole = b"".join(chunks)
    *ended, rest = whole.split(b"\n")
    expected = [line if len(line) <= limit else None for line in [*ended, *([rest] if rest else [])]]

    assert fed(RequestLines(limit), chunks) == expected
    assert fed(RequestLines(limit), [bytes([byte]) for byte in whole]) == expected
    assert fed(RequestLines(limit), [whole]) == expected


def test_nothing_of_a_line_that_is_too_long_is_kept():
    lines = RequestLines(1000)
    for _ in range(100):
        assert list(lines.feed(b"x" * 999)) == []

    assert len(lines._kept) <= 1000
    assert fed(lines, [b"\n{}"]) == [None, b"{}"]
