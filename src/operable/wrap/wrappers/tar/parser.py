"""What GNU tar lists, with names in the quotes of C: a byte that could end a name is escaped, so no name forges an entry."""

from __future__ import annotations

import os
import re

from operable.kernel.errors import Fail
from operable.tool.framework import Change, Warn
from operable.wire.lines import split_lines
from operable.wrap.fields import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_QUOTED = rb'"((?:[^"\\]|\\.)*)"'
_ENTRY = re.compile(
    rb"(\S{10,11}) +(\d+)/(\d+) +(\d+|\d+,\d+) +(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) "
    + _QUOTED
    + rb"(?: (?:->|link to) "
    + _QUOTED
    + rb")?"
)
_NAME = re.compile(_QUOTED)
# What `--block-number` adds: where an entry begins, and how the archive ends. No name is without quotes.
_BLOCK = re.compile(rb"block \d+: ")
_END, _CUT = b"** Block of NULs **", b"** End of File **"
_KINDS = {
    "-": "file",
    "d": "directory",
    "l": "symlink",
    "h": "hardlink",
    "c": "character_device",
    "b": "block_device",
    "p": "fifo",
}
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
# As many entries of a plan are shown, and as many that were unpacked.
_SHOWN, _TOLD = 1000, 100_000


def entries(upstream: Upstream) -> Iterator[Any]:
    _require_file(upstream.inputs["archive"])
    for index, line in enumerate(_lines(upstream), 1):
        match = _ENTRY.fullmatch(line)
        yield upstream.foreign_line(line) if match is None else _entry(match, index)


def _entry(match: re.Match[bytes], index: int) -> dict[str, Any]:
    mode, uid, gid, size, day, time, name, target = match.groups()
    event: dict[str, Any] = {"type": "entry", "kind": _KINDS.get(chr(mode[0]), "other")}
    put(event, "path", _unquoted(name))
    event |= {"mode": mode.decode("ascii", "replace"), "uid": int(uid), "gid": int(gid)}
    event["size"] = None if b"," in size else int(size)  # of a device its two numbers
    event |= {"modified": f"{day.decode()}T{time.decode()}Z", "link_target": None, "index": index}
    if target is not None:
        put(event, "link_target", _unquoted(target))
    return event


def plan_create(upstream: Upstream) -> Iterator[Change]:
    upstream.words()
    inputs = upstream.inputs
    _require_free(inputs["archive"])
    inside = inputs.get("directory") or "."
    for path in inputs["paths"]:
        if not os.path.lexists(os.path.join(inside, path)):
            raise Fail("not_found", "PATH_NOT_FOUND", "there is nothing to put into it", target=path)
        yield Change("archive", path, archive=inputs["archive"])


def create(upstream: Upstream) -> Iterator[Any]:
    archive = upstream.inputs["archive"]
    _require_free(archive)
    count = sum(1 for _ in _lines(upstream, reads=False))
    if upstream.end is None or upstream.end.status != 0:
        if os.path.lexists(archive):
            os.unlink(archive)  # an archive that is not whole passes for one that is
        return
    event: dict[str, Any] = {"type": "archive_created"}
    put(event, "path", os.fsencode(archive))
    yield event | {"bytes": os.path.getsize(archive), "entries": count}


def plan_extract(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    upstream.words()
    _require_file(inputs["archive"])
    if not os.path.isdir(inputs["into"]):
        raise Fail("not_found", "PATH_NOT_FOUND", "there is no such folder", target=inputs["into"])
    words = ["--list", f"--file={inputs['archive']}", "--", *inputs["members"]]
    count = 0
    for line in _lines(upstream, words):
        match = _NAME.fullmatch(line)
        if match is None:
            yield upstream.foreign_line(line)
            continue
        place = _place(inputs, _unquoted(match[1]))
        if place is None:
            continue
        if os.path.lexists(place) and not (os.path.isdir(place) and match[1].endswith(b"/")):
            hint = "unpack it into an empty folder"
            message = "there is a file of this name already, and nothing was unpacked"
            raise Fail("conflict", "FILE_EXISTS", message, hint=hint, target=os.fsdecode(place))
        count += 1
        if count <= _SHOWN:
            shown: dict[str, Any] = {}
            put(shown, "path", place)
            yield Change("unpack", shown.pop("path"), **shown)
    yield from upstream.settle()
    if count > _SHOWN:
        yield Warn("PLAN_SHORTENED", f"{count - _SHOWN} further entries would be unpacked")


def extract(upstream: Upstream) -> Iterator[Any]:
    """What was unpacked, once all of it is: tar prints a name before it tries."""
    inputs = upstream.inputs
    _require_file(inputs["archive"])
    names: list[bytes] = []
    count = 0
    for line in _lines(upstream):
        match = _NAME.fullmatch(line)
        if match is None:
            yield upstream.foreign_line(line)
        elif _place(inputs, _unquoted(match[1])) is not None:
            count += 1
            if count <= _TOLD:
                names.append(_unquoted(match[1]))
    upstream.context.conclude(entries=count)
    if upstream.end is None or upstream.end.status != 0 or upstream.failure is not None:
        return
    for name in names:
        event: dict[str, Any] = {"type": "extracted"}
        put(event, "path", _place(inputs, name) or b"")
        put(event, "name", name)
        yield event
    if count > _TOLD:
        yield Warn("EVENTS_LEFT_OUT", f"{count - _TOLD} further entries were unpacked")


def _place(inputs: dict[str, Any], name: bytes) -> bytes | None:
    """Where an entry goes; None where nothing of its name is left."""
    inside = b"/".join(name.lstrip(b"/").split(b"/")[inputs.get("strip") or 0 :])
    return os.path.join(os.fsencode(inputs["into"]), inside) if inside.strip(b"/") else None


def _lines(upstream: Upstream, words: list[str] | None = None, *, reads: bool = True) -> Iterator[bytes]:
    """What tar says of entries. An archive that is read has to have its mark at the end: without it, it was cut off."""
    whole = False
    for line in _printed(upstream, words):
        said = _BLOCK.sub(b"", line, count=1)
        if said == _END:
            whole = True
        elif said != _CUT:
            yield said
    if (
        reads
        and not whole
        and upstream.failure is None
        and upstream.end is not None
        and upstream.end.status == 0
    ):
        message = "the archive has no end: it was cut off, and more was in it"
        upstream.failure = Fail("validation", "ARCHIVE_DAMAGED", message, target=upstream.inputs["archive"])


def _printed(upstream: Upstream, words: list[str] | None) -> Iterator[bytes]:
    rest = b""
    for chunk in upstream.chunks(words):
        lines, rest = split_lines(rest + chunk)
        for line in lines:
            yield bytes(line)
    if rest:
        upstream.cut_off()


def _require_file(path: str) -> None:
    if not os.path.exists(path):
        hint = "operable wrap tar list ARCHIVE, or extract"
        raise Fail("not_found", "PATH_NOT_FOUND", "there is no such archive", hint=hint, target=path)


def _require_free(path: str) -> None:
    if os.path.lexists(path):
        hint = "name another file, or remove this one first"
        raise Fail("conflict", "FILE_EXISTS", "there is a file of this name", hint=hint, target=path)


def _unquoted(raw: bytes) -> bytes:
    """What C would make of it."""

    def put_back(found: re.Match[bytes]) -> bytes:
        word = found[1]
        return bytes([int(word, 8)]) if word.isdigit() else _LETTERS.get(word, word)

    return _ESCAPE.sub(put_back, raw)
