"""The stderr of a tool, shown to people: whole lines, redacted, inert, and never waited for."""

import os

import pytest

from operable.cli.call.diagnostics import Diagnostics


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_lines_are_shown_when_they_are_whole(pipe):
    reading, writing = pipe
    shown = Diagnostics(writing)
    shown.feed(b"one\ntw")
    assert os.read(reading, 100) == b"one\n"
    shown.feed(b"o\n")
    assert os.read(reading, 100) == b"two\n"


def test_secrets_and_control_sequences_are_not(pipe):
    reading, writing = pipe
    Diagnostics(writing).feed(b"Authorization: Bearer abcdefghijklmnop\n\x1b[2Jx\xff\n")
    text = os.read(reading, 1000).decode()
    assert "abcdefghijklmnop" not in text
    assert "·[2Jx" in text


def test_who_does_not_read_loses_lines_and_holds_nobody(pipe):
    reading, writing = pipe
    shown = Diagnostics(writing)
    for _ in range(100):
        shown.feed(b"x" * 10_000 + b"\n")
    kept = b""
    while True:
        try:
            kept += os.read(reading, 65536)
        except BlockingIOError:
            break
    assert 0 < len(kept) < 100 * 10_000


def test_a_line_without_an_end_is_not_kept_for_ever(pipe):
    reading, writing = pipe
    shown = Diagnostics(writing)
    shown.feed(b"x" * 1_000_000)
    shown.feed(b"\nback\n")
    assert os.read(reading, 100).endswith(b"back\n")


def test_a_stderr_that_is_gone_is_no_problem():
    reading, writing = os.pipe()
    shown = Diagnostics(writing)
    os.close(reading)
    shown.feed(b"one\n")
    os.close(writing)


def test_nothing_of_a_line_that_is_too_long_is_shown_and_the_next_line_is(pipe):
    reading, writing = pipe
    shown = Diagnostics(writing)
    shown.feed(b"x" * 65_537)
    shown.feed(b"its end\nnext\n")
    assert os.read(reading, 100_000) == b"next\n"
