"""YAML 1.2 to plain JSON values, with the place of every key. Only what JSON can say; nothing is ever constructed.

Works on ruamel.yaml's events rather than on its loaders: a tag makes no object, an alias is counted before it is followed,
a repeated key is seen, and the positions of all keys are kept. Scalars follow the core schema of YAML 1.2 (`no` is a text,
`0o600` is octal, `2026-01-01` is a text). Keys are texts as written, so that `0: ok` has the key "0". Bounded in depth and
in the number of values that aliases make of the document.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from operable.manifest.part import DocumentSource, FieldPosition, Path
from operable.manifest.problem import Problem

# Deeper than any schema that people write by hand.
DEPTH = 64
# Ten times what the largest known manifest has; reading so many takes a second or two.
VALUES = 20_000

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"(?P<yes>true|True|TRUE)|false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LARGEST = 2**63 - 1
# What the scanner of ruamel.yaml raises on hostile input besides its own errors (escapes beyond Unicode, odd indentation).
_BROKEN = (ValueError, OverflowError, IndexError, TypeError, AttributeError, AssertionError, RecursionError)


class _Stop(Exception):  # noqa: N818 - ends the reading; the problem is already noted
    """The rest of the document cannot be read."""


def read(text: str, source: DocumentSource) -> tuple[Any, dict[Path, FieldPosition], list[Problem]]:
    """The value, the places of its keys, and all problems. `source.first` is where the text begins in its file."""
    tree = _Tree(text, source)
    value = tree.document()
    return value, tree.lines, tree.problems


class _Tree:
    """One reading of one text."""

    def __init__(self, text: str, source: DocumentSource) -> None:
        self._text = text
        self._source = source
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._events: Iterator[Any] = iter(())
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._count = 0
        self.lines: dict[Path, FieldPosition] = {}
        self.problems: list[Problem] = []

    def document(self) -> Any:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        try:
            self._events = iter(YAML(typ="safe", pure=True).parse(self._text))
            return self._whole()
        except YAMLError as error:
            self._syntax(error)
        except _BROKEN as error:
            self._note(0, "YAML_SYNTAX", f"this YAML cannot be read: {type(error).__name__}")
        except _Stop:
            pass
        return None

    def _whole(self) -> Any:
        from ruamel.yaml import events

        value: Any = None
        documents = 0
        for event in self._events:
            if isinstance(event, events.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._note(
                        self._index(event),
                        "YAML_DOCUMENTS",
                        "the frontmatter contains more than one YAML document",
                    )
                    raise _Stop
                value = self._value(next(self._events), ())
        return value

    def _value(self, event: Any, path: Path) -> Any:
        from ruamel.yaml import events

        if len(path) > DEPTH:
            self._note(self._index(event), "YAML_DEPTH", f"values are nested more than {DEPTH} deep")
            raise _Stop
        if isinstance(event, events.AliasEvent):
            return self._alias(event)
        if event.tag is not None:
            message = f"the tag {str(event.tag)[:60]} is not allowed: a manifest contains plain values"
            self._note(
                self._index(event), "YAML_TAG", message, "take it out; quote the value if it is a text"
            )
        before = self._count
        self._grow(1, event)
        anchor = event.anchor
        if anchor is not None:
            self._anchors[anchor] = None
        if isinstance(event, events.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, events.SequenceStartEvent):
            value = self._sequence(path)
        else:
            value = self._mapping(path)
        if anchor is not None:
            self._anchors[anchor] = value, self._count - before
        return value

    def _sequence(self, path: Path) -> list[Any]:
        from ruamel.yaml import events

        found: list[Any] = []
        for event in self._events:
            if isinstance(event, events.SequenceEndEvent):
                break
            here = (*path, len(found))
            self.lines[here] = self._position(self._index(event))
            found.append(self._value(event, here))
        return found

    def _mapping(self, path: Path) -> dict[str, Any]:
        from ruamel.yaml import events

        found: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, events.MappingEndEvent):
                break
            key = self._key(event)
            here = (*path, key)
            if key in found:
                first = self.lines[here].line
                self._note(
                    self._index(event), "KEY_TWICE", f"the key {key[:80]!r} was already given on line {first}"
                )
            else:
                self.lines[here] = self._position(self._index(event))
            found[key] = self._value(next(self._events), here)
        return found

    def _key(self, event: Any) -> str:
        from ruamel.yaml import events

        if not isinstance(event, events.ScalarEvent):
            self._note(
                self._index(event), "YAML_KEY", "a key is a plain word, not a list, a mapping or an alias"
            )
            raise _Stop
        if event.tag is not None or event.anchor is not None:
            self._note(self._index(event), "YAML_TAG", "a key has neither tag nor anchor")
        if not event.value and event.style in (None, ""):
            self._note(self._index(event), "YAML_KEY", "this key is empty")
        return str(event.value)

    def _alias(self, event: Any) -> Any:
        known = self._anchors.get(event.anchor, ())
        if known is None:
            self._note(self._index(event), "YAML_ALIAS", f"the alias *{event.anchor[:60]} contains itself")
            raise _Stop
        if not known:
            self._note(
                self._index(event), "YAML_ALIAS", f"the alias *{event.anchor[:60]} has no anchor before it"
            )
            raise _Stop
        value, size = known
        self._grow(size, event)
        return value

    def _grow(self, size: int, event: Any) -> None:
        self._count += size
        if self._count > VALUES:
            message = f"the document has more than {VALUES} values, counting what aliases repeat"
            self._note(self._index(event), "YAML_TOO_LARGE", message)
            raise _Stop

    def _scalar(self, event: Any) -> Any:
        text = str(event.value)
        if event.style not in (None, "") or not event.implicit[0]:
            return text
        if _NULL.fullmatch(text):
            return None
        truth = _BOOL.fullmatch(text)
        if truth:
            return truth["yes"] is not None
        if _INTEGER.fullmatch(text):
            number = int(text, 0 if text[:2] in ("0o", "0x") else 10) if len(text) < 32 else _LARGEST + 1
            if abs(number) <= _LARGEST:
                return number
            self._note(
                self._index(event),
                "YAML_NUMBER",
                "this number is too large",
                "put it in quotes if it is a text",
            )
            return None
        if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        if _NOT_FINITE.fullmatch(text) or _FLOAT.fullmatch(text):
            self._note(
                self._index(event),
                "YAML_NUMBER",
                "this number is not finite",
                "put it in quotes if it is a text",
            )
            return None
        return text

    # --- places

    def _syntax(self, error: Any) -> None:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        index = mark.index if mark is not None else getattr(error, "position", 0)
        index = index if isinstance(index, int) else 0
        if type(error).__name__ == "ReaderError":
            self._note(
                index,
                "YAML_CHARACTER",
                "this character is not allowed in YAML",
                "take out control characters",
            )
            return
        line = self._text[self._starts[self._row(index)] : index + 1]
        if "\t" in line[: len(line) - len(line.lstrip())] or line.endswith("\t"):
            self._note(index, "YAML_TAB", "YAML is not indented with tabs", "use spaces")
            return
        problem = getattr(error, "problem", None) or "this YAML cannot be read"
        self._note(index, "YAML_SYNTAX", str(problem).partition("\n")[0][:200])

    @staticmethod
    def _index(event: Any) -> int:
        index: int = event.start_mark.index
        return index

    def _row(self, index: int) -> int:
        return max(bisect_right(self._starts, index) - 1, 0)

    def _position(self, index: int) -> FieldPosition:
        row = self._row(index)
        return FieldPosition(self._source.first.line + row, index - self._starts[row] + 1)

    def _note(self, index: int, rule: str, message: str, hint: str | None = None) -> None:
        place = self._position(index)
        self.problems.append(Problem(self._source.path, place.line, place.column, rule, message, hint))
