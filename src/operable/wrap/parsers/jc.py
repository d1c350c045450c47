"""`jc`: the text of a program for people, read by a parser of the package jc: for the long tail that has no other form.

    parse: {kind: jc, parser: uptime}

What a table for people leaves out or mixes up cannot be got back: a name with a line end in it is two lines, a line that jc
does not know is gone. So the stream says so: a warning UPSTREAM_LOSSY comes first, and each event has `lossy: true`. Only
what jc reads of a format for machines (its parsers without the tag `command`: csv, ini-dup, x509-cert…) has neither, as long
as its bytes are UTF-8 and no name can come twice: of two values under one name, jc keeps one (ini, kv, csv).

A parser whose name ends in `_s` reads line by line, as the program prints; lines that it cannot read become warnings and are
counted.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.wrap.mapping import mapper
from operable.wrap.places import invalid
from operable.wrap.upstream import RECORD_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from operable.wrap.upstream import Upstream

_EXCERPT = 240
# Of what comes twice under one name these keep the last; of `csv` the columns are looked at.
_FORGETFUL = frozenset(("csv_s", "ini", "kv"))


def _parse(upstream: Upstream, rules: Mapping[str, Any]) -> Iterator[Any]:
    import jc  # type: ignore[import-untyped,unused-ignore]

    name = str(rules.get("parser", ""))
    if name.replace("-", "_") not in jc.parser_mod_list():
        raise invalid(upstream.plan.folder, f"jc has no parser {name!r}")
    info = jc.parser_info(name)
    text = _Text(upstream)
    lossy = "command" in info.get("tags", ()) or name.replace("-", "_") in _FORGETFUL
    if lossy:
        yield _warning(
            name, "a text for people" if "command" in info["tags"] else "a text with names that may repeat"
        )
    mapped = mapper(upstream, rules)
    for value in _streamed(jc, name, text) if info.get("streaming") else _whole(jc, name, text):
        if (text.replaced or text.repeats) and not lossy:
            lossy = True
            source = "bytes that are not UTF-8" if text.replaced else "columns of which two have one name"
            yield _warning(name, source)
        if value.__class__ is not dict:
            yield value  # a warning
            continue
        if None in value:
            value[""] = value.pop(None)  # what is in a row behind the last column that has a name
        for event in mapped(value):
            yield {**event, "lossy": True} if lossy and event.__class__ is dict else event


class _Text:
    """The output as text; `replaced` says whether any of it was not UTF-8, `repeats` whether a column of it is lost."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.replaced = False
        self.repeats = False

    def lines(self) -> Iterator[str]:
        for block in self.upstream.blocks():
            yield from self._decoded(block).split("\n")

    def whole(self) -> str:
        raw = b""
        for chunk in self.upstream.chunks():
            raw += chunk
            if len(raw) > RECORD_LIMIT:
                raise self.upstream.too_long(RECORD_LIMIT)
        return self._decoded(raw)

    def _decoded(self, raw: bytes) -> str:
        text = raw.decode("utf-8", "replace")
        self.replaced = self.replaced or text.encode("utf-8") != raw
        return text.removesuffix("\n")


def _whole(jc: Any, name: str, text: _Text) -> Iterator[Any]:
    said = text.whole()
    text.repeats = name == "csv" and _repeats(said)
    try:
        found = jc.parse(name, said, quiet=True)
    except (
        Exception
    ) as problem:  # parsers of jc meet a text that they do not know with whatever error comes of it
        end = text.upstream.end
        if end is not None and end.status != 0:
            return  # the program failed, and that is reported
        raise _unreadable(text.upstream, name, problem) from problem
    yield from found if isinstance(found, list) else [found]


def _repeats(table: str) -> bool:
    """Whether two columns have one name. Sniffed as jc does it, so that both see the same columns."""
    import csv

    try:
        columns = next(csv.reader([table.partition("\n")[0]], csv.Sniffer().sniff(table[:1024])), [])
    except csv.Error:
        columns = next(csv.reader([table.partition("\n")[0]]), [])
    return len(set(columns)) < len(columns)


def _streamed(jc: Any, name: str, text: _Text) -> Iterator[Any]:
    from operable.tool.framework import Warn
    from operable.wrap.endings import shown

    try:
        for found in jc.parse(name, text.lines(), quiet=True, ignore_exceptions=True):
            meta = found.pop("_jc_meta", {})
            if meta.get("success", True):
                yield found
                continue
            text.upstream.foreign += 1
            excerpt = shown(str(meta.get("line", ""))[:_EXCERPT])
            yield Warn("UPSTREAM_LINE_UNREADABLE", f"jc's parser {name} cannot read a line", excerpt=excerpt)
    except Fail:
        raise  # ours: a line that is too long, a deadline
    except Exception as problem:
        raise _unreadable(text.upstream, name, problem) from problem


def _warning(name: str, source: str) -> Any:
    from operable.tool.framework import Warn

    message = f"read from {source} by jc's parser {name}: what it leaves out or mixes up cannot be seen"
    return Warn("UPSTREAM_LOSSY", message, parser=name)


def _unreadable(upstream: Upstream, name: str, problem: Exception) -> Fail:
    program = upstream.plan.bin
    text = f"jc's parser {name} cannot read what {program} printed ({type(problem).__name__})"
    return Fail("validation", "UPSTREAM_UNREADABLE", text, target=program)


PARSER = _parse
