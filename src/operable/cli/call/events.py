"""The events of the `operable` command. What `run`, `record` and `pipe` pass on is described by the tools it comes from."""

from __future__ import annotations

from operable.tool import Event, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class Counts(Record):
    """How many events were read; `domain` are those that are not the framework's."""

    events: int
    domain: int
    warnings: int
    errors: int


class VerdictEvent(Event, type="verdict"):
    """How one stream is judged."""

    source: str  # the file, `-` for standard input, or the tool
    stage: int | None = None  # its place in a pipeline, from 1
    outcome: Literal["success", "partial", "failed", "interrupted", "incomplete", "violation"]
    ok: bool  # success, or partial results that were asked for
    code: str
    reason: str
    line: int | None = None  # the line that decided, from 1
    exit_status: int | None = None  # as it was; negative: ended by that signal
    exit_code: int  # what follows from it for a relay of the stream
    counts: Counts
    tool: str | None = None  # who it says it is
    tool_version: str | None = None
    schema_name: str | None = None
    schema_version: str | None = None
    command: str | None = None
    summary: dict[str, Any] | None = None  # its own last word
    error: dict[str, Any] | None = None  # the last of its errors
    stderr: str | None = None  # the end of what it wrote there, redacted; only when it is not ok
    elapsed_ms: int | None = None


class DifferenceEvent(Event, type="difference"):
    """One reason why two releases of a tool are not the same to their callers."""

    level: Literal["compatible", "minor", "breaking"]
    code: str
    where: str  # a command, an event type, or a path below one
    message: str


class ComparisonEvent(Event, type="comparison"):
    """How two releases of a tool compare."""

    level: Literal["compatible", "minor", "breaking"]
    ok: bool  # below the level that was to fail
    breaking: int  # how many differences are
    minor: int
    old: str
    new: str
    old_version: str | None = None  # of the event schema
    new_version: str | None = None
