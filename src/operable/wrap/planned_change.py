"""A planned change of a wrapped command: what is shown of it, and the inputs that the second phase needs.

The inputs are shown redacted, as part of what is confirmed; the program gets them as they were given. A path that is
not UTF-8 is shown as everywhere: as text with U+FFFD in it, and as `<name>_b64` beside it.
"""

from __future__ import annotations

from typing import Any

from operable.kernel.redact import redact_value
from operable.tool.declare.framework import Change
from operable.wrap.fields import base64, put_path


def planned_change(item: Any, given: dict[str, Any]) -> Any:
    """What a planning function yields: a change gets its inputs, a notice passes."""
    if not isinstance(item, Change):
        return item
    shown = redact_value({name: value for name, value in given.items() if value not in (None, False, [])})
    fields = _told(item.fields)
    details = {name: value for name, value in fields.items() if name not in ("type", "action", "target")}
    return Change(item.action, fields.get("target"), **details, input=_told(shown)).carry(given)


def _told(fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields, with the bytes of each path that is not UTF-8 beside it."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, str):
            put_path(found, name, value)
        elif isinstance(value, list) and any(isinstance(one, str) and not _is_text(one) for one in value):
            raws = [str(one).encode("utf-8", "surrogateescape") for one in value]
            found[name] = [raw.decode("utf-8", "replace") for raw in raws]
            found[f"{name}_b64"] = [base64(raw) for raw in raws]
        else:
            found[name] = value
    return found


def _is_text(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
