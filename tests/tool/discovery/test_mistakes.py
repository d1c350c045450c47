"""Mistakes in declarations: named when a tool is described, before anybody calls it in the one way that would show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from operable.tool import Change, Event, Input, Page, Record, Stream, Tool
from operable.tool.discovery.capabilities import capabilities_document, review
from tests.tool import notebook


class Hit(Event):
    rank: int


class Done(Event):
    id: str


class NoteIn(Input):
    title: str


class Author(Record):
    name: str


def test_a_tool_without_mistakes_passes():
    review(notebook.tool)


def mistaken(function: Callable[..., Any], name: str | None = None, **options: Any) -> str:
    tool = Tool("t", version="1", schema_name="x")
    tool.command(name, **options)(function)
    with pytest.raises(TypeError) as caught:
        review(tool)
    with pytest.raises(TypeError):
        capabilities_document(tool)
    return str(caught.value)


def mistaken_mutation(**options: Any) -> str:
    tool = Tool("t", version="1", schema_name="x")

    @tool.command(mutates=True, **options)
    def remove() -> Iterator[Change]:
        yield Change("x")

    @remove.apply
    def _(changes: list[Change]) -> Iterator[Done]:
        yield Done(id="x")

    with pytest.raises(TypeError) as caught:
        review(tool)
    return str(caught.value)


def test_mistakes_in_signatures_are_found_when_the_tool_is_described():
    def any_options(**options: str) -> None: ...
    def slash(words: str, /) -> None: ...
    def same_twice(*, from_: str = "", from__: str = "") -> None: ...
    def nothing(*, author: None = None) -> None: ...
    def swallowed(files: list[str], target: str) -> None: ...
    def output(*, output: str = "") -> None: ...
    def helping(*, help: str = "") -> None: ...
    def page_first(page: Page, *ids: str) -> None: ...
    def secret(*, pin: str = "") -> None: ...
    def streams(a: Stream[NoteIn], b: Stream[NoteIn]) -> None: ...

    assert "name each option" in mistaken(any_options)
    assert "without the slash" in mistaken(slash)
    assert "two parameters are called 'from'" in mistaken(same_twice)
    assert "a word cannot become the parameter 'author'" in mistaken(nothing)
    assert "no operand can follow" in mistaken(swallowed)
    assert "--output is an option of every command" in mistaken(output)
    assert "--help is an option of every command" in mistaken(helping)
    assert "after the *operands" in mistaken(page_first)
    assert "the secret 'pni' is not among its parameters" in mistaken(secret, secrets=("pni",))
    assert "one stream" in mistaken(streams)
    for short in ({"h": "pin"}, {"p": "pni"}, {"pi": "pin"}, {"1": "pin"}):
        assert "a letter other than h" in mistaken(secret, short=short)


def test_mistakes_in_effects_and_bounds_are_found_when_the_tool_is_described():
    def command(words: str = "", *, page: Page) -> Iterator[Hit]:
        yield Hit(rank=1)

    def pageless() -> Iterator[Hit]:
        yield Hit(rank=1)

    assert "no apply function" in mistaken(command, mutates=True)
    assert "the cursor field 'rnak' is not a field of Hit" in mistaken(command, cursor="rnak")
    assert "page: Page" in mistaken(pageless, cursor="rank")
    assert "bulk belongs to destructive" in mistaken(command, bulk=True)
    assert "cannot be unbounded" in mistaken_mutation(unbounded=True)
    assert "limit must be positive" in mistaken(command, limit=0)
    assert "heartbeat must be positive" in mistaken(command, unbounded=True, heartbeat=-1)
    for name in ("", "-x", "a b c", "a  b", "_hidden"):
        assert "plain word" in mistaken(pageless, name)


def test_an_apply_phase_without_a_declared_mutation_is_a_mistake():
    tool = Tool("t", version="1", schema_name="x")

    @tool.command()
    def remove(*ids: str) -> Iterator[Change]:
        """Remove."""
        yield Change("x")

    @remove.apply
    def _(changes: list[Change]) -> Iterator[Done]:
        yield Done(id="x")

    with pytest.raises(TypeError, match="not declared with mutates=True"):
        review(tool)


def test_mistakes_of_a_tool_as_a_whole_are_found_too():
    for name in ("", "two words", "-x", "a\tb"):
        with pytest.raises(TypeError, match="one word"):
            review(Tool(name, version="1", schema_name="x"))
    tool = Tool("t", version="1", schema_name="x", schema_version="1.0.0")
    tool.older_schema("1.0.0", events=[], convert=lambda event: event)
    with pytest.raises(TypeError, match="cannot also be an older version"):
        review(tool)


def test_a_tool_without_a_machine_flag_is_a_mistake():
    with pytest.raises(TypeError, match="machine_flags"):
        review(Tool("t", version="1", schema_name="x", machine_flags=()))
