"""Shows what a revision names: a commit with its files, or a file or folder in one (`REVISION:PATH`)."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.wrap.fields import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def show(upstream: Upstream) -> Iterator[Any]:
    revision = upstream.inputs.get("revision") or "HEAD"
    # `:/text` and `^{/text}` look for a message; a colon elsewhere is before a path.
    if ":" in revision and not revision.startswith(":/") and "^{/" not in revision.partition(":")[0]:
        yield from _named(upstream, revision)
        return
    from .trees import show as commit

    yield from commit(upstream)


def _named(upstream: Upstream, revision: str) -> Iterator[Any]:
    found = upstream.ask(["rev-parse", "--verify", "--end-of-options", revision]).decode("ascii").split()[-1]
    kind = upstream.ask(["cat-file", "-t", found]).decode("ascii").strip()
    path = revision.partition(":")[2].encode("utf-8", "surrogateescape")
    if kind == "tree":
        yield from _entries(upstream, found, path.rstrip(b"/"))
    elif kind == "blob":
        size = int(upstream.ask(["cat-file", "-s", found]))
        event: dict[str, Any] = {"type": "blob", "hash": found, "size": size}
        put(event, "path", path)
        yield event
        yield from _lines(upstream, found)
    else:  # of a submodule only the name of its commit is here
        raise Fail("validation", "NOT_A_FILE", f"that is a {kind}, not a file", target=revision[:200])


def _lines(upstream: Upstream, blob: str) -> Iterator[Any]:
    first, last = upstream.inputs.get("first") or 1, upstream.inputs.get("last")
    if last is not None and last < first:
        raise Fail("usage", "CONFLICTING_OPTIONS", "--last is before --first", target="--last")
    upstream.command = upstream.command.replace(argv=["cat-file", "blob", blob], options={})
    number = 0
    for block in upstream.blocks():
        rows = []
        for line in block.removesuffix(b"\n").split(b"\n"):
            number += 1
            if last is not None and number > last:
                break
            if number >= first:
                row: dict[str, Any] = {"type": "blob_line", "line_number": number}
                put(row, "text", line)
                rows.append(row)
        yield rows
        # To its end, all the same: a program that was ended early has not said that it succeeded.


def _entries(upstream: Upstream, tree: str, path: bytes) -> Iterator[Any]:
    upstream.command = upstream.command.replace(argv=["ls-tree", "-z", "--long", tree], options={})
    for records in upstream.records():
        rows = []
        for record in records:
            about, _, name = record.partition(b"\t")
            mode, kind, found, size = about.decode("ascii").split()
            row: dict[str, Any] = {"type": "tree_entry", "mode": mode, "kind": kind, "hash": found}
            row["size"] = None if size == "-" else int(size)
            put(row, "path", path + b"/" + name if path else name)
            rows.append(row)
        yield rows
