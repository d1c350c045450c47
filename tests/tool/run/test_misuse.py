"""Complaints about command lines: they help, they are short, and they keep secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

from operable.kernel.errors import Fail
from operable.tool import Event, Tool
from operable.tool.front import understand
from operable.tool.records import json_text
from operable.tool.run.misuse import unexpected_operands

tool = Tool("notes", version="1.0", schema_name="com.example.notes")


class Hit(Event):
    rank: int


@tool.command()
def search(
    query: str, folder: str = "", *, times: int = 5, tag: list[str] | None = None, api_token: str = ""
) -> Iterator[Hit]:
    """Find."""
    yield Hit(rank=1)


@tool.command()
def enable(feature: str, value: bool, token: Literal["a", "b"] = "a") -> Iterator[Hit]:
    """Switch."""
    yield Hit(rank=1)


@tool.command("shelf list")
def shelf_list() -> Iterator[Hit]:
    """List shelves."""
    yield Hit(rank=1)


def refusal(*words: str) -> Fail:
    _, refused = understand(tool, list(words))
    assert refused is not None
    return refused


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["search", "q", "--lmit", "3"], "did you mean --limit?"),
        (["search", "q", "--api_token", "x"], "did you mean --api-token?"),
        (["search", "q", "--dry-run"], "--dry-run does not apply to search"),
        (["search", "q", "--zzzzzz"], "see notes search --help"),
        (["search", "q", "--times", "x"], "see notes search --help"),
        (["search", "q", "--times", "\udc80"], "see notes search --help"),
        (["search", "q", "--tag"], "--tag VALUE, or --tag=VALUE for one that begins with --"),
    ],
)
def test_the_hint_helps(words, hint):
    assert refusal(*words).hint == hint


def test_the_value_of_a_secret_is_not_repeated():
    assert refusal("enable", "f", "true", "s3cret").message == "TOKEN must be one of a, b"


def test_long_words_are_repeated_in_short():
    for words in (
        ["search", "q", "--times", "x" * 100_000],
        ["search", "q", f"--{'y' * 100_000}"],
        ["x" * 100_000],
    ):
        _, refused = understand(tool, words)
        assert refused is not None
        assert len(json_text(refused.event())) < 1000


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "notes --help"),
        (["serch"], "did you mean notes search?"),
        (["shelf"], "did you mean notes shelf list?"),
        (["shelf", "lst"], "did you mean notes shelf list?"),
        (["shelf", "help"], "notes shelf --help"),
        (["list"], "did you mean notes shelf list?"),
        (["shlef"], "did you mean notes shelf?"),
        (["shlef", "list"], "did you mean notes shelf?"),
        (["--vresion"], "did you mean --version?"),
        (["-W"], "notes --help"),
        (["help", "serch"], "did you mean notes search?"),
        (["zzzzzz"], "notes --help"),
        (["capabilites"], "did you mean notes capabilities?"),
    ],
)
def test_a_wrong_command_is_answered_with_the_right_one(words, hint):
    assert refusal(*words).hint == hint


@pytest.mark.parametrize("words", [["help", "search"], ["search", "--help"], ["help", "--debug", "search"]])
def test_help_of_a_command_can_be_asked_for_with_a_word(words):
    call, refused = understand(tool, words)

    assert refused is None
    (document,) = call.command.function()
    assert document.content.startswith("Usage: notes search QUERY ")


def test_help_of_two_words_is_that_of_the_command_of_two_words():
    call, _ = understand(tool, ["help", "shelf", "list"])

    (document,) = call.command.function()
    assert document.content.startswith("Usage: notes shelf list ")


def test_an_option_without_a_command_is_told_by_its_name_and_without_its_value():
    refused = refusal("--apitoken=s3cret")

    assert (refused.code, refused.message) == (
        "UNKNOWN_OPTION",
        "notes has no option --apitoken, and needs a command",
    )


def test_a_missing_command_is_answered_with_all_of_them():
    assert refusal().details["commands"] == [*tool.names(), *tool.built_in_names()]


def test_surplus_operands_are_counted():
    refused: Any = unexpected_operands(search, ["a", "b", "c"], [])

    assert refused.message == "search does not take 'a' and 2 more: too many operands"
