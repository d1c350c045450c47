"""Plans and reads the work trees of a repository."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.endings import shown
from operable.wrap.fields import put

from .state import drained, resolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_FLAGS = ("bare", "detached")
_REASONS = ("locked", "prunable")


def listed(upstream: Upstream) -> Iterator[Any]:
    """`worktree list --porcelain -z`: lines that end at NUL, and an empty one behind each work tree."""
    event: dict[str, Any] = {}
    for records in upstream.records():
        for record in records:
            if not record:
                yield event
                event = {}
                continue
            name, _, value = record.partition(b" ")
            _take(event, name.decode("ascii", "replace"), value)
    if event:
        upstream.cut_off()


def _take(event: dict[str, Any], name: str, value: bytes) -> None:
    if name == "worktree":
        event |= {"type": "worktree", "commit": None, "branch": None}
        event |= dict.fromkeys(_FLAGS, False) | dict.fromkeys(_REASONS)
        put(event, "path", value)
    elif name == "HEAD":
        event["commit"] = value.decode("ascii")
    elif name == "branch":
        put(event, "branch", value.removeprefix(b"refs/heads/"))
    elif name in _FLAGS:
        event[name] = True
    elif name in _REASONS:
        event[name] = value.decode("utf-8", "replace")


def plan_add(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    path = inputs["path"]
    if os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path)):
        raise Fail("conflict", "GIT_EXISTS", f"{shown(path)} is there already", target=shown(path))
    revision = inputs.get("revision")
    commit = resolved(upstream, revision or "HEAD", needed=True)
    # Without a revision git takes the branch that is called like the folder, or makes it.
    branch = inputs.get("branch") or (None if revision else os.path.basename(os.path.abspath(path)))
    if inputs.get("branch") and resolved(upstream, f"refs/heads/{branch}"):
        raise Fail("conflict", "GIT_EXISTS", f"there is a branch {branch} already", target=branch)
    yield Change("add", path, branch=None if inputs.get("detach") else branch, commit=commit)


def added(upstream: Upstream) -> Iterator[Any]:
    if not drained(upstream):
        return
    path = upstream.inputs["path"]
    event: dict[str, Any] = {"type": "worktree_added", "branch": None}
    put(event, "path", os.fsencode(os.path.abspath(path)))
    event["commit"] = upstream.ask(["-C", path, "rev-parse", "HEAD"]).decode("ascii").strip()
    branch = upstream.ask(["-C", path, "symbolic-ref", "--quiet", "HEAD"], fine=(0, 1)).removesuffix(b"\n")
    if branch:
        put(event, "branch", branch.removeprefix(b"refs/heads/"))
    yield event


def plan_remove(upstream: Upstream) -> Iterator[Any]:
    given = upstream.inputs["path"]
    told = upstream.ask(["worktree", "list", "--porcelain", "-z"])
    known = [os.fsdecode(line[9:]) for line in told.split(b"\0") if line.startswith(b"worktree ")]
    if os.path.realpath(given) not in map(os.path.realpath, known[1:]):
        hint = "see operable wrap git worktree list"
        raise Fail(
            "not_found",
            "WORKTREE_NOT_FOUND",
            f"{shown(given)} is not a work tree that can be removed",
            hint=hint,
            target=shown(given),
        )
    yield Change("remove", upstream.inputs["path"])


def removed(upstream: Upstream) -> Iterator[Any]:
    if drained(upstream):
        event: dict[str, Any] = {"type": "worktree_removed"}
        put(event, "path", os.fsencode(upstream.inputs["path"]))
        yield event
