"""Plans and reads what changes the files of a work tree: `switch`, `restore` and `unstage`."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.framework import Change, Warn
from operable.wrap.endings import shown
from operable.wrap.fields import put

from .settings import idle_filters
from .state import current_branch, drained, head, resolved
from .trees import raw_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# Two branches may differ in any number of files; beyond this a plan only says how many there are.
_PLANNED_FILES = 1000


def plan_switch(upstream: Upstream) -> Iterator[Any]:
    """The commit that the work tree would be at, the files that would change, and those of them with local changes."""
    inputs, current = upstream.inputs, head(upstream)
    commit = _target(upstream)
    branch = None if inputs.get("detach") else inputs["branch"]
    name = current_branch(upstream)
    yield Change("switch", inputs["branch"], branch=branch, commit=commit, was=name and _text(name))
    if commit == current or not current:
        return
    idle_filters(upstream)
    yield from plan_files(upstream, current, commit, "check_out")


def _target(upstream: Upstream) -> str:
    """The commit to switch to; Fail where git would say no."""
    inputs = upstream.inputs
    branch = inputs["branch"]
    if inputs.get("create"):
        upstream.ask(["check-ref-format", "--branch", branch])
        if resolved(upstream, f"refs/heads/{branch}"):
            hint = "leave --create out"
            raise Fail(
                "conflict",
                "GIT_EXISTS",
                f"there is a branch {shown(branch)} already",
                hint=hint,
                target=shown(branch),
            )
        return resolved(upstream, inputs.get("start") or "HEAD", needed=bool(inputs.get("start")))
    if inputs.get("start"):
        raise Fail("usage", "CONFLICTING_OPTIONS", "--start is for --create", target="--start")
    if inputs.get("detach"):
        return resolved(upstream, branch, needed=True)
    commit = resolved(upstream, f"refs/heads/{branch}")
    if not commit and head(upstream):
        hint = "operable wrap git switch --create NAME --start origin/NAME, or --detach for a commit"
        raise Fail(
            "not_found",
            "REVISION_NOT_FOUND",
            f"there is no branch {shown(branch)}",
            hint=hint,
            target=shown(branch),
        )
    return commit


def plan_files(upstream: Upstream, old: str, new: str, action: str) -> Iterator[Any]:
    """One change for each file that differs between two commits; a warning for those with local changes."""
    touched: set[bytes] = set()
    words = ["diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=all"]
    upstream.command = upstream.command.replace(argv=[*words, old, new, "--"], options={})
    for event, names in raw_changes(upstream):
        touched.add(names[-1])
        if len(touched) <= _PLANNED_FILES:
            yield Change(action, event["path"], change=event["change"], **_bytes(event))
    yield from upstream.settle()
    if len(touched) > _PLANNED_FILES:
        yield Warn("PLAN_SHORTENED", f"{len(touched) - _PLANNED_FILES} further files would change")
    own = upstream.ask(["diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", "HEAD", "--"])
    local = sorted(touched.intersection(own.split(b"\0")))
    if local:
        shown = ", ".join(path.decode("utf-8", "replace") for path in local[:5])
        message = f"{len(local)} of these files have local changes ({shown}): git refuses to overwrite them"
        yield Warn("LOCAL_CHANGES", message, hint="commit them, or put them away: git stash push")


def switch(upstream: Upstream) -> Iterator[Any]:
    before = current_branch(upstream)
    if not drained(upstream):
        return
    event: dict[str, Any] = {
        "type": "switched",
        "branch": None,
        "id": head(upstream) or None,
        "from": None,
    }
    for name, value in (("branch", current_branch(upstream)), ("from", before)):
        if value is not None:
            put(event, name, value)
    yield event


def plan_restore(upstream: Upstream) -> Iterator[Any]:
    _refuse_unknown(upstream)
    idle_filters(upstream)
    upstream.command = upstream.command.replace(argv=_differing(upstream), options={})
    for event, _ in raw_changes(upstream):
        yield Change("restore", event["path"], change=_undone(event), **_bytes(event))
    yield from upstream.settle()


def _refuse_unknown(upstream: Upstream) -> None:
    if not upstream.inputs.get("source"):
        # Without a name for a file that git does not know it would say nothing about it.
        words = ["ls-files", "--error-unmatch", "-z", "--", *upstream.inputs["paths"]]
        upstream.ask(words)


def _differing(upstream: Upstream) -> list[str]:
    words = ["diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=all"]
    source = upstream.inputs.get("source")
    commit = [resolved(upstream, source, needed=True)] if source else []
    return [*words, *commit, "--", *upstream.inputs["paths"]]


def _undone(event: dict[str, Any]) -> str:
    """What restoring does to a file is the reverse of what was done to it."""
    return {"added": "deleted", "deleted": "added"}.get(event["change"], str(event["change"]))


def restore(upstream: Upstream) -> Iterator[Any]:
    own = upstream.command
    words = upstream.words()
    upstream.command = own.replace(argv=_differing(upstream), options={})
    found = [event for event, _ in raw_changes(upstream)]
    upstream.command = own
    if not drained(upstream, words):
        return
    for event in found:
        yield {"type": "restored", "path": event["path"], "change": _undone(event), **_bytes(event)}


def plan_unstage(upstream: Upstream) -> Iterator[Any]:
    for name in _staged(upstream):
        event: dict[str, Any] = {}
        put(event, "path", name)
        yield Change("unstage", event["path"], **_bytes(event))


def unstage(upstream: Upstream) -> Iterator[Any]:
    names = _staged(upstream)
    if not drained(upstream):
        return
    for name in names:
        event: dict[str, Any] = {"type": "unstaged"}
        put(event, "path", name)
        yield event


def _staged(upstream: Upstream) -> list[bytes]:
    """The staged files below these paths; Fail for a path that git does not know at all."""
    found: list[bytes] = []
    for path in upstream.inputs["paths"]:
        names = upstream.ask(["diff", "--cached", "--name-only", "--no-renames", "-z", "--", path])
        found += names.split(b"\0")[:-1]
        if not names:
            upstream.ask(["ls-files", "--error-unmatch", "-z", "--", path])
    return list(dict.fromkeys(found))


def _bytes(event: dict[str, Any]) -> dict[str, Any]:
    return {"path_b64": event["path_b64"]} if "path_b64" in event else {}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
