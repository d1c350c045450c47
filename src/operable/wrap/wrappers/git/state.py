"""The state of a repository: its head, its refs, what conflicts. What commands that move it ask before and afterwards."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.wrap.endings import shown
from operable.wrap.fields import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from operable.wrap.upstream import Upstream


def drained(upstream: Upstream, words: Sequence[str] | None = None) -> bool:
    """Run git, whose words are not for us; whether it ended well. How it ended is judged later (`settle`)."""
    for _ in upstream.chunks(words):
        pass
    return upstream.end is not None and upstream.end.status == 0


def head(upstream: Upstream) -> str:
    """The commit of the work tree; empty before the first one."""
    return upstream.ask(["rev-parse", "--verify", "--quiet", "HEAD"], fine=(0, 1)).decode("ascii").strip()


def current_branch(upstream: Upstream) -> bytes | None:
    """The name of the branch; None without one."""
    told = upstream.ask(["symbolic-ref", "--quiet", "HEAD"], fine=(0, 1)).removesuffix(b"\n")
    return told.removeprefix(b"refs/heads/") if told else None


def resolved(upstream: Upstream, revision: str, *, needed: bool = False) -> str:
    """The commit that a revision names; empty if it names none, and Fail if one is needed."""
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    found = upstream.ask(words, fine=(0, 1, 128)).decode("ascii", "replace").split()
    if not found and needed:
        hint = "see operable wrap git branch, operable wrap git tag"
        raise Fail(
            "not_found",
            "REVISION_NOT_FOUND",
            f"there is no commit {shown(revision)}",
            hint=hint,
            target=shown(revision),
        )
    return found[-1] if found else ""


def commits_between(upstream: Upstream, old: str, new: str) -> int:
    """How many commits `new` has that `old` has not."""
    return int(upstream.ask(["rev-list", "--count", new, "--not", *([old] if old else []), "--"]))


def refs(upstream: Upstream) -> dict[bytes, str]:
    """Every ref with what it points at, without those that only name another one (`origin/HEAD`).

    No name of a ref contains a space or a line end (git-check-ref-format).
    """
    lines = upstream.ask(["for-each-ref", "--format=%(objectname) %(refname) %(symref)"]).split(b"\n")[:-1]
    fields = (line.split(b" ") for line in lines)
    return {name: value.decode("ascii") for value, name, link in fields if not link}


def ref_updates(upstream: Upstream, before: dict[bytes, str]) -> Iterator[dict[str, Any]]:
    after = refs(upstream)
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        event: dict[str, Any] = {"type": "ref_updated", "old": old, "new": new}
        put(event, "ref", name)
        yield event | {"state": _state(upstream, old, new)}


def _state(upstream: Upstream, old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return "new" if old is None else "deleted"
    # What is not a commit (a tag of a file) has no history to lose.
    lost = upstream.ask(["rev-list", "--max-count=1", old, "--not", new, "--"], fine=(0, 128))
    return "forced" if lost else "updated"


def head_moved(upstream: Upstream, action: str, before: str) -> Iterator[dict[str, Any]]:
    """The event of a branch that has moved, or has not."""
    after, branch = head(upstream), current_branch(upstream)
    event: dict[str, Any] = {"type": "head_moved", "action": action, "branch": None}
    if branch is not None:
        put(event, "branch", branch)
    moved = commits_between(upstream, before, after) if after and after != before else 0
    yield event | {"id": after, "old": before or None, "commits": moved}


def conflicts(upstream: Upstream, hint: str) -> Iterator[dict[str, Any]]:
    """Each file that conflicts, and then the failure; without one, nothing: git says itself what is wrong."""
    words = ["diff", "--name-only", "-z", "--no-renames", "--diff-filter=U", "--ignore-submodules=all", "--"]
    end = upstream.end
    names = [name for name in dict.fromkeys(upstream.ask(words).split(b"\0")) if name]
    if not names or end is None:
        return
    for name in names:
        event: dict[str, Any] = {"type": "conflict"}
        put(event, "path", name)
        yield event
    upstream.context.conclude(upstream={"program": "git", "exit": end.status, "meaning": "conflicts"})
    message = f"{len(names)} {'file conflicts' if len(names) == 1 else 'files conflict'}: change and add them, then go on"
    raise Fail("conflict", "GIT_CONFLICT", message, hint=hint, upstream_exit=end.status)
