"""JSON values out of bytes: strictly, exactly, and out of any chunks.

`decode` reads one value. Programs in C (`ip`, `lsblk`) write names as they are into their JSON, whether these are UTF-8 or
not, and control characters too; such an object is read nevertheless, with the bytes beside the text. `Values` finds where
values begin and end in a stream of them (pretty-printed objects one after another, as `kubectl -w` prints them) or inside
one long array, without waiting for its end: every byte is looked at once, and only the value in hand is kept.
"""

from __future__ import annotations

import re
from typing import Any

from operable.wrap.fields import base64, put

# What matters outside of a string, and inside of one.
_OUTSIDE = re.compile(rb'["\[\]{},]')
_INSIDE = re.compile(rb'["\\]')


# An escape that looks like the placeholder of a byte that is not UTF-8.
_AMBIGUOUS = re.compile(rb"\\u[dD][cC]")


def decode(raw: bytes) -> Any:
    """One JSON value; Raises ValueError if it is not JSON, or cannot be written exactly (an infinite number, a key that
    is not UTF-8).

    A text that is not UTF-8 comes with U+FFFD in it, and `<key>_b64` beside it.
    """
    import msgspec

    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if raw[:1] in (b"{", b"["):
            return _decode_raw(raw)
        raise ValueError(str(error)) from error


def _decode_raw(raw: bytes) -> Any:
    """An object or array with raw bytes and control characters in its texts."""
    from operable.kernel.json import parse

    if _AMBIGUOUS.search(raw):
        raise ValueError("a lone surrogate is not text")
    try:
        return _reported(parse(raw.decode("utf-8", "surrogateescape"), levels=None, control_characters=True))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _reported(value: Any) -> Any:
    """The same value, with the bytes beside each text that is not UTF-8."""
    if value.__class__ is list:
        if any(item.__class__ is str and _is_odd(item) for item in value):
            raise ValueError("bytes that are not UTF-8 where no field can be beside them")
        return [_reported(item) for item in value]
    if value.__class__ is not dict:
        return value
    event: dict[str, Any] = {}
    for name, inner in value.items():
        name.encode("utf-8")  # UnicodeEncodeError is a ValueError
        if inner.__class__ is str and _is_odd(inner):
            put(event, name, inner.encode("utf-8", "surrogateescape"))
        elif inner.__class__ is list and any(item.__class__ is str and _is_odd(item) for item in inner):
            if any(item.__class__ is not str for item in inner):
                raise ValueError("bytes that are not UTF-8 in a list of several kinds")
            raws = [item.encode("utf-8", "surrogateescape") for item in inner]
            event[name] = [item.decode("utf-8", "replace") for item in raws]
            event[f"{name}_b64"] = [base64(item) for item in raws]
        else:
            event[name] = _reported(inner)
    return event


def _is_odd(text: str) -> bool:
    return not text.isascii() and any("\udc80" <= letter <= "\udcff" for letter in text)


class Values:
    """Feed it chunks, get the bytes of complete values; with `inside`, the elements of top-level arrays."""

    def __init__(self, limit: int, *, inside: bool = True) -> None:
        self._limit = limit
        self._inside = inside
        self._depth = 0
        self._floor = 0  # the depth at which values are: 1 inside an array
        self._string = False
        self._skip = 0
        self._pieces: list[bytes] = []
        self._kept = 0
        self.arrays = 0  # how many top-level arrays were begun

    def feed(self, chunk: bytes) -> list[bytes]:
        """The values that this chunk completes. OverflowError for one that is longer than the limit."""
        found: list[bytes] = []
        start = position = 0
        if self._skip:
            position, self._skip = 1, 0
        while True:
            token = (_INSIDE if self._string else _OUTSIDE).search(chunk, position)
            if token is None:
                break
            letter, position = chunk[token.start()], token.end()
            if letter == 0x22:  # a quote
                self._string = not self._string
            elif letter == 0x5C:  # a backslash: the next byte means nothing
                if position == len(chunk):
                    self._skip = 1
                position += 1
            else:
                start = self._structure(letter, chunk, start, token.start(), found)
        self._keep(chunk[start:])
        return found

    def _structure(self, letter: int, chunk: bytes, start: int, place: int, found: list[bytes]) -> int:
        """A bracket or a comma at `place`; where the value in hand begins from here on."""
        if letter in b"[{":
            if letter == 0x5B and self._depth == 0 and self._inside:
                self._give(chunk[start:place], found)
                self._floor, self.arrays = 1, self.arrays + 1
                self._depth += 1
                return place + 1
            if self._depth == self._floor == 0:
                self._give(chunk[start:place], found)  # loose text before an object
                start = place
            self._depth += 1
            return start
        if letter == 0x2C:
            if self._floor and self._depth == 1:
                self._give(chunk[start:place], found)
                return place + 1
            return start
        self._depth = max(0, self._depth - 1)
        if self._floor and self._depth == 0:  # the end of the array
            self._give(chunk[start:place], found)
            self._floor = 0
            return place + 1
        if self._depth == 0:
            self._give(chunk[start : place + 1], found)
            return place + 1
        return start

    def eof(self) -> tuple[list[bytes], bool]:
        """What is left, and whether it is whole: False when an array, an object or a string was never closed."""
        found: list[bytes] = []
        whole = not self._depth and not self._string
        self._give(b"", found)
        return found, whole

    def _give(self, last: bytes, found: list[bytes]) -> None:
        self._pieces.append(last)
        value = b"".join(self._pieces).strip()
        self._pieces, self._kept = [], 0
        if value:
            found.append(value)

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._pieces.append(piece)
            self._kept += len(piece)
            if self._kept > self._limit:
                raise OverflowError
