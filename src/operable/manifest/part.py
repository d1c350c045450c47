"""A place in a document: the value there, the way to it, and where it is in the file.

Cross-field rules read the plain data through `ManifestPart` instead of the model, because they must also run on a
document that has other faults: a field of the wrong type reads as absent (the schema has complained about it already),
and a path that does not exist is a `ManifestPart` without a value. `ManifestPart.problem` makes the complaint with the
line of the field, or of the nearest thing around it that is written down.

A block of another manifest may be written in place, wrapped in `inline`, or referred to (`block`, `reference`):

    sandbox: ./SANDBOX.md            a reference
    sandbox: { ref: ./SANDBOX.md }   the same; `file` is a synonym
    sandbox: { inline: { … } }       the block, wrapped
    sandbox: { … }                   the block
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from operable.manifest.problem import Level, Problem

Path = tuple[str | int, ...]


class FieldPosition(NamedTuple):
    """Line and column, from 1."""

    line: int
    column: int


class DocumentSource(NamedTuple):
    """Where a document came from: its name for people, and where each of its fields is."""

    path: str
    lines: dict[Path, FieldPosition]
    first: FieldPosition = FieldPosition(1, 1)
    """Where to point at what is missing at the top."""
    directory: str | None = None
    """The name of the folder that the file is in; None for a text that does not come from a file."""

    def position(self, path: Path) -> FieldPosition:
        """Of the field, else of the nearest thing around it."""
        while path:
            found = self.lines.get(path)
            if found is not None:
                return found
            path = path[:-1]
        return self.first


class ManifestPart:
    """The value at a path, or the lack of one (`value` is None)."""

    __slots__ = ("path", "source", "value")

    def __init__(self, source: DocumentSource, value: Any, path: Path = ()) -> None:
        self.source = source
        self.value = value
        self.path = path

    def at(self, *keys: str | int) -> ManifestPart:
        value = self.value
        for key in keys:
            inside = isinstance(value, dict) if isinstance(key, str) else isinstance(value, list)
            if not inside or (isinstance(key, int) and key >= len(value)):
                value = None
            else:
                value = value.get(key) if isinstance(key, str) else value[key]
        return ManifestPart(self.source, value, (*self.path, *keys))

    @property
    def text(self) -> str | None:
        return self.value if isinstance(self.value, str) else None

    @property
    def number(self) -> int | None:
        return self.value if isinstance(self.value, int) and not isinstance(self.value, bool) else None

    @property
    def present(self) -> bool:
        return self.value is not None

    def items(self) -> Iterator[ManifestPart]:
        """The items of a list; none if it is not a list."""
        if isinstance(self.value, list):
            for index in range(len(self.value)):
                yield self.at(index)

    def entries(self) -> Iterator[tuple[str, ManifestPart]]:
        """The entries of a mapping; none if it is not a mapping."""
        if isinstance(self.value, dict):
            for key in self.value:
                yield key, self.at(key)

    def texts(self) -> Iterator[tuple[ManifestPart, str]]:
        """The items of a list that are texts, with their places."""
        for item in self.items():
            if isinstance(item.value, str):
                yield item, item.value

    @property
    def key(self) -> str:
        return ".".join(map(str, self.path))

    def problem(
        self,
        rule: str,
        message: str,
        hint: str | None = None,
        level: Level = "error",
        near: ManifestPart | None = None,
    ) -> Problem:
        """A complaint about this field; `near` is where to point instead, for a field that is missing."""
        place = self.source.position((near or self).path)
        return Problem(self.source.path, place.line, place.column, rule, message, hint, level, self.key)


_REFERENCES = ("ref", "file")


def embedded(data: dict[str, Any], key: str) -> dict[str, Any]:
    """The data with `data[key]` as the block itself, or as the reference as text."""
    given = data.get(key)
    if not isinstance(given, dict):
        return dict(data)
    for word in (*_REFERENCES, "inline"):
        if word in given:
            return {**data, key: given[word]}
    return dict(data)


def reference(part: ManifestPart) -> ManifestPart | None:
    """Where the reference of a field is; None when the field holds a block, or nothing."""
    if part.text is not None:
        return part
    return next((part.at(word) for word in _REFERENCES if part.at(word).text is not None), None)


def block(part: ManifestPart) -> ManifestPart:
    """Where the block of a field is; without a value when the field is a reference."""
    if reference(part) is not None:
        return ManifestPart(part.source, None, part.path)
    return part.at("inline") if part.at("inline").present else part


def one_form(part: ManifestPart) -> Iterator[Problem]:
    """A block written in place and a reference at once cannot both hold."""
    forms = [word for word in (*_REFERENCES, "inline") if part.at(word).present]
    others = [key for key, _ in part.entries() if key not in forms]
    if len(forms) > 1 or (forms and others):
        second = (forms[1:] or others)[0]
        yield part.at(second).problem(
            "INLINE_AND_REF",
            f"{part.key} has both {forms[0]!r} and {second!r}: exactly one form is allowed",
            "write the block in place, or refer to a file",
        )
