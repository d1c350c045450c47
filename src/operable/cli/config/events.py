"""The events of `operable config …`."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False


class ConfigValue(Event):
    """One thing that is configured, and where. `why` it does not count; empty: it does."""

    key: str
    value: str
    source: str
    counts: bool
    why: str


class ConfigApproval(Event):
    """The configuration of a project that counts, or does no longer."""

    project: str
    approved: bool
    digest: str
    files: list[str]
