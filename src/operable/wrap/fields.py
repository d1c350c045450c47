"""Bytes of the outside world as fields of an event: lossless, whatever they are.

A name, a message or a title is bytes. Where they are UTF-8, the field is the text. Where they are not, the field is the text
with U+FFFD for what cannot be read, and beside it is `<name>_b64` with the bytes themselves: readers need not guess
which text is exact, because only the others have that second field.
"""

from __future__ import annotations

from binascii import b2a_base64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def put(event: dict[str, Any], name: str, raw: bytes) -> None:
    """Set a field from bytes."""
    try:
        event[name] = raw.decode("utf-8")
    except UnicodeDecodeError:
        event[name] = raw.decode("utf-8", "replace")
        event[f"{name}_b64"] = base64(raw)


def put_path(event: dict[str, Any], name: str, text: str) -> None:
    """Set a field from a path as Python has it, with surrogates for bytes that are not UTF-8."""
    if text.isascii():
        event[name] = text
        return
    try:
        text.encode("utf-8")
        event[name] = text
    except UnicodeEncodeError:
        put(event, name, text.encode("utf-8", "surrogateescape"))


def base64(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).decode("ascii")
