"""Plans and reads `merge` and `rebase`, and giving them up."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.tool.framework import Change, Warn
from operable.wrap.fields import put

from .state import commits_between, conflicts, current_branch, drained, head, head_moved, resolved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_MERGE_HINT = (
    "to go on: operable wrap git commit MESSAGE; to give up: operable wrap git merge-abort --confirm"
)
_REBASE_HINT = (
    "to go on: operable wrap git rebase --continue; to give up: operable wrap git rebase-abort --confirm"
)
# As many commits of a rebase are planned one by one.
_PLANNED_COMMITS = 1000


def plan_merge(upstream: Upstream) -> Iterator[Any]:
    current, target = head(upstream), resolved(upstream, upstream.inputs["revision"], needed=True)
    commits = commits_between(upstream, current, target)
    if not commits:
        return  # it has everything already
    forward = not current or not commits_between(upstream, target, current)
    if upstream.inputs["how"] == "ff-only" and not forward:
        hint = "leave --how out: it makes a merge commit"
        raise Fail("conflict", "NOT_FAST_FORWARD", "both have commits of their own", hint=hint)
    files = [] if forward else _would_conflict(upstream, current, target)
    if files is None:
        yield Warn("CONFLICTS_UNKNOWN", "this git cannot try a merge, or a merge driver would have to run")
    yield Change("merge", _branch(upstream), revision=upstream.inputs["revision"], commit=target, commits=commits,
                 fast_forward=forward, conflicts=files)  # fmt: skip


def _would_conflict(upstream: Upstream, ours: str, theirs: str) -> list[str] | None:
    """The files that would conflict; None if that cannot be said. What git writes goes to a folder of the call's own."""
    objects = os.path.abspath(
        os.fsdecode(upstream.ask(["rev-parse", "--git-path", "objects"]).removesuffix(b"\n"))
    )
    upstream.env = {"GIT_OBJECT_DIRECTORY": "${scratch}", "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects}
    try:
        words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs]
        told = upstream.ask(words, fine=(0, 1))
    except Fail as fail:
        if fail.code == "TIMEOUT":
            raise
        return None
    finally:
        upstream.env = {}
    return [os.fsdecode(name) for name in told.split(b"\0")[1:] if name]


def _branch(upstream: Upstream) -> str:
    return os.fsdecode(current_branch(upstream) or b"HEAD")


def merge(upstream: Upstream) -> Iterator[Any]:
    before = head(upstream)
    if drained(upstream):
        yield from head_moved(upstream, "merge", before)
    else:
        yield from conflicts(upstream, _MERGE_HINT)


def plan_rebase(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    if inputs.get("continue"):
        if inputs.get("upstream") or inputs.get("onto"):
            raise Fail("usage", "CONFLICTING_OPTIONS", "--continue takes nothing else", target="--continue")
        if not _stopped(upstream, "rebase"):
            raise Fail("conflict", "NO_REBASE", "no rebase has stopped here")
        yield Change("continue", "rebase")
        return
    base = resolved(upstream, _base(inputs), needed=True)
    target = resolved(upstream, inputs["onto"], needed=True) if inputs.get("onto") else base
    told = upstream.ask(
        [
            "log",
            "-z",
            "--reverse",
            "--no-merges",
            "--no-show-signature",
            "--format=%H%x00%s",
            f"{base}..HEAD",
            "--",
        ]
    )
    fields = told.split(b"\0")
    commits = list(zip(fields[::2], fields[1::2], strict=False))
    forward = not commits_between(upstream, target, "HEAD")
    if forward and target == head(upstream):
        return
    yield Change("move", _branch(upstream), onto=target, commits=len(commits), fast_forward=forward)
    for commit, subject in commits[:_PLANNED_COMMITS]:
        yield Change("rebase", commit.decode("ascii"), subject=subject.decode("utf-8", "replace"))
    if len(commits) > _PLANNED_COMMITS:
        yield Warn("PLAN_SHORTENED", f"{len(commits) - _PLANNED_COMMITS} further commits would be made anew")


def _base(inputs: dict[str, Any]) -> str:
    given: str | None = inputs.get("upstream")
    if not given:
        raise Fail(
            "usage", "MISSING_ARGUMENT", "name the branch that comes first, or --continue", target="upstream"
        )
    return given


def rebase(upstream: Upstream) -> Iterator[Any]:
    inputs, before = upstream.inputs, head(upstream)
    if inputs.get("continue"):
        words = ["rebase", "--continue"]
        before = (
            upstream.ask(["rev-parse", "--verify", "--quiet", "ORIG_HEAD"], fine=(0, 1))
            .decode("ascii")
            .strip()
        )
    else:
        base = _base(inputs)
        resolved(upstream, base, needed=True)
        words = upstream.words()
        words += [f"--onto={resolved(upstream, inputs['onto'], needed=True)}"] if inputs.get("onto") else []
        words += [base if not base.startswith("-") else resolved(upstream, base)]
    if drained(upstream, words):
        yield from head_moved(upstream, "rebase", before)
    else:
        yield from conflicts(upstream, _REBASE_HINT)


def _stopped(upstream: Upstream, operation: str) -> bool:
    """Whether a merge or a rebase is under way."""
    if operation == "merge":
        return bool(upstream.ask(["rev-parse", "--verify", "--quiet", "MERGE_HEAD"], fine=(0, 1)))
    places = upstream.ask(["rev-parse", "--git-path", "rebase-merge", "--git-path", "rebase-apply"])
    return any(os.path.isdir(os.fsdecode(place)) for place in places.split(b"\n") if place)


def plan_abort(upstream: Upstream) -> Iterator[Any]:
    operation = upstream.command.name.partition("-")[0]
    if not _stopped(upstream, operation):
        raise Fail("conflict", "NOTHING_TO_ABORT", f"no {operation} has stopped here", target=operation)
    yield Change("abort", operation, files="kept" if upstream.inputs["keep"] else "as before")


def aborted(upstream: Upstream) -> Iterator[Any]:
    operation = upstream.command.name.partition("-")[0]
    if not drained(upstream, [operation, "--quit"] if upstream.inputs["keep"] else None):
        return
    event: dict[str, Any] = {"type": "aborted", "operation": operation, "branch": None}
    branch = current_branch(upstream)
    if branch is not None:
        put(event, "branch", branch)
    yield event | {"id": head(upstream)}
