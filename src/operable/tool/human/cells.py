"""A value as text for people, with nothing in it that could act on a terminal."""

from __future__ import annotations

from operable.tool.records import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCALAR = str | int | float | None
# What ends a value, or begins the next one: a text with one of them is quoted.
_SIGNS = frozenset(",=\"'")


def cell(value: Any) -> str:
    """A value as one line of text. What has values inside is JSON, so that nothing in it can be mistaken."""
    if value is None:
        return ""
    text = str(value) if isinstance(value, _SCALAR) else json_text(value)
    return visible(text.replace("\n", " ").replace("\t", " "))


def table_cell(value: Any) -> str:
    """The same in a table, where a list of words and a simple object are shown without the signs of JSON."""
    if isinstance(value, list) and all(isinstance(each, _SCALAR) for each in value):
        return cell(", ".join(map(_plain, value)))
    if isinstance(value, dict) and all(isinstance(each, _SCALAR) for each in value.values()):
        return cell(" ".join(f"{_plain(name)}={_plain(each)}" for name, each in value.items()))
    return cell(value)


def _plain(value: Any) -> str:
    is_word = isinstance(value, str) and value.split() == [value] and _SIGNS.isdisjoint(value)
    return value if is_word else json_text(value)


def visible(text: str) -> str:
    """Text with nothing in it that could act on a terminal but line ends and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "·" for c in text)
