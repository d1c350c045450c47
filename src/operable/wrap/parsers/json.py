"""`json`: one JSON document, or several one after another: arrays, pretty-printed objects, `kubectl -w`.

Each element of a top-level array, and each top-level object, becomes an event by the rules of `operable.wrap.mapping` as
soon as it is complete. With `each: packages`, the events are the elements of that list in a single object, which is then
read as a whole. Text between the values becomes a warning UPSTREAM_NON_JSON; a value that is never closed makes the
stream incomplete.
"""

from __future__ import annotations

from operable.wrap.mapping import at, mapper
from operable.wrap.upstream import RECORD_LIMIT
from operable.wrap.values import Values, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from operable.wrap.upstream import Upstream


def _parse(upstream: Upstream, rules: Mapping[str, Any]) -> Iterator[Any]:
    mapped = mapper(upstream, rules)
    each = rules.get("each")
    values = Values(RECORD_LIMIT, inside=each is None)
    for raw in _raw(upstream, values):
        try:
            value = decode(raw)
        except ValueError:
            yield upstream.foreign_line(raw)
            continue
        inner = value if each is None else at(value, each)
        if each is not None and inner.__class__ is list:
            for element in inner:
                yield from mapped(element)
        else:
            yield from mapped(value)


def _raw(upstream: Upstream, values: Values) -> Iterator[bytes]:
    try:
        for chunk in upstream.chunks():
            yield from values.feed(chunk)
    except OverflowError:
        raise upstream.too_long(RECORD_LIMIT) from None
    rest, whole = values.eof()
    if not whole:
        upstream.cut_off()
        return
    yield from rest


PARSER = _parse
