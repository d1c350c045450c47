"""The events of `operable upstream …`."""

from __future__ import annotations

from operable.tool import Event


class UpstreamEvent(Event, type="upstream"):
    """One MCP server that is offered under the gate."""

    name: str
    place: str  # its command line, or its address
    tools: list[str]
    trusts_hints: bool  # whether what it says about its tools counts
    secrets: list[str]  # the variables or headers that it is given
    digest: str  # of all that was approved


class UpstreamRemoved(Event):
    """A server that is no longer offered."""

    id: str  # what its tools were called in rules: mcp/NAME
    name: str
