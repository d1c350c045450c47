"""Markdown that comes in pieces: whole blocks, in order, nothing lost, whatever the pieces."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.cli.terminal.markdown import MarkdownBlocks, rendered

LINES = st.sampled_from(
    ["word", "- item", "1. one", "```", "```py", "~~~", "", "  ", "# t", "| a | b |", "    x"]
)


def blocks(text, size):
    made = MarkdownBlocks()
    found = [block for at in range(0, len(text), size) for block in made.feed(text[at : at + size])]
    return found, made.close()


@given(st.lists(LINES, max_size=20).map("\n".join), st.integers(1, 7))
def test_the_pieces_do_not_matter_and_no_line_is_lost(text, size):
    assert blocks(text, size) == blocks(text, 1000)
    found, rest = blocks(text, size)
    said = [line for line in "".join([*found, rest]).split("\n") if line.strip()]
    assert said == [line for line in text.split("\n") if line.strip()]


def test_a_block_ends_at_an_empty_line_but_not_in_a_fence():
    found, rest = blocks("one\ntwo\n\n```py\na\n\nb\n```\nrest", 3)

    assert found == ["one\ntwo\n", "```py\na\n\nb\n```\n"]
    assert rest == "rest"


def test_a_block_without_an_end_is_cut_and_stays_a_fence():
    found, rest = blocks("```\n" + "x" * 100 + "\n" + "line\n" * 10_000, 1000)

    assert len(found) > 2
    assert all(block.startswith("```\n") and block.endswith("```\n") for block in found)
    assert rest.startswith("```\n")


def test_an_address_of_a_link_is_shown_and_is_no_command_to_the_terminal():
    shown = rendered("[text](http://example.org/x)", 80, colour=True)

    assert "http://example.org/x" in shown
    assert "\x1b]8" not in shown


def test_no_line_is_wider_than_the_terminal():
    text = "# A heading\n\n" + "some words " * 40 + "\n\n- " + "an item " * 30 + "\n"

    assert max(map(len, rendered(text, 40, colour=False).split("\n"))) <= 40


@pytest.mark.parametrize("colour", [False, True])
def test_a_table_has_no_empty_lines_around_it(colour):
    shown = rendered("| a | b |\n|---|---|\n| 1 | 2 |\n", 40, colour=colour)

    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).split() for line in shown.split("\n")]
    assert lines[0] == ["a", "b"]
    assert lines[-2:] == [["1", "2"], []]
