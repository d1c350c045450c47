"""Reads differences between trees (`--raw -z`), their text, and the files of the index. All are cut at NUL bytes."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.framework import Warn
from operable.wrap.fields import put

from .history import read_commit, shallow_warning
from .settings import idle_filters, unfiltered
from .submodules import changed_submodules, ignore_submodules, stopped_at_submodule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_CHANGES = {
    "A": "added",
    "C": "copied",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "T": "type_changed",
    "U": "unmerged",
}
# The text of a difference as git writes it without the user's configuration: one that `git apply` takes everywhere.
_PLAIN = (
    "--no-ext-diff --no-textconv --find-renames --src-prefix=a/ --dst-prefix=b/ --unified=3 --inter-hunk-context=0"
    " --diff-algorithm=default --submodule=short"
).split()
# The text of a difference has up to this size for one file.
_PATCH = 4 * 1024 * 1024


def diff(upstream: Upstream) -> Iterator[Any]:
    """`diff --raw -z`, and with `patch` the difference of each file, asked for one by one."""
    inputs = upstream.inputs
    words = ["diff", *_PLAIN, "--no-color", "--ignore-submodules=dirty"]
    words += ["--cached"] if inputs.get("staged") else []
    yield from _trees(upstream, [*words, "--end-of-options", *inputs["revisions"], "--"])


def show(upstream: Upstream) -> Iterator[Any]:
    """One commit, then its files: two programs, because only so each has its own framing."""
    revision = upstream.inputs.get("revision") or "HEAD"
    yield from shallow_warning(upstream)
    commit = read_commit(upstream, revision)
    yield commit
    words = ["diff-tree", "--root", "-r", "-m", "--first-parent", "-p", "--no-commit-id", *_PLAIN]
    yield from _trees(upstream, [*words, "--end-of-options", commit["id"], "--"])


def _trees(upstream: Upstream, words: list[str]) -> Iterator[Any]:
    filters, modified = idle_filters(upstream), False
    wanted = upstream.inputs.get("patch")
    # Paths that git reports begin at the top of the work tree, paths that it is given at our folder.
    top = upstream.ask(["rev-parse", "--show-cdup"]).removesuffix(b"\n") if wanted else b""
    for event, names in _looked_into(upstream):
        modified = modified or not event["new_hash"].strip("0")
        if wanted:
            paths = [(top + name).decode("utf-8", "surrogateescape") for name in names]
            try:
                put(event, "patch", upstream.ask([*words, *paths], limit=_PATCH))
            except Fail as fail:
                if fail.code != "OUTPUT_TOO_LARGE":
                    raise
                message = f"the difference of a file is longer than {_PATCH} bytes"
                yield Warn("PATCH_LEFT_OUT", message, target=event["path"])
        yield event
    if filters and modified:
        yield unfiltered(filters)


def _looked_into(upstream: Upstream) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """The same with the submodules whose work trees differ."""
    yield from raw_changes(upstream)
    if not stopped_at_submodule(upstream):
        return
    changed = changed_submodules(upstream)
    idle_filters(upstream)
    ignore_submodules(upstream)
    for event, names in raw_changes(upstream):
        changed.pop(names[-1], None)
        yield event, names
    for path, (_, commit) in changed.items():
        event = {"type": "file_change", "change": "modified", "similarity": None, "original_path": None}
        event |= {"old_mode": "160000", "new_mode": "160000"}
        event |= dict.fromkeys(("old_hash", "new_hash"), commit.decode("ascii"))
        put(event, "path", path)
        yield event, [path]


def raw_changes(upstream: Upstream) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """`:mode mode hash hash status` and one path, or two for what was renamed or copied."""
    event: dict[str, Any] | None = None
    names: list[bytes] = []
    wanted = 0
    for records in upstream.records():
        for record in records:
            if event is None:
                old_mode, new_mode, old_hash, new_hash, kind = record[1:].decode("ascii").split(" ")
                event = {"type": "file_change", "change": _CHANGES.get(kind[0], "unknown")}
                event |= {"similarity": int(kind[1:]) if kind[1:] else None, "original_path": None}
                event |= {
                    "old_mode": old_mode,
                    "new_mode": new_mode,
                    "old_hash": old_hash,
                    "new_hash": new_hash,
                }
                names, wanted = [], 2 if kind[0] in "RC" else 1
                continue
            names.append(record)
            if len(names) == wanted:
                put(event, "path", names[-1])
                if wanted == 2:
                    put(event, "original_path", names[0])
                yield event, names
                event = None
    if event is not None:
        upstream.cut_off()


def ls_files(upstream: Upstream) -> Iterator[Any]:
    for records in upstream.records():
        rows = []
        for record in records:
            about, _, path = record.partition(b"\t")
            mode, blob, stage = about.decode("ascii").split(" ")
            event: dict[str, Any] = {"type": "file", "mode": mode, "hash": blob, "stage": int(stage)}
            put(event, "path", path)
            rows.append(event)
        yield rows
