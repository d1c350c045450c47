"""The events of `operable catalog` and `operable mcp`."""

from __future__ import annotations

from operable.tool import Event, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class OperableCommand(Record):
    """One command of an operable thing, as its owner declares it."""

    name: str
    summary: str
    read_only: bool
    destructive: bool
    confirm: bool  # it needs the user's confirmation
    idempotent: bool
    unbounded: bool
    enforced_by: str  # what enforces `read_only`; empty: that is its owner's word
    needs: dict[str, str]  # what it needs although it changes nothing, and why
    project_code: str  # code of the project that it runs; empty: none


class OperableEvent(Event, type="operable"):
    """One thing on this machine that can be operated."""

    kind: Literal["agent", "app", "flow", "mcp", "tool", "wrap"]
    name: str
    version: str
    description: str
    place: str
    commands: list[OperableCommand]
    capabilities: list[str]  # what it or any of its commands can do: dry-run, cursor, confirm, streaming, …
    risk: Literal["read-only", "changes", "destructive", "unknown"]  # the worst of its commands
    auth: str  # none, required; authed, unauthed, unknown: the state of the login that it needs
    health: Literal["ok", "missing", "broken", "unapproved", "unknown"]
    problem: str | None = None


class CallEntry(Event):
    """One result of a call, as its owner gave it."""

    value: Any


class McpToolEvent(Event, type="mcp_tool"):
    """One command as MCP clients see it."""

    name: str
    kind: Literal["agent", "app", "flow", "mcp", "tool", "wrap"]
    operable: str
    command: str
    description: str
    read_only: bool
    destructive: bool  # what it does cannot be undone, or is not known: each call needs an approval
    idempotent: bool
    enforced_by: str  # what enforces `read_only`; empty: that is its owner's word


class McpServing(Event):
    """Where the server is, from now until it is stopped."""

    url: str
    token_file: str  # what it contains goes into the header Authorization, after `Bearer`
