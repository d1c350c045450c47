"""Reads the formats of git that one table of fields cannot describe. All of them are cut at NUL bytes, but for `blame` and
`push`, whose lines hold nothing that could contain a line end (the text of a blamed line stands alone behind a tab).
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.framework import Change, Warn
from operable.wrap.fields import put

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
_PUSHED = {" ": "updated", "+": "forced", "-": "deleted", "*": "new", "!": "rejected", "=": "unchanged"}
_COMMIT = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B"
# The text of a difference as git writes it without anybody's configuration: one that `git apply` takes everywhere.
_PLAIN = (
    "--no-ext-diff --no-textconv --find-renames --src-prefix=a/ --dst-prefix=b/ --unified=3 --inter-hunk-context=0"
    " --diff-algorithm=default --submodule=short"
).split()
# Whoever asks for the text of a difference gets up to this much of it for one file.
_PATCH = 4 * 1024 * 1024
# The names of a million files.
_NAMES = 128 * 1024 * 1024


# -- status


def status(upstream: Upstream) -> Iterator[Any]:
    """`status --porcelain=v2 -z`: the header of the branch, then a record a file, renamed ones with a second path."""
    branch: dict[str, Any] = {"type": "branch_status", "head": None, "detached": False, "commit": None}
    branch |= {"upstream": None, "ahead": None, "behind": None}
    told = False
    renamed: dict[str, Any] | None = None
    for records in upstream.records():
        rows = []
        for record in records:
            if renamed is not None:
                put(renamed, "original_path", record)
                rows.append(renamed)
                renamed = None
                continue
            if record.startswith(b"# "):
                _header(upstream, branch, record[2:])
                continue
            if not told:
                rows.append(branch)
                told = True
            change = _changed(record)
            if record.startswith(b"2 "):
                renamed = change
            else:
                rows.append(change)
        yield rows
    if renamed is not None:
        upstream.cut_off()
    if not told and (branch["head"] is not None or branch["detached"]):
        yield branch


def _header(upstream: Upstream, branch: dict[str, Any], record: bytes) -> None:
    name, _, value = record.partition(b" ")
    if name == b"branch.oid":
        branch["commit"] = None if value == b"(initial)" else value.decode("ascii")
    elif name == b"branch.head":
        # A branch may be called that, too.
        if value == b"(detached)" and not upstream.ask(["symbolic-ref", "-q", "HEAD"], fine=(0, 1)):
            branch["detached"] = True
        else:
            put(branch, "head", value)
    elif name == b"branch.upstream":
        put(branch, "upstream", value)
    elif name == b"branch.ab":
        ahead, behind = value.split(b" ")
        branch["ahead"], branch["behind"] = int(ahead), -int(behind)


# How many fields stand before the path in each kind of record.
_FIELDS = {b"1": 8, b"2": 9, b"u": 10}


def _changed(record: bytes) -> dict[str, Any]:
    kind = record[:1]
    event: dict[str, Any] = {"type": "change", "index": ".", "worktree": "."}
    event |= {"original_path": None, "score": None, "submodule": None}
    if kind in (b"?", b"!"):
        event["state"] = "untracked" if kind == b"?" else "ignored"
        put(event, "path", record[2:])
        return event
    fields = record.split(b" ", _FIELDS[kind])
    event["state"] = {b"1": "changed", b"2": "renamed", b"u": "unmerged"}[kind]
    event["index"], event["worktree"] = chr(fields[1][0]), chr(fields[1][1])
    submodule = fields[2].decode("ascii")
    event["submodule"] = submodule if submodule.startswith("S") else None
    if kind == b"2":
        event["score"] = int(fields[8][1:])
    put(event, "path", fields[-1])
    return event


# -- history


def log(upstream: Upstream) -> Iterator[Any]:
    from operable.wrap.parsers.nul import PARSER

    yield from _shallow(upstream)
    yield from PARSER(upstream, upstream.command["parse"])


def _shallow(upstream: Upstream) -> Iterator[Warn]:
    """In a shallow clone the oldest commits seem to have no parents, and to have made everything that is in them."""
    told = upstream.ask(["rev-parse", "--is-shallow-repository"], fine=(0, 128))
    if told.strip() == b"true":
        message = (
            "the clone is shallow: its oldest commits seem to have no parents and to add every file and line"
        )
        yield Warn("HISTORY_CUT_OFF", message, hint="git fetch --unshallow")


# -- trees


def diff(upstream: Upstream) -> Iterator[Any]:
    """`diff --raw -z`, and with `patch` the difference of each file, asked for one by one."""
    inputs = upstream.inputs
    words = ["diff", *_PLAIN, "--no-color", "--ignore-submodules=none"]
    words += ["--cached"] if inputs.get("staged") else []
    yield from _trees(upstream, [*words, "--end-of-options", *inputs["revisions"], "--"])


def show(upstream: Upstream) -> Iterator[Any]:
    """One commit, then its files: two programs, because only so each has its own framing."""
    revision = upstream.inputs.get("revision") or "HEAD"
    yield from _shallow(upstream)
    commit = _commit(upstream, revision)
    yield commit
    words = ["diff-tree", "--root", "-r", "-m", "--first-parent", "-p", "--no-commit-id", *_PLAIN]
    yield from _trees(upstream, [*words, "--end-of-options", commit["id"], "--"])


def _trees(upstream: Upstream, words: list[str]) -> Iterator[Any]:
    wanted = upstream.inputs.get("patch")
    # What git tells begins at the top of the work tree, what it is asked for where we are.
    top = upstream.ask(["rev-parse", "--show-cdup"]).removesuffix(b"\n") if wanted else b""
    for event, names in _raw(upstream):
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


def _raw(upstream: Upstream) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
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


# -- refs


def branches(upstream: Upstream) -> Iterator[Any]:
    remotes = upstream.inputs.get("remotes")
    for fields in _refs(upstream, 6):
        if not remotes and not fields[0].startswith(b"refs/heads/"):
            continue
        event: dict[str, Any] = {
            "type": "branch",
            "hash": fields[1].decode("ascii"),
            "current": fields[3] == b"*",
        }
        event["upstream"] = None
        if fields[2]:
            put(event, "upstream", fields[2])
        event["time"] = int(fields[4]) if fields[4] else None
        put(event, "ref", fields[0])
        put(event, "subject", fields[5])
        yield event


def tags(upstream: Upstream) -> Iterator[Any]:
    for fields in _refs(upstream, 6):
        event: dict[str, Any] = {
            "type": "tag",
            "hash": fields[1].decode("ascii"),
            "kind": fields[2].decode("ascii"),
        }
        event["target"] = fields[3].decode("ascii") or None
        event["time"] = int(fields[4]) if fields[4] else None
        put(event, "ref", fields[0])
        put(event, "subject", fields[5])
        yield event


def _refs(upstream: Upstream, count: int) -> Iterator[list[bytes]]:
    """Records of NUL-ended fields; `for-each-ref` puts a line end behind each, so before the name of the next.

    No name of a ref begins with a line end (git-check-ref-format), so that one belongs to the framing.
    """
    pending: list[bytes] = []
    rest = b""
    for chunk in upstream.chunks():
        found = (rest + chunk).split(b"\0")
        rest = found.pop()
        pending += found
        while len(pending) >= count:
            fields, pending = pending[:count], pending[count:]
            yield [fields[0].removeprefix(b"\n"), *fields[1:]]
    if pending or rest not in (b"", b"\n"):
        upstream.cut_off()


# -- lines


def blame(upstream: Upstream) -> Iterator[Any]:
    """`--line-porcelain`: a header with the hash, a line for each fact, then a tab and the text of the line."""
    if upstream.inputs.get("last") is not None:
        upstream.inputs["first"] = upstream.inputs.get("first") or 1  # git has one option for both
    yield from _shallow(upstream)
    facts: dict[bytes, bytes] = {}
    head: list[bytes] = []
    for block in upstream.blocks():
        rows = []
        for line in block.split(b"\n")[:-1]:
            if line.startswith(b"\t"):
                rows.append(_line(head, facts, line[1:]))
                head, facts = [], {}
            elif not head:
                head = line.split(b" ")
            else:
                name, _, value = line.partition(b" ")
                facts[name] = value
        yield rows
    if head:
        upstream.cut_off()


def _line(head: list[bytes], facts: dict[bytes, bytes], text: bytes) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "line", "line_number": int(head[2]), "original_line": int(head[1])}
    event |= {"hash": head[0].decode("ascii"), "author_time": int(facts[b"author-time"])}
    put(event, "author_name", facts[b"author"])
    put(event, "author_email", facts[b"author-mail"][1:-1])
    put(event, "summary", facts.get(b"summary", b""))
    put(event, "path", _unquoted(facts[b"filename"]))
    put(event, "text", text)
    return event


def _unquoted(name: bytes) -> bytes:
    """A path as git writes it where a line end would end it: in quotes, with the escapes of C."""
    if not (name.startswith(b'"') and name.endswith(b'"') and len(name) > 1):
        return name
    import re

    short = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

    def plain(found: re.Match[bytes]) -> bytes:
        code = found[1]
        return bytes([int(code, 8)]) if code.isdigit() else short.get(code, code)

    return re.sub(rb"\\([0-7]{3}|.)", plain, name[1:-1], flags=re.DOTALL)


# -- changes


def initialized(upstream: Upstream) -> Iterator[Any]:
    for _ in upstream.chunks():
        pass  # --quiet says nothing
    if upstream.end is not None and upstream.end.status == 0:
        event: dict[str, Any] = {"type": "initialized"}
        words = ["-C", upstream.inputs["directory"], "rev-parse", "--absolute-git-dir"]
        put(event, "path", upstream.ask(words).removesuffix(b"\n"))
        yield event


def plan_add(upstream: Upstream) -> Iterator[Change]:
    """What differs from the index below these paths."""
    # Only git's own dry run knows which paths it would refuse: those that are ignored, and those that are not there.
    upstream.ask(["add", "--dry-run", "--", *upstream.inputs["paths"]], limit=_NAMES)
    words = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--", *upstream.inputs["paths"]]
    upstream.command = {**upstream.command, "argv": words, "options": {}}
    for record in _single(status(upstream)):
        if record["type"] == "change" and (record["worktree"] != "." or record["state"] == "untracked"):
            yield Change("stage", record["path"], state=record["state"], **_bytes(record))
    yield from upstream.settle()


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


def _single(rows: Iterator[Any]) -> Iterator[Any]:
    for row in rows:
        yield from row if isinstance(row, list) else [row]


def message(inputs: dict[str, Any]) -> bytes:
    """What `commit --file=-` reads."""
    return str(inputs["message"]).encode("utf-8", "surrogateescape")


def plan_commit(upstream: Upstream) -> Iterator[Change]:
    """What differs from HEAD and would be in the commit. `commit --dry-run` writes to the index, this writes nothing."""
    inputs, seen = upstream.inputs, False
    words = ["diff", "--raw", "-z", "--no-abbrev", "--find-renames", "--no-ext-diff"]
    words += ["HEAD"] if inputs.get("all") and _has_head(upstream) else ["--cached"]
    upstream.command = {**upstream.command, "argv": [*words, "--"], "options": {}}
    for event, _ in _raw(upstream):
        seen = True
        yield Change("commit", event["path"], change=event["change"], **_bytes(event))
    yield from upstream.settle()
    if not seen and inputs.get("allow_empty"):
        yield Change("commit", "HEAD", change="empty")


def _has_head(upstream: Upstream) -> bool:
    """Whether there is a commit already: of an empty repository, `log --all` shows nothing and does not fail."""
    return bool(upstream.ask(["log", "-1", "--format=%H", "--all", "--"]))


def _bytes(event: dict[str, Any]) -> dict[str, Any]:
    return {"path_b64": event["path_b64"]} if "path_b64" in event else {}


def commit(upstream: Upstream) -> Iterator[Any]:
    for _ in upstream.chunks():
        pass  # --quiet says nothing, and what hooks print is not ours
    if upstream.end is not None and upstream.end.status == 0:
        yield _commit(upstream, "HEAD")


def _commit(upstream: Upstream, revision: str) -> dict[str, Any]:
    words = ["log", "-z", "-1", "--no-notes", "--no-patch", _COMMIT, "--end-of-options", revision, "--"]
    fields = upstream.ask(words).split(b"\0")
    if len(fields) == 1:  # a file, a tree, an empty range: git finds nothing to log, and is content
        message = "that names no commit"
        hint = "name a commit, a branch or a tag"
        raise Fail("validation", "NOT_A_COMMIT", message, hint=hint, target=revision[:80])
    event: dict[str, Any] = {
        "type": "commit",
        "id": fields[0].decode("ascii"),
        "tree": fields[1].decode("ascii"),
    }
    event |= {
        "parents": fields[2].decode("ascii").split(),
        "author_time": int(fields[5]),
        "committer_time": int(fields[8]),
    }
    names = {"author_name": 3, "author_email": 4, "committer_name": 6, "committer_email": 7, "message": 9}
    for name, place in names.items():
        put(event, name, fields[place])
    return event


def plan_push(upstream: Upstream) -> Iterator[Change]:
    """Git's own dry run: what would change at the remote."""
    words = upstream.words()
    words[1:1] = ["--dry-run", "--no-verify"]  # git runs the hook `pre-push` in a dry run, too
    upstream.command = {**upstream.command, "argv": words, "options": {}}
    for event in push(upstream):
        if event["state"] != "unchanged":
            fields = {name: value for name, value in event.items() if name not in ("type", "remote_ref")}
            yield Change("push", event["remote_ref"], **fields)
    yield from upstream.settle()


def push(upstream: Upstream) -> Iterator[Any]:
    """`flag TAB from:to TAB summary`; refs contain neither tabs nor line ends. The address of the remote is left out."""
    for block in upstream.blocks():
        for line in block.split(b"\n"):
            fields = line.split(b"\t")
            state = _PUSHED.get(fields[0].decode("ascii", "replace"))
            if len(fields) != 3 or state is None:
                continue  # `To <address>` and `Done`
            local, _, remote = fields[1].rpartition(b":")
            event: dict[str, Any] = {"type": "pushed", "state": state}
            put(event, "local", local)
            put(event, "remote_ref", remote)
            event["summary"] = fields[2].decode("utf-8", "replace")
            yield event


def tag_created(upstream: Upstream) -> Iterator[Any]:
    for _ in upstream.chunks():
        pass  # it says nothing
    if upstream.end is not None and upstream.end.status == 0:
        ref = f"refs/tags/{upstream.inputs['name']}"
        found = upstream.ask(["rev-parse", "--verify", "--end-of-options", ref]).decode("ascii").split()
        yield {"type": "tag_created", "ref": ref, "hash": found[-1]}
