"""`grep --null --line-number --byte-offset`: name, NUL, two numbers with colons, text, line end; read in this order, so that
neither a name with a line end nor a text with colons can be taken for anything else.

grep is made to treat every file as text (`--text`): otherwise it would leave out a file with one letter that is not UTF-8,
and say nothing. Lines with a NUL byte, which no text has, are left out here, and so is a line that is too long; a warning
says how many, and where.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.wrap.fields import put
from operable.wrap.upstream import RECORD_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# So many files with lines that are not text are named.
_NAMED = 10


def search(upstream: Upstream) -> Iterator[Any]:
    left_out: dict[bytes, int] = {}
    rest, skips = b"", False
    pieces: list[bytes] = []  # of a line that goes on: joined once, when it ends
    held = 0
    for chunk in upstream.chunks(_words(upstream)):
        held += len(chunk)
        pieces.append(chunk)
        if b"\n" not in chunk and held <= RECORD_LIMIT:
            continue
        data, place, rows = b"".join(pieces), 0, []
        if skips:  # inside a line that is too long: whatever it contains, it ends at a line end
            _, ended, data = data.partition(b"\n")
            skips = not ended
        while True:
            name_end = data.find(b"\0", place)
            line_end = data.find(b"\n", name_end + 1) if name_end >= 0 else -1
            if line_end < 0:
                break
            name, line = data[place:name_end], data[name_end + 1 : line_end]
            if b"\0" in line:
                left_out[name] = left_out.get(name, 0) + 1
            else:
                rows.append(_match(name, line))
            place = line_end + 1
        rest = data[place:]
        if len(rest) > RECORD_LIMIT:
            name, found, _ = rest.partition(b"\0")
            if not found:
                raise upstream.too_long(RECORD_LIMIT)
            left_out[name] = left_out.get(name, 0) + 1
            rest, skips = b"", True
        pieces, held = [rest], len(rest)
        if rows:
            yield rows
    if held or skips:
        upstream.cut_off()
    if left_out:
        yield _warning(left_out)


def _words(upstream: Upstream) -> list[str]:
    inputs = upstream.inputs
    if not inputs["paths"] and not inputs["recursive"]:
        raise Fail(
            "usage", "MISSING_OPERAND", "there is nothing to search", hint="name files, or give --recursive"
        )
    # Not in the manifest: grep refuses both this and `--fixed-strings`.
    return upstream.words() if inputs["fixed"] else ["--extended-regexp", *upstream.words()]


def _match(name: bytes, line: bytes) -> dict[str, Any]:
    number, offset, text = line.split(b":", 2)
    event: dict[str, Any] = {"type": "match", "line_number": int(number), "absolute_offset": int(offset)}
    put(event, "path", name)
    put(event, "text", text)
    return event


def _warning(left_out: dict[bytes, int]) -> Any:
    from operable.tool.framework import Warn

    number, files_number = sum(left_out.values()), len(left_out)
    message = f"{number} lines match that are not text, or longer than {RECORD_LIMIT} bytes, in {files_number} files"
    files = []
    for name in list(left_out)[:_NAMED]:
        file: dict[str, Any] = {"lines": left_out[name]}
        put(file, "path", name)
        files.append(file)
    return Warn("BINARY_LEFT_OUT", message, files=files)
