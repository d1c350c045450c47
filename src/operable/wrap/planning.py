"""A planned change of a wrapped command: what is shown of it, and the inputs that the second phase needs.

The inputs are shown redacted, as part of what is confirmed; the program gets them as they were given.
"""

from __future__ import annotations

from typing import Any

from operable.kernel.redact import redact_value
from operable.tool.framework import Change


class PlannedChange(Change):
    """A change that remembers the inputs of its call."""

    __slots__ = ("given",)

    def __init__(self, change: Change, given: dict[str, Any]) -> None:
        details = {
            name: value for name, value in change.fields.items() if name not in ("type", "action", "target")
        }
        shown = redact_value({name: value for name, value in given.items() if value not in (None, False, [])})
        super().__init__(change.action, change.fields.get("target"), **details, input=shown)
        self.given = given


def planned_change(item: Any, given: dict[str, Any]) -> Any:
    """What a planning function yields: a change gets its inputs, a notice passes."""
    return PlannedChange(item, given) if isinstance(item, Change) else item
