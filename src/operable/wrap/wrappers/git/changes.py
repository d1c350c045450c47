"""Plans and reads what changes a repository: `init`, `add` and `commit`."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.tool.framework import Change, Warn
from operable.wrap.fields import put

from .history import read_commit, unquoted
from .settings import idle_filters
from .status import status
from .submodules import NAMES_LIMIT
from .trees import raw_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream


def initialized(upstream: Upstream) -> Iterator[Any]:
    for _ in upstream.chunks():
        pass  # --quiet says nothing
    if upstream.end is not None and upstream.end.status == 0:
        event: dict[str, Any] = {"type": "initialized"}
        words = ["-C", upstream.inputs["directory"], "rev-parse", "--absolute-git-dir"]
        put(event, "path", upstream.ask(words).removesuffix(b"\n"))
        yield event


def plan_add(upstream: Upstream) -> Iterator[Any]:
    """What differs from the index below these paths."""
    _refuse_paths(upstream, upstream.inputs["paths"])
    words = ["status", "--porcelain=v2", "-z", "--untracked-files=all"]
    # What is inside of a submodule is not staged here.
    words += ["--ignore-submodules=dirty", "--", *upstream.inputs["paths"]]
    upstream.command = upstream.command.replace(argv=words, options={})
    for record in status(upstream):
        if isinstance(record, Warn):
            yield record
        elif record["type"] == "change" and (record["worktree"] != "." or record["state"] == "untracked"):
            yield Change("stage", record["path"], state=record["state"], **_bytes(record))
    yield from upstream.settle()


def _refuse_paths(upstream: Upstream, paths: list[str]) -> None:
    """Fail for paths that `git add` refuses: not there, or ignored. Its own dry run takes the lock of the index."""
    for path in paths:
        if not os.path.lexists(path) and not upstream.ask(["ls-files", "-z", "--", path], limit=NAMES_LIMIT):
            message = f"there is no {path[:200]}, and git does not know it"
            raise Fail("not_found", "PATH_NOT_FOUND", message, target=path[:200])
    # `check-ignore` says 1 if nothing is ignored. It takes no literal paths, and of others only a colon means something.
    words = [
        "--no-literal-pathspecs",
        "check-ignore",
        "--",
        *(f"./{path}" if path[:1] == ":" else path for path in paths),
    ]
    ignored = upstream.ask(words, fine=(0, 1)).split(b"\n")[:-1]
    if ignored:
        shown = unquoted(ignored[0]).decode("utf-8", "replace")[:200]
        message, hint = f"{shown} is ignored by a .gitignore", "change .gitignore first"
        raise Fail("conflict", "PATH_IGNORED", message, hint=hint, target=shown)


def staged(upstream: Upstream) -> Iterator[Any]:
    for _ in upstream.chunks():
        pass  # it says nothing
    if upstream.end is None or upstream.end.status != 0:
        return
    words = ["diff", "--cached", "--name-only", "--no-renames", "-z", "--", *upstream.inputs["paths"]]
    for name in upstream.ask(words).split(b"\0")[:-1]:
        event: dict[str, Any] = {"type": "staged"}
        put(event, "path", name)
        yield event


def message(inputs: dict[str, Any]) -> bytes:
    """What `commit --file=-` reads."""
    return str(inputs["message"]).encode("utf-8", "surrogateescape")


def plan_commit(upstream: Upstream) -> Iterator[Change]:
    """What differs from HEAD and would be in the commit. `commit --dry-run` writes to the index, this writes nothing."""
    inputs, seen = upstream.inputs, False
    words = ["diff", "--raw", "-z", "--no-abbrev", "--find-renames", "--no-ext-diff", "--no-textconv"]
    # What is inside of a submodule is not committed here.
    words.append("--ignore-submodules=dirty")
    words += ["HEAD"] if inputs.get("all") and _has_head(upstream) else ["--cached"]
    upstream.command = upstream.command.replace(argv=[*words, "--"], options={})
    idle_filters(upstream)
    for event, _ in raw_changes(upstream):
        seen = True
        yield Change("commit", event["path"], change=event["change"], **_bytes(event))
    yield from upstream.settle()
    if not seen and inputs.get("allow_empty"):
        yield Change("commit", "HEAD", change="empty")
    elif not seen:
        raise nothing_to_commit()


def _has_head(upstream: Upstream) -> bool:
    """Whether there is a commit already: of an empty repository, `log --all` shows nothing and does not fail."""
    return bool(upstream.ask(["log", "-1", "--format=%H", "--all", "--"]))


def _bytes(event: dict[str, Any]) -> dict[str, Any]:
    return {"path_b64": event["path_b64"]} if "path_b64" in event else {}


def commit(upstream: Upstream) -> Iterator[Any]:
    before = _head(upstream)
    for _ in upstream.chunks():
        pass  # --quiet says nothing, and what hooks print is not ours
    if upstream.end is None or upstream.end.status != 0:
        return
    if _head(upstream) == before:  # git says 0, and there is no commit that it could be about
        upstream.failure = nothing_to_commit()
        return
    yield read_commit(upstream, "HEAD")


def nothing_to_commit() -> Fail:
    hint = "add files first (git add), or give --all or --allow-empty"
    return Fail("conflict", "NOTHING_TO_COMMIT", "nothing would be in the commit", hint=hint)


def _head(upstream: Upstream) -> bytes:
    return upstream.ask(["rev-parse", "--verify", "--quiet", "HEAD"], fine=(0, 1))
