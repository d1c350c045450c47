"""The schema of what a command gives, from what its tool says of its events: for clients that read results by type.

A tool has one schema for all of its events; a command names those that it emits. Those alone are taken, with the
definitions that they refer to. A tool that names no events, names one that it does not define, or whose definitions are
larger than a client should be given, has no schema here: nothing is promised for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# Characters of one schema: about 2,000 tokens. A model is given the schemas of all tools at once.
LIMIT = 8000
# What every stream has besides its results; of these a caller gets fields of its own.
_ABOUT_THE_STREAM = frozenset("aoi:meta aoi:summary aoi:warning aoi:error aoi:progress aoi:heartbeat".split())
_REFERENCE = "#/$defs/"
_LEVELS = 40
_WORDS = ("description", "title")
_VALUES = ("const", "enum", "default", "examples")  # of these nothing is a schema


def result_types(event_types: object) -> tuple[str, ...]:
    """The types of results among those that a command declares; empty: it does not say."""
    if not isinstance(event_types, list):
        return ()
    return tuple(each for each in event_types if isinstance(each, str) and each not in _ABOUT_THE_STREAM)


def entry_schema(document: Mapping[str, Any] | None, types: Iterable[str]) -> dict[str, Any] | None:
    """The schema of one result of these types, with the definitions that it needs; None if nothing can be promised."""
    defined = document.get("$defs") if document is not None else None
    types = tuple(types)
    if not isinstance(defined, dict) or not types or not all(isinstance(defined.get(n), dict) for n in types):
        return None
    try:
        needed = _reached(defined, types)
    except (KeyError, RecursionError):
        return None
    schema: dict[str, Any] = {"anyOf": [{"$ref": f"{_REFERENCE}{name}"} for name in types]}
    schema["$defs"] = {name: _without_words(defined[name]) for name in sorted(needed)}
    return schema if len(json.dumps(schema)) <= LIMIT else None


def _without_words(value: Any) -> Any:
    """A schema without its descriptions: types are what a reader of results needs, and words are most of the size."""
    if isinstance(value, list):
        return [_without_words(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: each if name in _VALUES else _without_words(each)
        for name, each in value.items()
        if not (name in _WORDS and isinstance(each, str))
    }


def _reached(defined: Mapping[str, Any], types: Iterable[str]) -> set[str]:
    """The names of these definitions and of those that they refer to. Raises KeyError for a reference to anything else."""
    found: set[str] = set()
    waiting = list(types)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _references(defined[name], _LEVELS)
    return found


def _references(value: Any, levels: int) -> Iterator[str]:
    if levels == 0:
        raise RecursionError
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            if not reference.startswith(_REFERENCE):
                raise KeyError(reference)
            yield reference.removeprefix(_REFERENCE)
        for each in value.values():
            yield from _references(each, levels - 1)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each, levels - 1)
