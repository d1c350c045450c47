"""The workspaces that the user registered: `workspaces.json` of AIP-46, and the state that belongs to each.

    <config>/workspaces.json    {version: 1, active, workspaces: [{slug, path, addedAt, updatedAt, label}]}
    ws://workspaces/@owner/slug[/subtree]    how a folder of one is named everywhere else; `@me` is the user

    <state>/agents/<bucket>/sessions/<session id>/
    <state>/agents/partition.json    which folders were there before buckets were; they are read where they are

A session belongs to the bucket of its registered slug, exactly that one, else to `default`. What was there before is the
legacy store: nothing in it is moved, changed or removed, and its sessions are shown in the bucket of exactly their folder.
A bucket keeps its newest ended sessions; one that is pinned, that runs, that has a worktree or prompts that wait is never
removed by itself.

A change of the list is written whole under a lock, and members of the file that this version does not know are kept. A
file that cannot be read is an error, never an empty list: the next change would lose what it has.
"""

import os
import re
from typing import Any, Final

import msgspec

from operable.host.session.registry import ALIVE, Registry, SessionHome, timestamp
from operable.kernel.errors import Fail
from operable.serve.session.prompt_queue import queued_prompts
from operable.state.atomic import advise, make_folder, write_whole
from operable.state.lock import EXCLUSIVE, held
from operable.state.paths import config_path

DEFAULT: Final = "default"
_VERSION = 1
# Ended sessions of a bucket. A person does not look back further, and the audit chain keeps what was done.
KEPT: Final = 1000
# Bytes of their files.
ROOM: Final = 10 * 1024 * 1024 * 1024
_MARKER = "partition.json"
_AT_MOST = 1000
_LIMIT = 4 * 1024 * 1024  # bytes of the file: 1000 entries with the longest paths
_WAIT = 10.0  # seconds for the lock: a change takes milliseconds
SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# Other folders of the state directory that the buckets are in (operable.host.launch.places, operable.host.session).
_RESERVED = frozenset({DEFAULT, "owners", "installs", "locks", "homes", "sessions", "worktrees"})


class RegisteredWorkspace(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One registered folder."""

    slug: str
    path: str
    added_at: str = ""
    updated_at: str = ""
    label: str | None = None


class WorkspaceList(msgspec.Struct, frozen=True):
    """What is registered; `active` is the slug that a root spawn without a ground gets."""

    workspaces: tuple[RegisteredWorkspace, ...] = ()
    active: str | None = None

    def named(self, slug: str) -> RegisteredWorkspace:
        """Fail not_found/WORKSPACE_NOT_FOUND."""
        for each in self.workspaces:
            if each.slug == slug:
                return each
        raise Fail(
            "not_found",
            "WORKSPACE_NOT_FOUND",
            f"no workspace is registered as {slug!r}",
            target=slug,
            hint="GET /workspaces of the daemon lists them",
        )

    def bucket(self, slug: str, path: str = "") -> str:
        """The part of the state that a session belongs to: its registered slug or that of exactly its folder, else
        `default`.
        """
        if any(each.slug == slug for each in self.workspaces):
            return slug
        return next((each.slug for each in self.workspaces if path and each.path == path), DEFAULT)


class Workspaces:
    """The file. Every read is a read of the file: another process may have changed it."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path or config_path("workspaces.json") or ""

    def list(self) -> WorkspaceList:
        data = self._read()
        return WorkspaceList(tuple(_entries(data)), data.get("active"))

    def register(self, slug: str, path: str, label: str | None = None) -> RegisteredWorkspace:
        """Add a folder under a slug, or give the slug another folder. Fail usage/SLUG_INVALID."""
        if not SLUG.fullmatch(slug) or slug in _RESERVED:
            raise Fail(
                "usage",
                "SLUG_INVALID",
                f"{slug!r} cannot be a slug: a-z, 0-9 and -, 63 characters, and not one of the reserved names",
                target=slug[:100],
            )
        real = os.path.realpath(os.path.expanduser(path))
        if not os.path.isdir(real):
            message = f"the workspace {real} is not a folder"
            raise Fail("not_found", "WORKSPACE_NOT_FOUND", message, target=path)
        now = timestamp()
        with self._changing() as data:
            rows = data.setdefault("workspaces", [])
            row = next((each for each in rows if each.get("slug") == slug), None)
            if row is None:
                if len(rows) >= _AT_MOST:
                    raise Fail("conflict", "TOO_MANY_WORKSPACES", f"{_AT_MOST} workspaces are registered")
                row = {"slug": slug, "addedAt": now}
                rows.append(row)
            row |= {"path": real, "updatedAt": now}
            if label is not None:
                row["label"] = label
            return msgspec.convert(row, RegisteredWorkspace)

    def activate(self, slug: str | None) -> None:
        """The workspace of root spawns that do not name one; None: no workspace is. Fail not_found/WORKSPACE_NOT_FOUND."""
        with self._changing() as data:
            if slug is not None:
                WorkspaceList(tuple(_entries(data))).named(slug)
            data["active"] = slug

    def remove(self, slug: str) -> RegisteredWorkspace:
        """Forget the name. The folder and the sessions stay; later ones belong to `default`."""
        with self._changing() as data:
            found = WorkspaceList(tuple(_entries(data))).named(slug)
            data["workspaces"] = [each for each in data["workspaces"] if each.get("slug") != slug]
            if data.get("active") == slug:
                data["active"] = None
        return found

    def _read(self) -> dict[str, Any]:
        try:
            with open(self._path, "rb") as file:
                content = file.read(_LIMIT + 1)
            data = msgspec.json.decode(content, type=dict[str, Any])
            if data.get("version") != _VERSION:
                raise msgspec.ValidationError(f"its version is {data.get('version')!r}, not {_VERSION}")
            _entries(data)
        except FileNotFoundError:
            return {"version": _VERSION, "active": None, "workspaces": []}
        except (OSError, msgspec.MsgspecError) as error:
            raise Fail(
                "config",
                "WORKSPACES_UNREADABLE",
                f"the list of workspaces cannot be read: {error}",
                target=self._path,
                hint="repair or move the file",
            ) from error
        return data

    def _changing(self) -> "_WorkspaceChange":
        return _WorkspaceChange(self._path, self._read)


class _WorkspaceChange:
    """The content of the file under its lock; written when the block ends without an error."""

    def __init__(self, path: str, read: Any) -> None:
        self._path, self._read = path, read
        self._data: dict[str, Any] = {}

    def __enter__(self) -> dict[str, Any]:
        try:
            make_folder(os.path.dirname(self._path))
            self._lock = held(f"{self._path}.lock", EXCLUSIVE, wait=_WAIT)
            self._lock.__enter__()
        except OSError as error:
            raise _unwritable(self._path, error) from error
        try:
            self._data = self._read()
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self._data

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                write_whole(self._path, msgspec.json.format(msgspec.json.encode(self._data)))
        except OSError as error:
            raise _unwritable(self._path, error) from error
        finally:
            self._lock.__exit__(None, None, None)


def _entries(data: dict[str, Any]) -> list[RegisteredWorkspace]:
    return msgspec.convert(data.get("workspaces", []), list[RegisteredWorkspace])


def _unwritable(path: str, error: OSError) -> Fail:
    message = f"the list of workspaces cannot be written: {error.strerror or error}"
    return Fail("io", "STATE_UNWRITABLE", message, target=path, hint=advise(error))


def mark_partition(registry: Registry, known: WorkspaceList) -> bool:
    """Write once which folders are the legacy store; True if this call did it."""
    marker = os.path.join(registry.root, _MARKER)
    if os.path.exists(marker):
        return False
    buckets = {DEFAULT, *(each.slug for each in known.workspaces)}
    legacy = sorted({home.meta.workspace_slug for home in registry.sessions()} - buckets)
    try:
        data = {"version": _VERSION, "at": timestamp(), "legacy": legacy}
        write_whole(marker, msgspec.json.format(msgspec.json.encode(data)))
    except OSError as error:
        message = f"the marker cannot be written: {error.strerror}"
        raise Fail("io", "STATE_UNWRITABLE", message, target=marker) from error
    return True


def prune_bucket(registry: Registry, bucket: str, *, kept: int = KEPT, room: int = ROOM) -> list[str]:
    """Remove the oldest ended sessions beyond the bound of a bucket; the ids of those that were removed."""
    ended = [
        home
        for home in registry.sessions()
        if home.meta.status not in ALIVE
        and os.path.basename(os.path.dirname(os.path.dirname(home.folder))) == bucket
    ]
    removed: list[str] = []
    used = 0
    for number, home in enumerate(ended):  # the newest first
        used += _size(home.folder)
        if (number >= kept or used > room) and _may_go(home):
            registry.forget(home)
            removed.append(home.meta.id)
    return removed


def _may_go(home: SessionHome) -> bool:
    return not (home.meta.pinned or home.meta.worktree or queued_prompts(home.folder))


def _size(folder: str) -> int:
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    except OSError:
        return 0  # it was forgotten meanwhile
