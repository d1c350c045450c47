"""Reads the formats of git that one table of fields cannot describe. All of them are cut at NUL bytes, except for `blame`
and `push`, whose lines contain nothing that could contain a line end (the text of a blamed line is alone behind a tab).
"""

from __future__ import annotations

import os
import re

from operable.kernel.errors import Fail
from operable.tool.declare.framework import Change, Warn
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
# The text of a difference as git writes it without the user's configuration: one that `git apply` takes everywhere.
_PLAIN = (
    "--no-ext-diff --no-textconv --find-renames --src-prefix=a/ --dst-prefix=b/ --unified=3 --inter-hunk-context=0"
    " --diff-algorithm=default --submodule=short"
).split()
# The text of a difference has up to this size for one file.
_PATCH = 4 * 1024 * 1024
# The names of a million files.
_NAMES = 128 * 1024 * 1024
# Submodules within submodules that are looked into.
_DEEPEST = 8


# -- what a repository would have run

# A filter that has no command does nothing; one that is required must not be.
_IDLE_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}
_FILTER = re.compile(r"filter\.(.*)\.(?:clean|smudge|process|required)", re.DOTALL | re.IGNORECASE)
# Settings whose value is a command, as far as a push meets them.
_COMMANDS = re.compile(
    r"core\.(sshcommand|askpass|gitproxy|alternaterefscommand)|credential(\..*)?\.helper|remote\..*\.vcs|gpg(\..*)?\.program",
    re.DOTALL | re.IGNORECASE,
)
# Of the repository itself; whatever else git reads belongs to the user or the system.
_OWN = ("local", "worktree")


def _settings(upstream: Upstream, at: list[str]) -> list[tuple[str, str, str]]:
    """Scope, name and value of each setting that is in force; `at` are words that lead git into another folder."""
    told = upstream.ask([*at, "config", "--list", "--show-scope", "-z"], fine=(0, 1, 128))
    fields = told.decode("utf-8", "surrogateescape").split("\0")
    found = []
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = setting.partition("\n")
        found.append((scope, name, value))
    return found


def _override(upstream: Upstream, settings: list[tuple[str, str]]) -> None:
    """Let these settings hold, whatever files say: through the environment, where a name may contain any character."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    upstream.env = variables


def _idle_filters(upstream: Upstream, at: list[str] | None = None) -> list[str]:
    """Take the commands from every filter that is configured; gives the names of the filters."""
    matches = (_FILTER.fullmatch(name) for _, name, _ in _settings(upstream, at or []))
    names = list(dict.fromkeys(match[1] for match in matches if match is not None))
    _override(
        upstream, [(f"filter.{name}.{key}", value) for name in names for key, value in _IDLE_FILTER.items()]
    )
    return names


def _unfiltered(names: list[str]) -> Warn:
    shown = ", ".join(sorted(names)[:5])
    message = f"the filters of the configuration are not run ({shown}): a file that one of them changes seems modified"
    return Warn("FILTERS_NOT_RUN", message)


# -- status


def status(upstream: Upstream) -> Iterator[Any]:
    """The status, without filters; submodules are looked into one by one, because git would start a process for each."""
    filters, modified = _idle_filters(upstream), False
    for rows in _status(upstream):
        for row in rows if isinstance(rows, list) else [rows]:
            modified = modified or (row["type"] == "change" and row["worktree"] == "M")
            yield row
    if _stopped_at_submodule(upstream):
        changed = _submodules(upstream)
        _idle_filters(upstream)
        _ignore_submodules(upstream)
        for row in _single(_status(upstream)):
            modified = modified or (row["type"] == "change" and row["worktree"] == "M")
            inside = changed.pop(_raw_path(row), None) if row["type"] == "change" else None
            if inside is not None and row["submodule"]:
                row["submodule"] = row["submodule"][:2] + inside[0]
            yield row
        for path, (flags, _) in changed.items():
            event: dict[str, Any] = {"type": "change", "index": ".", "worktree": "M", "original_path": None}
            event |= {"score": None, "submodule": f"S.{flags}", "state": "changed"}
            put(event, "path", path)
            yield event
    if filters and modified:
        yield _unfiltered(filters)


def _status(upstream: Upstream) -> Iterator[Any]:
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
        # A branch may also be called that.
        if value == b"(detached)" and not upstream.ask(["symbolic-ref", "-q", "HEAD"], fine=(0, 1)):
            branch["detached"] = True
        else:
            put(branch, "head", value)
    elif name == b"branch.upstream":
        put(branch, "upstream", value)
    elif name == b"branch.ab":
        ahead, behind = value.split(b" ")
        branch["ahead"], branch["behind"] = int(ahead), -int(behind)


# -- submodules


def _stopped_at_submodule(upstream: Upstream) -> bool:
    """Whether git gave up because it may not start itself inside of a submodule. It prints nothing before that."""
    end = upstream.end
    return end is not None and end.status == 128 and "in submodule" in end.stderr.text()


def _ignore_submodules(upstream: Upstream) -> None:
    """Let git compare the commits of submodules alone."""
    argv = [
        word.replace("--ignore-submodules=none", "--ignore-submodules=dirty")
        for word in upstream.command["argv"]
    ]
    upstream.command = {**upstream.command, "argv": argv}


def _raw_path(row: dict[str, Any]) -> bytes:
    encoded = row.get("path_b64")
    if encoded is None:
        return str(row["path"]).encode("utf-8", "surrogateescape")
    from binascii import a2b_base64

    return a2b_base64(encoded)


def _submodules(upstream: Upstream) -> dict[bytes, tuple[str, bytes]]:
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
    for record in upstream.ask(words, limit=_NAMES).split(b"\0")[:-1]:
        about, _, path = record.partition(b"\t")
        folder = os.path.join(top, os.fsdecode(path))
        if not about.startswith(b"160000 ") or not os.path.lexists(os.path.join(folder, ".git")):
            continue
        at = ["-C", folder]
        _idle_filters(upstream, at)
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


# How many fields are before the path in each kind of record.
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
    words = ["diff", *_PLAIN, "--no-color", "--ignore-submodules=dirty"]
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
    filters, modified = _idle_filters(upstream), False
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
        yield _unfiltered(filters)


def _looked_into(upstream: Upstream) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """The same with the submodules whose work trees differ."""
    yield from _raw(upstream)
    if not _stopped_at_submodule(upstream):
        return
    changed = _submodules(upstream)
    _idle_filters(upstream)
    _ignore_submodules(upstream)
    for event, names in _raw(upstream):
        changed.pop(names[-1], None)
        yield event, names
    for path, (_, commit) in changed.items():
        event = {"type": "file_change", "change": "modified", "similarity": None, "original_path": None}
        event |= {"old_mode": "160000", "new_mode": "160000"}
        event |= dict.fromkeys(("old_hash", "new_hash"), commit.decode("ascii"))
        put(event, "path", path)
        yield event, [path]


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


def stash(upstream: Upstream) -> Iterator[Any]:
    """What `stash list` prints comes from `log`; asked itself, it would start that as another process."""
    from operable.wrap.parsers.nul import PARSER

    if upstream.ask(["rev-parse", "--verify", "--quiet", "refs/stash"], fine=(0, 1)):
        yield from PARSER(upstream, upstream.command["parse"])


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


def plan_add(upstream: Upstream) -> Iterator[Any]:
    """What differs from the index below these paths."""
    _refuse_paths(upstream, upstream.inputs["paths"])
    words = ["status", "--porcelain=v2", "-z", "--untracked-files=all"]
    # What is inside of a submodule is not staged here.
    words += ["--ignore-submodules=dirty", "--", *upstream.inputs["paths"]]
    upstream.command = {**upstream.command, "argv": words, "options": {}}
    for record in status(upstream):
        if isinstance(record, Warn):
            yield record
        elif record["type"] == "change" and (record["worktree"] != "." or record["state"] == "untracked"):
            yield Change("stage", record["path"], state=record["state"], **_bytes(record))
    yield from upstream.settle()


def _refuse_paths(upstream: Upstream, paths: list[str]) -> None:
    """Fail for paths that `git add` refuses: not there, or ignored. Its own dry run takes the lock of the index."""
    for path in paths:
        if not os.path.lexists(path) and not upstream.ask(["ls-files", "-z", "--", path], limit=_NAMES):
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
        shown = _unquoted(ignored[0]).decode("utf-8", "replace")[:200]
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


def _single(rows: Iterator[Any]) -> Iterator[Any]:
    for row in rows:
        yield from row if isinstance(row, list) else [row]


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
    upstream.command = {**upstream.command, "argv": [*words, "--"], "options": {}}
    _idle_filters(upstream)
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
    # Git runs the hook `pre-push` also in a dry run, and signs what it would send.
    words[1:1] = ["--dry-run", "--no-verify", "--no-signed", f"--receive-pack={_receiver(upstream)}"]
    _distrust(upstream)
    upstream.command = {**upstream.command, "argv": words, "options": {}}
    for event in push(upstream):
        if event["state"] != "unchanged":
            fields = {name: value for name, value in event.items() if name not in ("type", "remote_ref")}
            yield Change("push", event["remote_ref"], **fields)
    yield from upstream.settle()


def _distrust(upstream: Upstream) -> None:
    """Let no command of the repository's own configuration run; those of the user and of the system stay."""
    settings = _settings(upstream, [])
    overridden: list[tuple[str, str]] = []
    for name in dict.fromkeys(
        name for scope, name, _ in settings if scope in _OWN and _COMMANDS.fullmatch(name)
    ):
        trusted = [value for scope, other, value in settings if other == name and scope not in _OWN]
        # An empty value ends the list of those before it.
        overridden += [(name, value) for value in ("", *trusted)]
    _override(upstream, overridden)


def _receiver(upstream: Upstream) -> str:
    """The program at the other end. In a folder of this machine it obeys the configuration that it finds there."""
    remote = upstream.inputs.get("remote") or "origin"
    told = upstream.ask(["remote", "get-url", "--push", "--all", "--", remote], fine=(0, 2, 128)).decode(
        "utf-8", "replace"
    )
    addresses = told.split("\n")[:-1] or [remote]
    folders = [address for address in addresses if _is_folder(address)]
    if not folders:
        return "git-receive-pack"
    if len(folders) < len(addresses):
        # One receiver for all: either the folder's own configuration runs, or the server is asked for what it refuses.
        raise Fail(
            "config",
            "MIXED_REMOTE",
            f"{remote} pushes to a folder and to another address; the two cannot be planned together",
            hint="name one of the addresses instead of the remote",
            target=remote[:200],
        )
    upstream.do_without("network", "sockets")
    return "git -c core.alternateRefsCommand= -c core.fsmonitor=false receive-pack"


def _is_folder(address: str) -> bool:
    """Whether git takes an address for a folder: no scheme but `file`, and no colon before the first slash."""
    return address.startswith("file://") or ("://" not in address and ":" not in address.partition("/")[0])


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
