"""Reads `git status --porcelain=v2 -z`: the branch, then each changed file."""

from __future__ import annotations

from operable.wrap.fields import put

from .settings import idle_filters, unfiltered
from .submodules import changed_submodules, ignore_submodules, raw_path, stopped_at_submodule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# How many fields are before the path in each kind of record.
_FIELDS = {b"1": 8, b"2": 9, b"u": 10}


def status(upstream: Upstream) -> Iterator[Any]:
    """The status, without filters; submodules are looked into one by one, because git would start a process for each."""
    filters, modified = idle_filters(upstream), False
    for rows in _status(upstream):
        for row in rows if isinstance(rows, list) else [rows]:
            modified = modified or (row["type"] == "change" and row["worktree"] == "M")
            yield row
    if stopped_at_submodule(upstream):
        changed = changed_submodules(upstream)
        idle_filters(upstream)
        ignore_submodules(upstream)
        for row in _single(_status(upstream)):
            modified = modified or (row["type"] == "change" and row["worktree"] == "M")
            inside = changed.pop(raw_path(row), None) if row["type"] == "change" else None
            if inside is not None and row["submodule"]:
                row["submodule"] = row["submodule"][:2] + inside[0]
            yield row
        for path, (flags, _) in changed.items():
            event: dict[str, Any] = {"type": "change", "index": ".", "worktree": "M", "original_path": None}
            event |= {"score": None, "submodule": f"S.{flags}", "state": "changed"}
            put(event, "path", path)
            yield event
    if filters and modified:
        yield unfiltered(filters)


def _status(upstream: Upstream) -> Iterator[Any]:
    """`status --porcelain=v2 -z`: the header of the branch, then a record a file, renamed ones with a second path."""
    branch: dict[str, Any] = {"type": "branch_status", "head": None, "detached": False, "commit": None}
    branch |= {"upstream": None, "ahead": None, "behind": None}
    told = False
    renamed: dict[str, Any] | None = None
    for records in upstream.records():
        rows = []
        for record in records:
            if renamed is not None:
                put(renamed, "original_path", record)
                rows.append(renamed)
                renamed = None
                continue
            if record.startswith(b"# "):
                _header(upstream, branch, record[2:])
                continue
            if not told:
                rows.append(branch)
                told = True
            change = _changed(record)
            if record.startswith(b"2 "):
                renamed = change
            else:
                rows.append(change)
        yield rows
    if renamed is not None:
        upstream.cut_off()
    if not told and (branch["head"] is not None or branch["detached"]):
        yield branch


def _header(upstream: Upstream, branch: dict[str, Any], record: bytes) -> None:
    name, _, value = record.partition(b" ")
    if name == b"branch.oid":
        branch["commit"] = None if value == b"(initial)" else value.decode("ascii")
    elif name == b"branch.head":
        # A branch may also be called that.
        if value == b"(detached)" and not upstream.ask(["symbolic-ref", "-q", "HEAD"], fine=(0, 1)):
            branch["detached"] = True
        else:
            put(branch, "head", value)
    elif name == b"branch.upstream":
        put(branch, "upstream", value)
    elif name == b"branch.ab":
        ahead, behind = value.split(b" ")
        branch["ahead"], branch["behind"] = int(ahead), -int(behind)


def _changed(record: bytes) -> dict[str, Any]:
    kind = record[:1]
    event: dict[str, Any] = {"type": "change", "index": ".", "worktree": "."}
    event |= {"original_path": None, "score": None, "submodule": None}
    if kind in (b"?", b"!"):
        event["state"] = "untracked" if kind == b"?" else "ignored"
        put(event, "path", record[2:])
        return event
    fields = record.split(b" ", _FIELDS[kind])
    event["state"] = {b"1": "changed", b"2": "renamed", b"u": "unmerged"}[kind]
    event["index"], event["worktree"] = chr(fields[1][0]), chr(fields[1][1])
    submodule = fields[2].decode("ascii")
    event["submodule"] = submodule if submodule.startswith("S") else None
    if kind == b"2":
        event["score"] = int(fields[8][1:])
    put(event, "path", fields[-1])
    return event


def _single(rows: Iterator[Any]) -> Iterator[Any]:
    for row in rows:
        yield from row if isinstance(row, list) else [row]
