"""`grep --null --line-number --byte-offset`: name, NUL, two numbers with colons, text, line end; read in this order, so that
neither a name with a line end nor a text with colons can be taken for anything else.
"""

from __future__ import annotations

from operable.wrap.fields import put
from operable.wrap.upstream import RECORD_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def search(upstream: Upstream) -> Iterator[Any]:
    rest = b""
    for chunk in upstream.chunks():
        data, place, rows = rest + chunk, 0, []
        while True:
            name_end = data.find(b"\0", place)
            line_end = data.find(b"\n", name_end + 1) if name_end >= 0 else -1
            if line_end < 0:
                break
            number, offset, text = data[name_end + 1 : line_end].split(b":", 2)
            event: dict[str, Any] = {
                "type": "match",
                "line_number": int(number),
                "absolute_offset": int(offset),
            }
            put(event, "path", data[place:name_end])
            put(event, "text", text)
            rows.append(event)
            place = line_end + 1
        rest = data[place:]
        if len(rest) > RECORD_LIMIT:
            raise upstream.too_long(RECORD_LIMIT)
        if rows:
            yield rows
    if rest:
        upstream.cut_off()
