"""Reads commits, and the lines of a file with the commit of each.

Commits are cut at NUL bytes. The lines of `blame` contain nothing that could contain a line end: the text of a blamed line
is alone behind a tab.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.framework import Warn
from operable.wrap.fields import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_COMMIT = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B"


def log(upstream: Upstream) -> Iterator[Any]:
    from operable.wrap.parsers.nul import PARSER

    yield from shallow_warning(upstream)
    yield from PARSER(upstream, upstream.command.parse)


def shallow_warning(upstream: Upstream) -> Iterator[Warn]:
    """In a shallow clone the oldest commits seem to have no parents, and to have made everything that is in them."""
    told = upstream.ask(["rev-parse", "--is-shallow-repository"], fine=(0, 128))
    if told.strip() == b"true":
        message = (
            "the clone is shallow: its oldest commits seem to have no parents and to add every file and line"
        )
        yield Warn("HISTORY_CUT_OFF", message, hint="git fetch --unshallow")


def read_commit(upstream: Upstream, revision: str) -> dict[str, Any]:
    words = ["log", "-z", "-1", "--no-notes", "--no-patch", _COMMIT, "--end-of-options", revision, "--"]
    fields = upstream.ask(words).split(b"\0")
    if len(fields) == 1:  # a file, a tree, an empty range: git finds nothing to log, and is content
        message = "that names no commit"
        hint = "name a commit, a branch or a tag"
        raise Fail("validation", "NOT_A_COMMIT", message, hint=hint, target=revision[:80])
    event: dict[str, Any] = {
        "type": "commit",
        "id": fields[0].decode("ascii"),
        "tree": fields[1].decode("ascii"),
    }
    event |= {
        "parents": fields[2].decode("ascii").split(),
        "author_time": int(fields[5]),
        "committer_time": int(fields[8]),
    }
    names = {"author_name": 3, "author_email": 4, "committer_name": 6, "committer_email": 7, "message": 9}
    for name, place in names.items():
        put(event, name, fields[place])
    return event


def blame(upstream: Upstream) -> Iterator[Any]:
    """`--line-porcelain`: a header with the hash, a line for each fact, then a tab and the text of the line."""
    if upstream.inputs.get("last") is not None:
        upstream.inputs["first"] = upstream.inputs.get("first") or 1  # git has one option for both
    yield from shallow_warning(upstream)
    facts: dict[bytes, bytes] = {}
    head: list[bytes] = []
    for block in upstream.blocks():
        rows = []
        for line in block.split(b"\n")[:-1]:
            if line.startswith(b"\t"):
                rows.append(_line(head, facts, line[1:]))
                head, facts = [], {}
            elif not head:
                head = line.split(b" ")
            else:
                name, _, value = line.partition(b" ")
                facts[name] = value
        yield rows
    if head:
        upstream.cut_off()


def _line(head: list[bytes], facts: dict[bytes, bytes], text: bytes) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "line", "line_number": int(head[2]), "original_line": int(head[1])}
    event |= {"hash": head[0].decode("ascii"), "author_time": int(facts[b"author-time"])}
    put(event, "author_name", facts[b"author"])
    put(event, "author_email", facts[b"author-mail"][1:-1])
    put(event, "summary", facts.get(b"summary", b""))
    put(event, "path", unquoted(facts[b"filename"]))
    put(event, "text", text)
    return event


def unquoted(name: bytes) -> bytes:
    """A path as git writes it where a line end would end it: in quotes, with the escapes of C."""
    if not (name.startswith(b'"') and name.endswith(b'"') and len(name) > 1):
        return name
    short = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

    import re

    def plain(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8)]) if code.isdigit() else short.get(code, code)

    return re.sub(rb"\\([0-7]{3}|.)", plain, name[1:-1], flags=re.DOTALL)
