"""From the verdict on a stream to what `operable` says of it: an event, a closing word, a structured error.

An error of our own is made only where the stream did not explain its failure itself: a reader of `NOT_FOUND` from the
tool needs no second error that says that the tool failed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from operable.cli.call.events import Counts, VerdictEvent
from operable.kernel.errors import Fail
from operable.run.failure import STDERR_LIMIT
from operable.run.failure import failure as failed
from operable.run.session import Stage
from operable.tool import Warn
from operable.wire.framework import Event, Open, encode
from operable.wire.verdict import Verdict

_ACCEPT = "--accept-partial accepts partial results"
_HINTS = {
    "PARTIAL": _ACCEPT,
    "SCHEMA_VIOLATION": "without --validate, events are not checked against the tool's schema",
    "DEADLINE_EXCEEDED": "raise --timeout",
    "EXIT0_WITHOUT_SUMMARY": "judge an endless stream with --unbounded",
    "DOUBTFUL": "without --strict, a doubt is a note in the verdict",
    "LINE_TOO_LONG": "write larger values to a file, and send its path",
}
# What a tool does that was not made for machines, or does not know the option that was added to its words.
_NOT_AOI = ("NOT_JSON", "BLANK_LINE", "NOT_AN_OBJECT", "NO_TYPE", "NEVER_STARTED", "EXIT0_WITHOUT_SUMMARY")


CHUNK = 64 * 1024
# The largest published schemas of command-line tools are below 2 MB.
_SCHEMA_LIMIT = 16 * 1024 * 1024


def as_event(
    verdict: Verdict, source: str, *, stage: int | None = None, ran: Stage | None = None
) -> VerdictEvent:
    """The typed event; `ran` adds what only a process has."""
    meta = plain(verdict.meta)
    stderr = ran.stderr.strip()[-STDERR_LIMIT:] if ran is not None and not ran.ok else ""
    return VerdictEvent(
        source=source,
        stage=stage,
        outcome=verdict.outcome,
        ok=verdict.ok if ran is None else ran.ok,
        code=verdict.code,
        reason=verdict.reason,
        line=verdict.line,
        exit_status=verdict.exit_status,
        exit_code=verdict.exit_code,
        counts=Counts(**msgspec.structs.asdict(verdict.counts)),
        summary=plain(verdict.summary) or None,
        error=plain(verdict.last_error) or None,
        stderr=stderr or None,
        elapsed_ms=None if ran is None else round(ran.elapsed * 1000),
        **{
            name: meta.get(name)
            for name in ("tool", "tool_version", "schema_name", "schema_version", "command")
        },
    )


def as_fields(event: VerdictEvent) -> dict[str, Any]:
    """The same for the summary of a relay: without what is absent, and with the counts written out."""
    fields = {name: value for name, value in event.to_dict().items() if name != "type" and value is not None}
    return fields | {"counts": event.counts.to_dict()}


def plain(event: Event | None) -> dict[str, Any]:
    """An event as it was sent, without its type."""
    if event is None:
        return {}
    fields: dict[str, Any] = msgspec.json.decode(encode(event)) if isinstance(event, Open) else dict(event)  # type: ignore[arg-type]
    fields.pop("type", None)
    return fields


def failure(verdict: Verdict, source: str, stderr: str = "", **more: Any) -> Fail:
    """The structured error for a stream that is not ok, with what to do about it on the command line."""
    code = verdict.code
    hint = _HINTS.get(code) if explained(verdict) or code not in _NOT_AOI else _not_aoi(source)
    return failed(verdict, source, stderr, hint=hint, **more)


def explained(verdict: Verdict) -> bool:
    """Whether the stream is an AOI stream at all."""
    return verdict.meta is not None or verdict.counts.events > 0


def closing_word(verdict: Verdict, source: str) -> str:
    """The verdict for people."""
    return f"{source}: {verdict.outcome}. {verdict.reason}"


def _not_aoi(source: str) -> str:
    return f"is {source} a tool with a machine mode? See its --help; --exact calls it without adding --output jsonl"


# What `operable check` does: read a stream from a file or from standard input, and report its verdict.


def reported(verdict: Verdict, name: str) -> Iterator[VerdictEvent]:
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
    from operable.run.discovery import ToolSource, describe

    description = describe(ToolSource((tool,)))
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
