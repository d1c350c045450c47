"""Backups with restic: what it prints with `--json`, and what that leaves out asked for in other ways.

What is forgotten is decided once: the plan has the snapshots that restic's own dry run names, and the second phase removes
exactly these, by their ids, whatever has been added meanwhile.
"""

from __future__ import annotations

import os
import re

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_url
from operable.tool.framework import Change, Progress, Warn
from operable.wrap.fields import put
from operable.wrap.upstream import RECORD_LIMIT
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# The snapshots to forget, under a name that no input has.
_IDS = "snapshots of the plan"
# So many folders are read for the bytes of their names; each takes the time of one more start of the program.
_MOST_TREES = 32
# Repositories that are not in a folder, by the beginning of their address; and those that another program leads to.
_BEHIND_PROGRAMS = ("sftp", "rclone")
_REMOTE = (*_BEHIND_PROGRAMS, "azure", "b2", "gs", "rest", "s3", "swift")
_COUNTS = ("files_new", "files_changed", "files_unmodified", "dirs_new", "dirs_changed", "dirs_unmodified")
_SIZES = ("data_added", "total_files_processed", "total_bytes_processed")
_KEEP = (
    "keep_last",
    "keep_hourly",
    "keep_daily",
    "keep_weekly",
    "keep_monthly",
    "keep_yearly",
    "keep_within",
)


# -- looking


def ls(upstream: Upstream) -> Iterator[Any]:
    names: _Names | None = None
    for message in _messages(upstream):
        if not isinstance(message, dict):
            yield message
        elif message.get("struct_type") == "snapshot":
            names = _Names(upstream, message["tree"])
        else:
            event = _node("node", message)
            raw = names.raw(event["path"]) if names is not None and event.pop("lossy", False) else None
            if raw is not None:
                put(event, "path", raw)
            elif "\ufffd" in event["path"]:
                event["lossy"] = True
            yield event
    if names is None and upstream.failure is None:
        # It ignores what it does not find, and calls that a success.
        name = upstream.inputs["snapshot"]
        upstream.failure = Fail(
            "not_found", "SNAPSHOT_NOT_FOUND", f"there is no snapshot {name}", target=name
        )


class _Names:
    """The bytes of names that the program's JSON mutilates: in the repository they are kept as they are, in Go's quotes."""

    def __init__(self, upstream: Upstream, root: str) -> None:
        self._upstream = upstream
        self._root = root
        self._trees: dict[str, list[tuple[bytes, str | None]]] = {}

    def raw(self, path: str) -> bytes | None:
        """The path that is shown as this one; None where several are, or too many folders would have to be read."""
        tree: str | None = self._root
        found = b""
        for part in path.split("/")[1:]:
            same = [each for each in self._nodes(tree) if _mutilated(each[0]) == part]
            if len(same) != 1:
                return None
            found += b"/" + same[0][0]
            tree = same[0][1]
        return found

    def _nodes(self, tree: str | None) -> list[tuple[bytes, str | None]]:
        if tree is None or (tree not in self._trees and len(self._trees) >= _MOST_TREES):
            return []
        if tree not in self._trees:
            document = _asked(self._upstream, ["cat", "--no-lock", "blob", tree])
            nodes = document.get("nodes") or []
            self._trees[tree] = [(_unquoted(each["name"]), each.get("subtree")) for each in nodes]
        return self._trees[tree]


_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _unquoted(text: str) -> bytes:
    """What Go's strconv.Quote was given."""

    def put_back(found: re.Match[str]) -> str:
        word = found[1]
        if word[0] == "x" and len(word) > 1:
            return bytes.fromhex(word[1:]).decode("utf-8", "surrogateescape")
        return chr(int(word[1:], 16)) if word[0] in "uU" and len(word) > 1 else _LETTERS.get(word, word)

    return _ESCAPE.sub(put_back, text).encode("utf-8", "surrogateescape")


def _mutilated(raw: bytes) -> str:
    """A name as Go writes it into JSON: U+FFFD for each byte that is not UTF-8."""
    text = raw.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= letter <= "\udcff" else letter for letter in text)


def find(upstream: Upstream) -> Iterator[Any]:
    for group in _array(upstream):
        if not isinstance(group, dict):
            yield group
            continue
        for match in group["matches"]:
            yield _node("match", match) | {"snapshot": group["snapshot"]}


def snapshots(upstream: Upstream) -> Iterator[Any]:
    for each in _array(upstream):
        yield {"type": "snapshot", **each} if isinstance(each, dict) else each


def stats(upstream: Upstream) -> Iterator[Any]:
    for each in _array(upstream):
        yield {"type": "stats", **each} if isinstance(each, dict) else each


def check(upstream: Upstream) -> Iterator[Any]:
    """It prints prose whatever the mode; whether the repository is sound is its exit status."""
    for _ in _run(upstream):
        pass
    if upstream.end is not None and upstream.end.status == 0:
        yield {"type": "checked", "ok": True, "repo": _repo(upstream)}


def _node(kind: str, native: dict[str, Any]) -> dict[str, Any]:
    native.pop("struct_type", None)
    native.pop("message_type", None)
    event = {"type": kind, "path": native.pop("path"), "kind": native.pop("type", None), **native}
    if "\ufffd" in event["path"]:
        event["lossy"] = True
    return event


# -- changing


def init(upstream: Upstream) -> Iterator[Any]:
    for _ in _run(upstream):
        pass  # prose up to version 0.15; the repository itself is asked
    if upstream.end is not None and upstream.end.status == 0:
        made = _asked(upstream, ["cat", "config"])
        yield {"type": "repository", "id": made["id"], "version": made["version"], "repo": _repo(upstream)}


def plan_backup(upstream: Upstream) -> Iterator[Any]:
    """Each path, with restic's own dry run for a reader of the plan: a real one would read everything twice."""
    for path in upstream.inputs["paths"]:
        if not os.path.lexists(path):
            raise Fail("not_found", "PATH_NOT_FOUND", "there is nothing to back up", target=path)
    details: dict[str, Any] = {}
    if upstream.context.dry_run:
        words = upstream.words()
        for message in _messages(upstream, [words[0], "--dry-run", "--no-lock", *words[1:]]):
            if isinstance(message, dict):
                if message.get("message_type") == "summary":
                    upstream.complete = True
                    details = {name: message.get(name, 0) for name in (*_COUNTS, *_SIZES)}
            else:
                yield message
        yield from upstream.settle()
    for path in upstream.inputs["paths"]:
        yield Change("backup", path, **details)


def backup(upstream: Upstream) -> Iterator[Any]:
    for message in _messages(upstream):
        kind = message.get("message_type") if isinstance(message, dict) else None
        if kind == "status":
            done, total = message.get("bytes_done", 0), message.get("total_bytes")
            yield Progress(done=done, total=total, unit="bytes")
        elif kind == "error":
            problem = message.get("error")
            text = problem.get("message") if isinstance(problem, dict) else problem
            yield Warn("BACKUP_ITEM_FAILED", str(text or "it gives no reason"), item=message.get("item"))
        elif kind == "summary":
            upstream.complete = True
            counts = {name: message.get(name, 0) for name in (*_COUNTS, *_SIZES)}
            yield {"type": "snapshot_created", "id": message.get("snapshot_id"), **counts}
        elif kind is None:
            yield message


def plan_forget(upstream: Upstream) -> Iterator[Any]:
    """Restic's own dry run: one change for each snapshot that it would remove."""
    inputs = upstream.inputs
    words = [word for word in upstream.words() if word != "forget"]
    if inputs["snapshots"]:
        found = _named(upstream)
    elif not any(inputs.get(name) for name in (*_KEEP, "keep_tag")):
        raise Fail(
            "usage",
            "MISSING_OPERAND",
            "say which snapshots to forget: name them, or say which to keep",
            hint="for example --keep-daily 7",
        )
    else:
        groups = _asked(upstream, ["forget", "--dry-run", "--no-lock", "--json", *words])
        found = [each for group in groups or [] for each in group.get("remove") or []]
    for each in sorted(found, key=lambda each: str(each["id"])):
        yield Change(
            "forget", each["id"], time=each["time"], paths=each["paths"], hostname=each.get("hostname")
        )
    inputs[_IDS] = found


def _named(upstream: Upstream) -> list[dict[str, Any]]:
    known = _asked(upstream, ["snapshots", "--json", "--no-lock"]) or []
    found = []
    for name in upstream.inputs["snapshots"]:
        same = [each for each in known if each["id"].startswith(name)]
        if len(same) != 1:
            raise Fail("not_found", "SNAPSHOT_NOT_FOUND", f"{name} names no single snapshot", target=name)
        found += [each for each in same if each not in found]
    return found


def forget(upstream: Upstream) -> Iterator[Any]:
    chosen = upstream.inputs[_IDS]
    for _ in _run(upstream, ["forget", "--json", "--", *(each["id"] for each in chosen)]):
        pass  # nothing, or prose; what has become of the snapshots is asked
    if upstream.end is not None and upstream.end.status == 0:
        left = {each["id"] for each in _asked(upstream, ["snapshots", "--json", "--no-lock"]) or []}
        for each in chosen:
            if each["id"] not in left:
                yield {
                    "type": "snapshot_removed",
                    "id": each["id"],
                    "time": each["time"],
                    "paths": each["paths"],
                }
        if any(each["id"] in left for each in chosen):
            upstream.failure = Fail("partial", "SNAPSHOTS_LEFT", "some snapshots are still there")


def plan_restore(upstream: Upstream) -> Iterator[Any]:
    """One snapshot by its whole id, into a folder where nothing can be overwritten."""
    upstream.words()
    inputs = upstream.inputs
    target = inputs["target"]
    if os.path.lexists(target) and (not os.path.isdir(target) or os.listdir(target)):
        hint = "name a folder that is empty, or not there"
        raise Fail(
            "conflict",
            "TARGET_NOT_EMPTY",
            "there is something in the target already",
            hint=hint,
            target=target,
        )
    chosen = _newest(upstream) if inputs["snapshot"] == "latest" else _one(upstream, inputs["snapshot"])
    details = {name: inputs[name] for name in ("include", "exclude") if inputs[name]}
    yield Change(
        "restore", target, snapshot=chosen["id"], time=chosen["time"], paths=chosen["paths"], **details
    )
    inputs[_IDS] = chosen


def _newest(upstream: Upstream) -> dict[str, Any]:
    known = _asked(upstream, ["snapshots", "--json", "--no-lock"]) or []
    if not known:
        raise Fail("not_found", "SNAPSHOT_NOT_FOUND", "the repository has no snapshot", target="latest")
    newest: dict[str, Any] = known[-1]  # they are in the order of their times
    return newest


def _one(upstream: Upstream, name: str) -> dict[str, Any]:
    upstream.inputs["snapshots"] = [name]
    (found,) = _named(upstream)
    return found


def restore(upstream: Upstream) -> Iterator[Any]:
    """It prints prose up to 0.15: what is there afterwards is counted."""
    inputs = upstream.inputs
    chosen, target = inputs[_IDS], inputs["target"]
    words = ["restore", f"--target={target}", *(["--verify"] if inputs["verify"] else [])]
    for name in ("include", "exclude"):
        words += [f"--{name}={each}" for each in inputs[name]]
    for _ in _run(upstream, [*words, "--", chosen["id"]]):
        pass
    if upstream.end is None or upstream.end.status != 0:
        return
    files, size = _counted(target)
    event = {"type": "restored", "snapshot": chosen["id"], "time": chosen["time"], "path": target}
    yield event | {"entries": files, "bytes": size, "verified": inputs["verify"]}


def _counted(folder: str) -> tuple[int, int]:
    """How many files, folders and links are there now, and how many bytes the files have."""
    count = size = 0
    for place, folders, files in os.walk(os.fsencode(folder)):
        count += len(folders) + len(files)
        size += sum(os.lstat(os.path.join(place, name)).st_size for name in files)
    return count, size


# -- reading


def _run(upstream: Upstream, argv: list[str] | None = None) -> Iterator[bytes]:
    _choose(upstream)
    return upstream.chunks(_uncached(upstream, upstream.words() if argv is None else argv))


def _uncached(upstream: Upstream, words: list[str]) -> list[str]:
    """Looking keeps nothing, also not in the cache of restic."""
    return [words[0], "--no-cache", *words[1:]] if upstream.command.reads else words


def _choose(upstream: Upstream) -> None:
    """The repository that was asked for; its place may contain a password, which other users must not see."""
    if upstream.inputs.get("repo"):
        upstream.env = {"RESTIC_REPOSITORY": upstream.inputs["repo"]}
    if upstream.command.reads:
        upstream.do_without(*_unneeded(upstream))


def _unneeded(upstream: Upstream) -> Iterator[str]:
    """Needs that this repository does not have: one in a folder needs no network, few need another program."""
    place = upstream.inputs.get("repo") or os.environ.get("RESTIC_REPOSITORY", "")
    kind = place.partition(":")[0]
    if place and kind not in _REMOTE:
        yield from ("network", "sockets")
    if place and kind not in _BEHIND_PROGRAMS and not os.environ.get("RESTIC_PASSWORD_COMMAND"):
        yield "programs"


def _messages(upstream: Upstream, argv: list[str] | None = None) -> Iterator[Any]:
    """Objects, one a line; warnings for other lines."""
    rest = b""
    for chunk in _run(upstream, argv):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield _decoded(upstream, line)
        if len(rest) > RECORD_LIMIT:
            raise upstream.too_long(RECORD_LIMIT)
    if rest.strip():
        last = _decoded(upstream, rest)
        yield last
        if not isinstance(last, dict):
            upstream.cut_off()


def _decoded(upstream: Upstream, line: bytes) -> Any:
    try:
        found = decode(line)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else upstream.foreign_line(line)


def _array(upstream: Upstream) -> Iterator[Any]:
    """The elements of one long array, as they come."""
    from operable.wrap.values import Values

    values = Values(RECORD_LIMIT)
    try:
        for chunk in _run(upstream):
            for raw in values.feed(chunk):
                yield _decoded(upstream, raw)
    except OverflowError:
        raise upstream.too_long(RECORD_LIMIT) from None
    rest, whole = values.eof()
    if not whole:
        upstream.cut_off()
    for raw in rest if whole else ():
        if raw != b"null":  # an empty list
            yield _decoded(upstream, raw)


def _asked(upstream: Upstream, words: list[str]) -> Any:
    """One document."""
    _choose(upstream)
    raw = upstream.ask(_uncached(upstream, words))
    try:
        return decode(raw.strip() or b"null")
    except ValueError as problem:
        raise Fail("internal", "UPSTREAM_NON_JSON", f"restic {words[0]} printed no JSON") from problem


def _repo(upstream: Upstream) -> str | None:
    repo = upstream.inputs.get("repo") or os.environ.get("RESTIC_REPOSITORY")
    return None if repo is None else redact_url(repo)
