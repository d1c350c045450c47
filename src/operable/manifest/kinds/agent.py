"""AGENT.md: an agent as others know it, bound to the program that plays it, with the agents it may delegate to (AIP-46).

Only the part that the delegation gate of sessions needs: which adapter (AGENT-CLI.md) the agent runs in, with what mode,
model and options, and the closed list of agents that its sessions may start. The body is for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from operable.manifest.blocks import Block
from operable.manifest.kind import Kind


class AgentBinding(Block, frozen=True, kw_only=True):
    """One agent. `delegates_to` are slugs of others; nothing listed means that it delegates to none."""

    name: str
    id: str
    description: str
    version: str
    adapter: str
    mode: str | None = None
    model: str | None = None
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    delegates_to: tuple[str, ...] = ()
    max_depth: int | None = None
    max_children: int | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)


def _recognise(data: Mapping[str, Any]) -> bool:
    return "delegates_to" in data and "bin" not in data


KIND = Kind(
    name="agent",
    file_name="AGENT.md",
    schema="manifest-agent",
    model=AgentBinding,
    summary="An agent: the adapter that it runs in, and the agents that it may delegate to.",
    recognise=_recognise,
)
