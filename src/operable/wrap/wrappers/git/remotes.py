"""Plans and reads `fetch`, `pull` and `clone`. A plan asks the remote what it has, and takes nothing."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.endings import shown
from operable.wrap.fields import put

from .push import distrust, is_folder
from .settings import read_settings
from .state import (
    commits_between,
    conflicts,
    current_branch,
    drained,
    head,
    head_moved,
    ref_updates,
    refs,
    resolved,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_HOW = {"ff-only": ["--ff-only", "--no-rebase"], "merge": ["--no-rebase", "--ff"], "rebase": ["--rebase"]}
_REMOTE_REFS = 100_000


def plan_fetch(upstream: Upstream) -> Iterator[Change]:
    inputs = upstream.inputs
    remote, own = inputs["remote"], refs(upstream)
    known = {name: value for _, name, value in read_settings(upstream, [])}
    specs = [value for _, name, value in read_settings(upstream, []) if name == f"remote.{remote}.fetch"]
    theirs = _asked(upstream, remote, inputs["refs"])
    if inputs["refs"]:
        yield from _named(inputs["refs"], theirs, own, specs, remote)
        return
    if not specs and f"remote.{remote}.url" not in known:
        yield Change("fetch", "FETCH_HEAD", new=theirs.get(b"HEAD"))
        return
    seen = set()
    for ref, value in theirs.items():
        local = _tracked(ref, [*specs, *(["refs/tags/*:refs/tags/*"] if inputs.get("tags") else [])])
        if local is None:
            continue
        seen.add(local)
        if own.get(local) != value:
            yield Change("fetch", os.fsdecode(local), old=own.get(local), new=value)
    if inputs.get("prune"):
        beginnings = tuple(os.fsencode(spec.partition(":")[2].removesuffix("*")) for spec in specs)
        for local in own:
            if (
                beginnings
                and local.startswith(beginnings)
                and local not in seen
                and not local.endswith(b"/HEAD")
            ):
                yield Change("prune", os.fsdecode(local), old=own[local])


def _named(
    wanted: list[str], theirs: dict[bytes, str], own: dict[bytes, str], specs: list[str], remote: str
) -> Iterator[Change]:
    """What is fetched by its name: where it goes is in the name, is configured, or is FETCH_HEAD alone."""
    for each in wanted:
        name, _, ours = each.lstrip("+").partition(":")
        found = [(ref, value) for ref, value in theirs.items() if _is_called(ref, name)]
        if not found:
            raise Fail(
                "not_found", "REVISION_NOT_FOUND", f"{shown(remote)} has no {shown(name)}", target=shown(name)
            )
        ref, value = found[0]
        local = os.fsencode(ours) or _tracked(ref, specs)
        if local is None or own.get(local) != value:
            yield Change("fetch", os.fsdecode(local or b"FETCH_HEAD"), old=own.get(local or b""), new=value)


def _asked(upstream: Upstream, remote: str, names: list[str]) -> dict[bytes, str]:
    """What the remote has: by git itself, and by no program that the repository names."""
    distrust(upstream)
    told = upstream.ask(["remote", "get-url", "--", remote], fine=(0, 2, 128)).decode("utf-8", "replace")
    address = told.split("\n")[0] or remote
    program = "git-upload-pack"
    if is_folder(address):
        upstream.do_without("network", "sockets")
        program = "git -c core.alternateRefsCommand= -c core.fsmonitor=false upload-pack"
    wanted = [name.lstrip("+").partition(":")[0] for name in names]
    words = ["ls-remote", "--quiet", f"--upload-pack={program}", "--", remote, *wanted]
    lines = upstream.ask(words).split(b"\n")[:-1]
    pairs = (line.partition(b"\t") for line in lines[:_REMOTE_REFS])
    return {ref: value.decode("ascii") for value, _, ref in pairs if not ref.endswith(b"^{}")}


def _is_called(ref: bytes, name: str) -> bool:
    raw = os.fsencode(name)
    return ref == raw or ref.endswith(b"/" + raw)


def _tracked(ref: bytes, specs: list[str]) -> bytes | None:
    """Where a ref of the remote is kept here, by the first refspec that fits."""
    for spec in specs:
        theirs, _, ours = os.fsencode(spec.lstrip("+")).partition(b":")
        before, star, behind = theirs.partition(b"*")
        if not ours:
            continue
        if not star and ref == theirs:
            return ours
        if star and ref.startswith(before) and ref.endswith(behind) and len(ref) >= len(before) + len(behind):
            return ours.replace(b"*", ref[len(before) : len(ref) - len(behind)], 1)
    return None


def fetch(upstream: Upstream) -> Iterator[Any]:
    before = refs(upstream)
    fine, moved = drained(upstream), False
    # Also after a failure: some refs may have come.
    for event in ref_updates(upstream, before):
        moved = True
        yield event
    if fine and not moved and upstream.inputs["refs"]:
        # Where no ref keeps it, git remembers only this.
        words = ["rev-parse", "--verify", "--quiet", "FETCH_HEAD"]
        found = upstream.ask(words, fine=(0, 1)).decode("ascii").strip()
        yield {"type": "ref_updated", "ref": "FETCH_HEAD", "old": None, "new": found, "state": "new"}


def plan_pull(upstream: Upstream) -> Iterator[Change]:
    branch = current_branch(upstream)
    name = os.fsdecode(branch or b"")
    remote, ref = _followed(upstream, name)
    current = head(upstream)
    theirs = _asked(upstream, remote, [ref])
    found = [value for each, value in theirs.items() if _is_called(each, ref)]
    if not found:
        raise Fail(
            "not_found", "REVISION_NOT_FOUND", f"{shown(remote)} has no {shown(ref)}", target=shown(ref)
        )
    if resolved(upstream, found[0]) and current and not commits_between(upstream, current, found[0]):
        return  # everything is here already
    details = {"how": upstream.inputs["how"], "old": current or None, "new": found[0]}
    yield Change("pull", name or "HEAD", remote=remote, ref=ref, **details)


def _followed(upstream: Upstream, branch: str) -> tuple[str, str]:
    """The remote and its branch: as they were given, or as the current branch follows them."""
    inputs = upstream.inputs
    settings = {name: value for _, name, value in read_settings(upstream, [])}
    remote = inputs.get("remote") or settings.get(f"branch.{branch}.remote", "")
    ref = inputs.get("branch") or ("" if inputs.get("remote") else settings.get(f"branch.{branch}.merge", ""))
    if remote and ref:
        return remote, ref
    hint = "name both: operable wrap git pull origin main"
    message = "no branch of a remote is named" if inputs.get("remote") else "the branch follows no other one"
    raise Fail("config", "NO_UPSTREAM", message, hint=hint, target=shown(branch) or "HEAD")


def pull(upstream: Upstream) -> Iterator[Any]:
    inputs, before, known = upstream.inputs, head(upstream), refs(upstream)
    words = [*upstream.words(), *_HOW[inputs["how"]], "--"]
    words += [each for each in (inputs.get("remote"), inputs.get("branch")) if each]
    fine = drained(upstream, words)
    remote = [event for event in ref_updates(upstream, known) if not event["ref"].startswith("refs/heads/")]
    yield from remote
    if fine:
        yield from head_moved(upstream, "pull", before)
    else:
        merge, rebase = "operable wrap git merge-abort --confirm", "operable wrap git rebase-abort --confirm"
        yield from conflicts(upstream, f"to give up: {rebase if inputs['how'] == 'rebase' else merge}")


def plan_clone(upstream: Upstream) -> Iterator[Change]:
    folder = _folder(upstream.inputs)
    if os.path.lexists(folder) and not (os.path.isdir(folder) and not os.listdir(folder)):
        hint = "name another folder"
        raise Fail(
            "conflict", "GIT_EXISTS", f"{shown(folder)} is there already", hint=hint, target=shown(folder)
        )
    url = upstream.inputs["url"]
    if is_folder(url) and not os.path.exists(url.removeprefix("file://")):
        raise Fail("not_found", "REMOTE_NOT_FOUND", f"there is no {shown(url)}", target=shown(url))
    yield Change("clone", folder)


def _folder(inputs: dict[str, Any]) -> str:
    """The new folder; without a name, the last part of the address."""
    if inputs.get("folder"):
        return str(inputs["folder"])
    last = (
        inputs["url"]
        .rstrip("/")
        .removesuffix("/.git")
        .rpartition("/")[2]
        .rpartition(":")[2]
        .removesuffix(".git")
    )
    if not last or last.startswith("-") or last in (".", ".."):
        raise Fail(
            "usage", "MISSING_ARGUMENT", "the address has no name for a folder: name it", target="folder"
        )
    return f"{last}.git" if inputs.get("bare") else last


def cloned(upstream: Upstream) -> Iterator[Any]:
    folder = upstream.inputs["folder"] = _folder(upstream.inputs)
    if not drained(upstream):
        return
    event: dict[str, Any] = {"type": "cloned", "commit": None, "branch": None}
    put(event, "path", os.fsencode(os.path.abspath(folder)))
    commit = upstream.ask(["-C", folder, "rev-parse", "--verify", "--quiet", "HEAD"], fine=(0, 1)).strip()
    branch = upstream.ask(["-C", folder, "symbolic-ref", "--quiet", "HEAD"], fine=(0, 1)).removesuffix(b"\n")
    event["commit"] = commit.decode("ascii") or None
    if branch:
        put(event, "branch", branch.removeprefix(b"refs/heads/"))
    yield event
