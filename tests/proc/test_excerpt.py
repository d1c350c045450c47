from hypothesis import given
from hypothesis import strategies as st

from operable.proc.excerpt import Excerpt


def test_a_short_stream_is_kept_whole():
    excerpt = Excerpt(head=8, tail=8)
    excerpt.feed(b"one ")
    excerpt.feed(b"two three")
    assert excerpt.text() == "one two three"
    assert excerpt.omitted == 0


def test_a_long_stream_keeps_both_ends_and_counts_the_gap():
    excerpt = Excerpt(head=4, tail=4)
    excerpt.feed(b"head" + b"x" * 100 + b"tail")
    assert excerpt.text() == "head\n[... 100 bytes left out ...]\ntail"
    assert excerpt.omitted == 100


def test_bytes_that_are_not_utf8_do_not_matter():
    excerpt = Excerpt()
    excerpt.feed(b"caf\xe9")
    assert excerpt.text() == "caf�"


@given(st.lists(st.binary(max_size=40), max_size=60))
def test_any_chunking_keeps_the_same_ends_in_bounded_memory(chunks):
    excerpt = Excerpt(head=10, tail=7)
    for chunk in chunks:
        excerpt.feed(chunk)
        assert len(excerpt._head) + len(excerpt._tail) <= 10 + 2 * 7
    whole = Excerpt(head=10, tail=7)
    whole.feed(b"".join(chunks))
    assert excerpt.text() == whole.text()
    assert excerpt.omitted == whole.omitted == max(0, len(b"".join(chunks)) - 17)
