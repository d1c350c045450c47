"""Reads branches and tags, cut at NUL bytes."""

from __future__ import annotations

from operable.wrap.fields import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def branches(upstream: Upstream) -> Iterator[Any]:
    remotes = upstream.inputs.get("remotes")
    for fields in _refs(upstream, 6):
        if not remotes and not fields[0].startswith(b"refs/heads/"):
            continue
        event: dict[str, Any] = {
            "type": "branch",
            "hash": fields[1].decode("ascii"),
            "current": fields[3] == b"*",
        }
        event["upstream"] = None
        if fields[2]:
            put(event, "upstream", fields[2])
        event["time"] = int(fields[4]) if fields[4] else None
        put(event, "ref", fields[0])
        put(event, "subject", fields[5])
        yield event


def tags(upstream: Upstream) -> Iterator[Any]:
    for fields in _refs(upstream, 6):
        event: dict[str, Any] = {
            "type": "tag",
            "hash": fields[1].decode("ascii"),
            "kind": fields[2].decode("ascii"),
        }
        event["target"] = fields[3].decode("ascii") or None
        event["time"] = int(fields[4]) if fields[4] else None
        put(event, "ref", fields[0])
        put(event, "subject", fields[5])
        yield event


def _refs(upstream: Upstream, count: int) -> Iterator[list[bytes]]:
    """Records of NUL-ended fields; `for-each-ref` puts a line end behind each, so before the name of the next.

    No name of a ref begins with a line end (git-check-ref-format), so that one belongs to the framing.
    """
    pending: list[bytes] = []
    rest = b""
    for chunk in upstream.chunks():
        found = (rest + chunk).split(b"\0")
        rest = found.pop()
        pending += found
        while len(pending) >= count:
            fields, pending = pending[:count], pending[count:]
            yield [fields[0].removeprefix(b"\n"), *fields[1:]]
    if pending or rest not in (b"", b"\n"):
        upstream.cut_off()


def tag_created(upstream: Upstream) -> Iterator[Any]:
    for _ in upstream.chunks():
        pass  # it says nothing
    if upstream.end is not None and upstream.end.status == 0:
        ref = f"refs/tags/{upstream.inputs['name']}"
        found = upstream.ask(["rev-parse", "--verify", "--end-of-options", ref]).decode("ascii").split()
        yield {"type": "tag_created", "ref": ref, "hash": found[-1]}
