"""Marks what a program has lost before it printed it: where it writes U+FFFD itself for bytes that are not UTF-8.

JSON is text, and many programs (those in Go, Rust and JavaScript above all) put U+FFFD where a name, a message or an output
is none. The bytes cannot be got back from that, and two names may look like one. A wrapper of such a program says so
(CLI.md: `metadata.operable.replaces`); then each event with U+FFFD in a text that has no bytes beside it carries
`lossy: true`, and a warning UPSTREAM_LOSSY comes before the first. A text that really contains U+FFFD is marked as well:
the output does not show it.
"""

from __future__ import annotations

from operable.tool.declare.framework import Change, FrameworkNotice, Warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any

_REPLACED = "\ufffd"


def marked(rows: Iterable[Any], program: str) -> Generator[Any, None, None]:
    """The rows one by one; what may have lost something says so."""
    told = False
    try:
        for row in rows:
            for one in row if row.__class__ is list else (row,):
                fields = _fields(one)
                if fields is not None and _is_replaced(fields):
                    if not told:
                        told = True
                        yield _warning(program)
                    fields["lossy"] = True
                yield one
    finally:
        close = getattr(rows, "close", None)
        if close is not None:
            close()  # a program may be running behind them


def _fields(row: Any) -> dict[str, Any] | None:
    """What a row says: an event, or a planned change; other notices are words for people."""
    if isinstance(row, FrameworkNotice):
        return row.fields if isinstance(row, Change) else None
    return row if isinstance(row, dict) else None


def _is_replaced(value: Any) -> bool:
    """Whether U+FFFD is anywhere in it without the bytes beside it. Without recursion: a value may be deep."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if value.__class__ is str:
            if _REPLACED in value:
                return True
        elif value.__class__ is list:
            waiting += value
        elif value.__class__ is dict:
            waiting += value.keys()
            waiting += [inner for name, inner in value.items() if f"{name}_b64" not in value]
    return False


def _warning(program: str) -> Warn:
    message = f"{program} writes U+FFFD for bytes that are not UTF-8: a name with `lossy` may be different in reality"
    return Warn("UPSTREAM_LOSSY", message, source=program)
