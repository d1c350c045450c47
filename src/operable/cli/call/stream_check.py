"""What `operable check` does: read a stream from a file or from standard input, and report its verdict."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from operable.cli.call.events import Verdict
from operable.cli.call.verdicts import as_event
from operable.kernel.errors import Fail
from operable.tool import Warn
from operable.wire.verdict import Verdict as Judgement

CHUNK = 64 * 1024
# The largest published schemas of command-line tools are below 2 MB.
_SCHEMA_LIMIT = 16 * 1024 * 1024


def told(verdict: Judgement, name: str) -> Iterator[Verdict]:
    """The verdict on one stream, after its remarks as warnings."""
    for note in verdict.notes:
        yield Warn(note.code, note.message, target=name, line_number=note.line)  # type: ignore[misc]
    yield as_event(verdict, name)


def published_schema(path: str | None, tool: str | None) -> dict[str, Any] | None:
    """The JSON Schema to check events against: from a file, or from the tool itself."""
    if path is not None and tool is not None:
        raise Fail("usage", "CONFLICTING_OPTIONS", "give either --schema or --tool, not both", hint="use one")
    if path is not None:
        return _from_file(path)
    if tool is None:
        return None
    from operable.run.discovery import Source, describe

    description = describe(Source((tool,)))
    if description.schema is None:
        raise Fail(
            "config",
            "SCHEMA_UNAVAILABLE",
            f"{tool} does not show its schema: {'; '.join(description.notes)}",
            target=tool,
            hint="--schema FILE",
        )
    return description.schema


def _from_file(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        data = file.read(_SCHEMA_LIMIT + 1)
    try:
        schema = msgspec.json.decode(data) if len(data) <= _SCHEMA_LIMIT else None
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict):
        raise Fail(
            "validation",
            "SCHEMA_INVALID",
            f"{path} is not a JSON Schema",
            target=path,
            hint="make one with: TOOL schema --output json",
        )
    return schema


def chunks(name: str) -> Iterator[bytes]:
    """A stream, piece by piece: of any length, and of a tool that is still running."""
    if name != "-":
        with open(name, "rb", buffering=0) as file:
            while chunk := file.read(CHUNK):
                yield chunk
        return
    from operable.tool.process import input_descriptor

    descriptor = input_descriptor()
    if os.isatty(descriptor):
        raise Fail(
            "usage",
            "NO_INPUT",
            "There is no stream to check",
            hint="operable check FILE, or: TOOL … | operable check",
        )
    while chunk := os.read(descriptor, CHUNK):
        yield chunk
