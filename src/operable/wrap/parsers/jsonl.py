"""`jsonl`: one JSON value a line, as `cargo --message-format=json`, `ruff --output-format json-lines` and many others print.

Each object becomes an event by the rules of `operable.wrap.mapping`. A line that is not JSON becomes a warning
UPSTREAM_NON_JSON; after the program's own end marker, what follows is the output of what it ran, and is left out likewise.
"""

from __future__ import annotations

from operable.wire.lines import split_lines
from operable.wrap.mapping import mapper
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from operable.wrap.upstream import Upstream


def _parse(upstream: Upstream, rules: Mapping[str, Any]) -> Iterator[Any]:
    mapped = mapper(upstream, rules)
    for block in upstream.blocks():
        rows: list[Any] = []
        lines, rest = split_lines(block)
        for index, line in enumerate((*lines, rest)):
            if not line or line.isspace():
                continue
            try:
                if upstream.complete is not None:
                    raise ValueError  # behind the end marker nothing is the program's own word, whatever it looks like
                value = decode(line)
            except ValueError:
                if rows:
                    yield rows
                    rows = []
                yield upstream.foreign_line(line)
                if index == len(lines):
                    upstream.cut_off()  # a last line without its end: the program stopped in the middle of it
                continue
            for event in mapped(value):
                if event.__class__ is dict:
                    rows.append(event)
                else:
                    yield event
        if rows:
            yield rows


PARSER = _parse
