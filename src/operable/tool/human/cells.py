"""A value as text for people, with nothing in it that could act on a terminal.

At a terminal some values are read more easily than in a file: a moment is a distance from now, or local time; a size has its
unit; a state has a sign. What goes into a pipe keeps the moment, the number and the word as they are.
"""

from __future__ import annotations

import time

from operable.tool.records import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SCALAR = str | int | float | None
# What ends a value, or begins the next one: a text with one of them is quoted.
_SIGNS = frozenset(",=\"'")
# Fields that say how something is, and the sign of what they can say. Other words of theirs have no sign.
_STATES = frozenset({"health", "ok", "outcome", "proven", "state", "status", "verified"})
_GOOD = frozenset({"completed", "enabled", "finished", "ok", "success", "succeeded", "yes"})
_BAD = frozenset(
    {"broken", "crashed", "dead", "error", "failed", "incomplete", "no", "rejected", "violation"}
)
_OPEN = frozenset(
    {"asking", "interrupted", "lost", "missing", "needs_you", "partial", "paused", "unapproved"}
)
SIGN_STYLES = {"✓": "green", "✗": "red", "!": "yellow"}
_DAY = 86_400
_SPANS = ((3600, "h"), (60, "min"), (1, "s"))


def cell(value: Any) -> str:
    """A value as one line of text. What has values inside is JSON, so that nothing in it can be mistaken."""
    if value is None:
        return ""
    if value is True or value is False:
        return "yes" if value else "no"
    text = str(value) if isinstance(value, _SCALAR) else json_text(value)
    return visible(text.replace("\n", " ").replace("\t", " "))


def table_cell(value: Any) -> str:
    """The same in a table, where a list of words and a simple object are shown without the signs of JSON."""
    if isinstance(value, list) and all(isinstance(each, _SCALAR) for each in value):
        return cell(", ".join(map(_plain, value)))
    if isinstance(value, dict) and all(isinstance(each, _SCALAR) for each in value.values()):
        return cell(" ".join(f"{_plain(name)}={_plain(each)}" for name, each in value.items()))
    return cell(value)


def terminal_cell(name: str, value: Any) -> str:
    """The same for a person who reads it now, in a column of this name."""
    text = table_cell(value)
    if name in _STATES:
        return f"{sign} {text}" if (sign := _sign(text)) else text
    if type(value) is int and (name in ("bytes", "size") or name.endswith("_bytes")):
        return size(value)
    if type(value) is str and value[4:5] == value[7:8] == "-" and value[10:11] == "T" and len(value) <= 35:
        return _moment(value) or text
    return text


def _sign(text: str) -> str:
    return "✓" if text in _GOOD else "✗" if text in _BAD else "!" if text in _OPEN else ""


def size(count: int) -> str:
    """A number of bytes in a unit that leaves three digits or fewer before the point: 512 B, 14.2 kB, 3.0 GB."""
    if abs(count) < 1000:
        return f"{count} B"
    amount = count / 1000
    for unit in ("kB", "MB", "GB"):
        if abs(amount) < 999.95:
            return f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def _moment(text: str) -> str:
    """A moment of ISO 8601 within a day as its distance from now, another one in local time; nothing if it is not one."""
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ""
    if moment.tzinfo is None:  # it may be meant as local time, or not
        return ""
    ahead = moment.timestamp() - time.time()
    if abs(ahead) >= _DAY:
        return moment.astimezone().strftime("%Y-%m-%d %H:%M")
    span, unit = next(((span, unit) for span, unit in _SPANS if abs(ahead) >= span), (1, "s"))
    distance = f"{abs(ahead) // span:.0f} {unit}"
    return f"in {distance}" if ahead > 0 else f"{distance} ago"


def _plain(value: Any) -> str:
    is_word = isinstance(value, str) and value.split() == [value] and _SIGNS.isdisjoint(value)
    return value if is_word else json_text(value)


def visible(text: str) -> str:
    """Text with nothing in it that could act on a terminal but line ends and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "·" for c in text)
