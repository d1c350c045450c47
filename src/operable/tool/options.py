"""What can be said about a command, for type checkers and readers: the keyword arguments of `@tool.command(...)`.

Never imported at run time: `declare` takes the same names from a plain dictionary, because `typing` costs half a start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class CommandOptions(TypedDict, total=False):
    """The options of a command. All are optional."""

    mutates: bool
    """It changes something: the function yields the plan, and its `apply` function does it."""
    destructive: bool
    """It destroys something, so it mutates and needs --confirm."""
    bulk: bool
    """It may destroy many things at once; more than one needs --confirm-count or the digest of a dry run."""
    unbounded: bool
    """Its stream has no end of its own: heartbeats, no deadline, no default limit."""
    heartbeat: float
    """Seconds between two heartbeats of a quiet unbounded stream (15)."""
    limit: int | None
    """How many results it shows unless --limit says otherwise (100 for a command that reads; None: all)."""
    cursor: str | Sequence[str]
    """The field, or fields, of its events that say where to go on: makes --cursor and `page.after`."""
    timeout: float | None
    """Seconds before it is ended unless --timeout says otherwise (300; None: never)."""
    grace: float | None
    """Of a command that runs other programs and holds the deadline itself: seconds that ending those may take."""
    runs_tools: bool
    """It runs other programs, whose effects are not known here."""
    short: Mapping[str, str]
    """Letters for options: {"o": "to"} makes -o the same as --to."""
    examples: Sequence[str]
    """Command lines without the tool's name; shown by --help and capabilities, and parsed by the tests."""
    secrets: Sequence[str]
    """Parameters that hold secrets although their names do not say so."""
    auth: dict[str, Any] | None
    """What authentication it needs, when that differs from the tool's."""
    max_plan: int
    """How many changes a plan may have (100,000)."""
    columns: Sequence[str]
    """The fields that people see in the table, in this order."""
    document: bool
    """It answers with one document (discovery); `--output json` prints it alone."""
    has_results: bool
    """It has results that can be limited (a command that reads has; one that mutates or answers with a document has not)."""
    hidden: bool
    """It is not listed."""
