"""Plans and reads the stash: its entries, what goes there, what comes back."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.fields import put

from .settings import idle_filters
from .state import conflicts, drained
from .trees import raw_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_RAW = ["diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=all"]


def listed(upstream: Upstream) -> Iterator[Any]:
    """What `stash list` prints comes from `log`; asked itself, it would start that as another process."""
    from operable.wrap.parsers.nul import PARSER

    if _newest(upstream):
        yield from PARSER(upstream, upstream.command.parse)


def _newest(upstream: Upstream) -> bytes:
    return upstream.ask(["rev-parse", "--verify", "--quiet", "refs/stash"], fine=(0, 1))


def plan_push(upstream: Upstream) -> Iterator[Any]:
    inputs, seen = upstream.inputs, False
    idle_filters(upstream)
    upstream.command = upstream.command.replace(argv=[*_RAW, "HEAD", "--", *inputs["paths"]], options={})
    for event, _ in raw_changes(upstream):
        seen = True
        yield Change("stash", event["path"], change=event["change"], **_bytes(event))
    yield from upstream.settle()
    if inputs.get("include_untracked"):
        words = ["ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", *inputs["paths"]]
        for name in upstream.ask(words).split(b"\0")[:-1]:
            seen, event = True, {}
            put(event, "path", name)
            yield Change("stash", event["path"], change="untracked", **_bytes(event))
    if not seen:
        raise _nothing()


def _nothing() -> Fail:
    hint = "--include-untracked also takes files that git does not know"
    return Fail("conflict", "NOTHING_TO_STASH", "there are no changes to put away", hint=hint)


def _bytes(event: dict[str, Any]) -> dict[str, Any]:
    return {"path_b64": event["path_b64"]} if "path_b64" in event else {}


def push(upstream: Upstream) -> Iterator[Any]:
    before = _newest(upstream)
    # With literal paths git 2.39 stashes unknown files and leaves them where they are: it means to remove `:/`.
    upstream.inputs["paths"] = [f":(literal){path}" for path in upstream.inputs["paths"]]
    if not drained(upstream):
        return
    if _newest(upstream) == before:  # git says 0 where there was nothing to put away
        upstream.failure = _nothing()
        return
    words = ["log", "-z", "-1", "-g", "--no-show-signature", "--format=%gd%x00%H%x00%gs", "refs/stash", "--"]
    name, commit, message = upstream.ask(words).split(b"\0")[:3]
    event: dict[str, Any] = {"type": "stashed", "name": name.decode("ascii"), "id": commit.decode("ascii")}
    put(event, "message", message)
    yield event


def _entry(upstream: Upstream) -> tuple[str, str]:
    """The name of the entry and its commit; Fail if the stash does not have it."""
    given = upstream.inputs["entry"]
    name = f"stash@{{{given}}}" if given.isdigit() else given
    found = upstream.ask(["rev-parse", "--verify", "--quiet", "--end-of-options", name], fine=(0, 1, 128))
    if not found:
        hint = "see operable wrap git stash list"
        raise Fail("not_found", "STASH_NOT_FOUND", f"there is no {name} in the stash", hint=hint, target=name)
    return name, found.decode("ascii").split()[-1]


def plan_use(upstream: Upstream) -> Iterator[Any]:
    name, commit = _entry(upstream)
    yield Change("apply", name, hash=commit, dropped=upstream.command.name.endswith("pop"))
    upstream.command = upstream.command.replace(argv=[*_RAW, f"{commit}^1", commit, "--"], options={})
    for event, _ in raw_changes(upstream):
        yield Change("change", event["path"], change=event["change"], **_bytes(event))
    yield from upstream.settle()


def pop(upstream: Upstream) -> Iterator[Any]:
    yield from _used(upstream, dropped=True)


def apply(upstream: Upstream) -> Iterator[Any]:
    yield from _used(upstream, dropped=False)


def _used(upstream: Upstream, *, dropped: bool) -> Iterator[Any]:
    name, commit = _entry(upstream)
    if drained(upstream):
        yield {"type": "unstashed", "name": name, "id": commit, "dropped": dropped}
    else:
        yield from conflicts(upstream, "the entry is kept: operable wrap git stash list")


def plan_drop(upstream: Upstream) -> Iterator[Any]:
    name, commit = _entry(upstream)
    yield Change("drop", name, hash=commit)


def drop(upstream: Upstream) -> Iterator[Any]:
    name, commit = _entry(upstream)
    if drained(upstream):
        yield {"type": "dropped", "name": name, "id": commit}
