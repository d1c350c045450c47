"""The event with which discovery commands answer in a stream."""

from __future__ import annotations

from operable.tool.declare.records import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DiscoveryDocument(Event, type="discovery_document"):
    """A whole document as one event: what discovery commands answer with in a stream. The plain name is left to authors."""

    name: str
    content: Any
