"""Submodules, looked into one by one: git would start a process for each, which a command that reads may not."""

from __future__ import annotations

import os

from .settings import idle_filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# The names of a million files.
NAMES_LIMIT = 128 * 1024 * 1024
# Submodules within submodules that are looked into.
_DEEPEST = 8


def stopped_at_submodule(upstream: Upstream) -> bool:
    """Whether git gave up because it may not start itself inside of a submodule. It prints nothing before that."""
    end = upstream.end
    return end is not None and end.status == 128 and "in submodule" in end.stderr.text()


def ignore_submodules(upstream: Upstream) -> None:
    """Let git compare the commits of submodules alone."""
    argv = [
        word.replace("--ignore-submodules=none", "--ignore-submodules=dirty")
        for word in upstream.command.argv
    ]
    upstream.command = upstream.command.replace(argv=argv)


def raw_path(row: dict[str, Any]) -> bytes:
    encoded = row.get("path_b64")
    if encoded is None:
        return str(row["path"]).encode("utf-8", "surrogateescape")
    from binascii import a2b_base64

    return a2b_base64(encoded)


def changed_submodules(upstream: Upstream) -> dict[bytes, tuple[str, bytes]]:
    """Each submodule whose work tree differs: its path, the flags of `status` (`MU`), and the commit in the index."""
    top = (
        upstream.ask(["rev-parse", "--show-toplevel"]).removesuffix(b"\n").decode("utf-8", "surrogateescape")
    )
    paths = upstream.inputs.get("paths") or []
    words = ["ls-files", "--full-name", "--stage", "-z", "--", *paths] if paths else _listing(top)
    return dict(_inside(upstream, top, words, depth=0))


def _listing(folder: str) -> list[str]:
    return ["-C", folder, "ls-files", "--full-name", "--stage", "-z"]


def _inside(
    upstream: Upstream, top: str, words: list[str], depth: int
) -> Iterator[tuple[bytes, tuple[str, bytes]]]:
    for record in upstream.ask(words, limit=NAMES_LIMIT).split(b"\0")[:-1]:
        about, _, path = record.partition(b"\t")
        folder = os.path.join(top, os.fsdecode(path))
        if not about.startswith(b"160000 ") or not os.path.lexists(os.path.join(folder, ".git")):
            continue
        at = ["-C", folder]
        idle_filters(upstream, at)
        told = upstream.ask(
            [*at, "status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"]
        )
        kinds = {record[:2] for record in told.split(b"\0")}
        # A level more for each submodule of a submodule; deeper nesting hides something.
        nested = (
            []
            if depth > _DEEPEST
            else [flags for _, (flags, _) in _inside(upstream, folder, _listing(folder), depth + 1)]
        )
        modified = bool(kinds & {b"1 ", b"2 ", b"u "}) or any("M" in flags for flags in nested)
        untracked = b"? " in kinds or any("U" in flags for flags in nested)
        if modified or untracked:
            yield path, (("M" if modified else ".") + ("U" if untracked else "."), about.split(b" ")[1])
