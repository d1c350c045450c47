"""`rg --json`, decoded into typed values by msgspec: a bridge that spends its time on what it keeps.

Blocks of lines are decoded at once. Only where that fails, the lines are looked at one by one, so that a line that is not
JSON is separated and the others are not lost.
"""

from __future__ import annotations

from binascii import a2b_base64
from typing import Any

import msgspec

from operable.tool.framework import Warn
from operable.wrap.upstream import Upstream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class _Text(msgspec.Struct, gc=False):
    text: str | None = None
    bytes: str | None = None


class _Submatch(msgspec.Struct, gc=False):
    match: _Text
    start: int
    end: int


class _Lines(msgspec.Struct, gc=False):
    path: _Text
    lines: _Text
    absolute_offset: int
    line_number: int | None = None
    submatches: list[_Submatch] = []


class _Match(msgspec.Struct, tag="match", tag_field="type", gc=False):
    data: _Lines


class _Context(msgspec.Struct, tag="context", tag_field="type", gc=False):
    data: _Lines


class _Begin(msgspec.Struct, tag="begin", tag_field="type", gc=False):
    pass


class _Ended(msgspec.Struct, gc=False):
    path: _Text
    binary_offset: int | None = None


class _End(msgspec.Struct, tag="end", tag_field="type", gc=False):
    data: _Ended


class _Summary(msgspec.Struct, tag="summary", tag_field="type", gc=False):
    pass


_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Match | _Context | _Begin | _End | _Summary)


def search(upstream: Upstream) -> Iterator[Any]:
    if not upstream.inputs["unsorted"]:  # in one thread: a cursor needs an order
        upstream.command = upstream.command.replace(argv=["--sort=path", *upstream.command.argv])
    for block in upstream.blocks():
        try:
            messages = _DECODER.decode_lines(block)
        except (msgspec.DecodeError, UnicodeDecodeError):
            messages = []
            for line in block.split(b"\n"):
                try:
                    if line:
                        messages.append(_DECODER.decode(line))
                except (msgspec.DecodeError, UnicodeDecodeError):
                    yield upstream.foreign_line(line)
        binary: list[_Ended] = []
        rows = _rows(messages, upstream, binary)
        del messages
        if rows:
            yield rows
        del rows  # the next block is decoded in the memory of this one, which the caches still have
        yield from map(_binary, binary)


def _binary(ended: _Ended) -> Warn:
    """Behind a NUL byte rg stops, or takes each for the end of a line: no text, and no number of a line, is exact there."""
    seen: dict[str, Any] = {"path": ended.path.text, "offset": ended.binary_offset}
    if ended.path.text is None:
        seen |= {"path": _lossy(ended.path), "path_b64": ended.path.bytes}
    return Warn(
        "BINARY_FILE", "a file has a NUL byte: what matches behind it is not exact, or missing", **seen
    )


def _rows(messages: list[Any], upstream: Upstream, binary: list[_Ended]) -> list[dict[str, Any]]:
    """The rows of these messages; into `binary`, files that are not text."""
    rows = []
    for message in messages:
        kind = message.__class__
        if kind is _Match or kind is _Context:
            data = message.data
            event = {
                "type": "match",
                "path": data.path.text,
                "line_number": data.line_number,
                "absolute_offset": data.absolute_offset,
                "text": data.lines.text,
            }
            if kind is _Match:
                event["submatches"] = submatches = []
                for one in data.submatches:  # a comprehension would be one more call for each row
                    text = one.match.text or _lossy(one.match)
                    submatches.append({"start": one.start, "end": one.end, "text": text})
            else:
                event["type"] = "context"
            if data.path.text is None:
                event["path"], event["path_b64"] = _lossy(data.path), data.path.bytes
            if data.lines.text is None:
                event["text"], event["text_b64"] = _lossy(data.lines), data.lines.bytes
            rows.append(event)
        elif kind is _End:
            if message.data.binary_offset is not None:
                binary.append(message.data)
        elif kind is _Summary:
            upstream.complete = True
    return rows


def _lossy(text: _Text) -> str:
    return a2b_base64(text.bytes or "").decode("utf-8", "replace")
