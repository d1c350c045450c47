"""The sessions of this user on disk: one folder each, with what a person or another process wants to know about it.

    <state>/agents/<workspace>/sessions/<session id>/    meta.json, events-….jsonl, asks/, stderr
    <state>/agents/<workspace>/audit.jsonl

Theory of operation. A session belongs to the process that runs it. That process holds a lock on one file of its own
(`owners/<pid>-<random>`), which the system releases however the process ends; the session's `meta.json` names it. So
whether a "running" session really runs is never a guess from a process id, which another process may have by now.
`recover` turns those whose owner is gone into `error`, with the reason. Statuses are those of AIP-46.
"""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from operable.gate.audit.chain import Audit
from operable.gate.audit.place import audit_path, count_begun, workspace_audit, workspace_slug
from operable.host.session.log import SessionLog
from operable.host.session.log_files import POLL_INTERVAL, FileCursor, Record
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.state.atomic import advise, write_whole
from operable.state.lock import EXCLUSIVE, create_locked, held, is_locked
from operable.state.paths import make_state
from operable.wire.events import Notice, Usage

STARTING, RUNNING = "starting", "running"
EXITED, KILLED, ERROR = "exited", "killed", "error"
ALIVE = (STARTING, RUNNING)
_META = "meta.json"
_RECOVERY = "recovery.lock"
_RECOVERY_WAIT = 5.0  # seconds: a notice and a file are written in milliseconds
_LOOKS = 10  # a follower asks about the session itself only every so many looks at its log


class SessionMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    """What is known about a session: the fields of AIP-46, and ours behind them. Unknown fields are ignored."""

    id: str
    adapter_slug: str
    workspace_slug: str
    cwd: str
    status: str = STARTING
    started_at: str = ""
    ended_at: str | None = None
    last_output_at: str | None = None
    exit_code: int | None = None
    label: str | None = None
    agent_slug: str | None = None
    parent_session_id: str | None = None
    depth: int = 0
    owner: str = ""
    pid: int | None = None
    agent_session_id: str | None = None
    agent_name: str = ""
    agent_version: str = ""
    protocol: str = ""
    error: str | None = None
    turns: int = 0
    ground: str = ""  # the AIP-27 reference of the folder; empty: it was started by a path
    pinned: bool = False
    keep_for: float | None = (
        None  # seconds after its end, then `prune` removes it; None: as long as the others
    )
    mode: str | None = None
    model: str | None = None
    sandbox: str | None = None  # the provider; None: not known yet
    worktree: str = ""  # the git worktree that was made for it
    continues: str | None = None  # the session that it resumed or forked
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None  # None: the agent reports no cost
    context_used: int = 0
    context_size: int = 0


class SessionOrigin(msgspec.Struct, frozen=True):
    """Where a session comes from, as its starter knows it: fields of `SessionMeta`, and the folder that contains it."""

    bucket: str = ""  # the part of the state that has its files; empty: the one of its workspace's path
    ground: str = ""
    agent_slug: str | None = None
    parent_session_id: str | None = None
    depth: int = 0
    worktree: str = ""
    continues: str | None = None


_DECODER = msgspec.json.Decoder(SessionMeta)


class SessionHome:
    """The folder of one session, and its meta.json."""

    def __init__(self, folder: str, meta: SessionMeta) -> None:
        self.folder = folder
        self.meta = meta

    def save(self, **changes: Any) -> None:
        """Change the meta data; readers see the old or the new, never a half. Fail io/STATE_UNWRITABLE.

        What the process itself knows is changed in any case: a session that has ended does not go on with a full disk.
        """
        for name, value in changes.items():
            setattr(self.meta, name, value)
        try:
            # Not durable: after a power cut the owner is gone, and `recover` says how the session ended.
            write_whole(os.path.join(self.folder, _META), msgspec.json.encode(self.meta), durable=False)
        except OSError as error:
            raise _unwritable(self.folder, error) from error


class Registry:
    """All sessions below one state directory; by default the user's own."""

    def __init__(self, root: str | None = None) -> None:
        self.root = make_state("agents") if root is None else root
        self._started: dict[str, str] = {}  # when each session began, by its folder: that never changes

    def workspace_folder(self, workspace: str) -> str:
        return os.path.join(self.root, workspace_slug(workspace))

    def audit_path(self, workspace: str) -> str:
        return audit_path(workspace, self.root)

    def audit(self, workspace: str, *, actor: str, secrets: Known) -> Audit:
        """The audit chain of a workspace. It knows that it is not the first one if the workspace had sessions."""
        return workspace_audit(workspace, actor=actor, secrets=secrets, root=self.root)

    def create(self, meta: SessionMeta) -> SessionHome:
        """A folder for a new session that belongs to this process."""
        meta.started_at = timestamp()
        meta.pid = os.getpid()
        folder = os.path.join(self.root, meta.workspace_slug, "sessions", meta.id)
        try:
            meta.owner = _own(self.root)
            _private(self.root, meta.workspace_slug, "sessions")
            os.mkdir(folder, 0o700)
        except FileExistsError:
            raise Fail(
                "conflict", "SESSION_EXISTS", f"the session {meta.id} already exists", target=meta.id
            ) from None
        except OSError as error:
            raise _unwritable(folder, error) from error
        home = SessionHome(folder, meta)
        try:
            home.save()
        except Fail:
            with suppress(OSError):  # without its meta.json no process sees a session
                os.rmdir(folder)
            raise
        return home

    def sessions(self, *, workspace: str | None = None) -> list[SessionHome]:
        """All sessions, newest first; those whose owner is gone are marked before they are shown."""
        found = list(self._all(workspace))
        for home in found:
            self.recover(home)
        return sorted(found, key=lambda home: (home.meta.started_at, home.meta.id), reverse=True)

    def newest(self, behind: str | None = None) -> Iterator[SessionHome]:
        """Sessions, newest first, each of them read, and marked if its owner is gone, when it is its turn.

        So a page costs what is on it, and of the others their names. `behind` is the `order` of the last one of a page.
        """
        for order, folder in sorted(self._by_start(), reverse=True):
            if behind is not None and order >= behind:
                continue
            home = _read(folder)
            if home is not None:  # else it was removed meanwhile
                self.recover(home)
                yield home

    def _by_start(self) -> Iterator[tuple[str, str]]:
        """The `order` and the folder of each session. Those that were seen before are not read again."""
        known, now = self._started, {}
        for slug in _listed(self.root):
            sessions = os.path.join(self.root, slug, "sessions")
            for name in _listed(sessions):
                folder = os.path.join(sessions, name)
                started = known.get(folder)
                if started is None and (home := _read(folder)) is not None:
                    started = home.meta.started_at
                if started is not None:
                    now[folder] = started
                    yield f"{started} {name}", folder
        self._started = now

    def count_begun(self, workspace: str) -> int:
        """How many sessions of a workspace had an agent: each of them is in the audit chain, for that is written first."""
        return count_begun(self.workspace_folder(workspace))

    def _all(self, workspace: str | None = None) -> Iterator[SessionHome]:
        """Of a workspace: those in its folder, and those of it that were started into another bucket."""
        own = None if workspace is None else workspace_slug(workspace)
        for slug in _listed(self.root):
            for home in self._in(os.path.join(self.root, slug, "sessions")):
                if own is None or slug == own or workspace_slug(home.meta.cwd) == own:
                    yield home

    def session(self, session_id: str) -> SessionHome:
        """One session; a unique beginning of its id is enough. Fail not_found/NO_SUCH_SESSION."""
        found = self._named(session_id)
        if len(found) == 1:
            self.recover(found[0])
            return found[0]
        problem = "is the beginning of several sessions" if found else "is not a session"
        raise Fail(
            "not_found",
            "NO_SUCH_SESSION",
            f"{session_id!r} {problem}",
            target=session_id,
            hint="operable agent sessions",
        )

    def used_by(self, agent_session_id: str, workspace: str) -> Usage | None:
        """The tokens of an agent's own session, in all sessions here that it was; None: it was never one of them."""
        found = [h.meta for h in self._all(workspace) if h.meta.agent_session_id == agent_session_id]
        if not found:
            return None
        return Usage(sum(meta.tokens_in for meta in found), sum(meta.tokens_out for meta in found))

    def last_start_of(self, agent_session_id: str, workspace: str) -> float | None:
        """When a session here last started with an agent's own session; None: none did."""
        found = [
            h.meta.started_at for h in self._all(workspace) if h.meta.agent_session_id == agent_session_id
        ]
        return seconds_of(max(found)) if found else None

    def recover(self, home: SessionHome) -> bool:
        """Mark a session whose owner is gone, close its log; True when that was so.

        One process at a time does it. Where nothing can be written the caller still learns that it was interrupted.
        """
        if home.meta.status not in ALIVE or owner_lives(self.root, home.meta.owner):
            return False
        try:
            with held(os.path.join(home.folder, _RECOVERY), EXCLUSIVE, wait=_RECOVERY_WAIT):
                found = _read(home.folder)
                if found is not None and found.meta.status not in ALIVE:
                    home.meta = found.meta  # another process was faster
                    return True
                _close_log(home)
                home.save(status=ERROR, ended_at=timestamp(), error="interrupted")
        except (Fail, OSError):
            home.meta.status, home.meta.error = ERROR, "interrupted"
        return True

    async def follow(self, home: SessionHome, after: int = 0) -> AsyncIterator[Record]:
        """The log of a session of any process: what is there, what comes, and the end when it has ended or was lost."""
        cursor = FileCursor(home.folder, after)
        looks = 0
        try:
            while True:
                while batch := cursor.read():
                    for record in batch:
                        yield record
                if home.meta.status not in ALIVE:
                    return
                if looks % _LOOKS == 0:
                    # Then once more round: the last events were written before the status was.
                    home = self.renewed(home)
                looks += 1
                await asyncio.sleep(POLL_INTERVAL if home.meta.status in ALIVE else 0)
        finally:
            cursor.close()

    def renewed(self, home: SessionHome) -> SessionHome:
        """What is known about a session now; Fail not_found/NO_SUCH_SESSION when it was forgotten."""
        found = _read(home.folder)
        if found is None:
            raise Fail("not_found", "NO_SUCH_SESSION", "the session was forgotten", target=home.meta.id)
        self.recover(found)
        return found

    def forget(self, home: SessionHome) -> None:
        """Remove a session that has ended, with its log; Fail conflict/SESSION_RUNNING while it runs."""
        if self.renewed(home).meta.status in ALIVE:
            raise Fail(
                "conflict", "SESSION_RUNNING", "the session is running; close it first", target=home.meta.id
            )
        shutil.rmtree(home.folder)

    def prunable(self, age: float, *, workspace: str | None = None) -> list[SessionHome]:
        """Ended sessions whose time is over: their own, else this age in seconds. A pinned one stays."""
        now = time.time()
        return [home for home in self.sessions(workspace=workspace) if _is_over(home.meta, age, now)]

    def _named(self, session_id: str) -> list[SessionHome]:
        """The sessions of this id, else those that begin with it: their folders have their names, and no other is read."""
        if (
            not session_id
            or session_id[0] == "."
            or os.path.basename(session_id) != session_id
            or "\0" in session_id
        ):
            return []
        places = [os.path.join(self.root, slug, "sessions") for slug in _listed(self.root)]
        exact = [home for place in places if (home := _read(os.path.join(place, session_id))) is not None]
        if exact:
            return exact
        names = ((place, name) for place in places for name in _listed(place) if name.startswith(session_id))
        return [home for place, name in names if (home := _read(os.path.join(place, name))) is not None]

    def _in(self, folder: str) -> Iterator[SessionHome]:
        for name in _listed(folder):
            found = _read(os.path.join(folder, name))
            if found is not None:
                yield found


def _is_over(meta: SessionMeta, age: float, now: float) -> bool:
    if meta.pinned or meta.status in ALIVE:
        return False
    ended = seconds_of(meta.ended_at or meta.started_at)
    return ended is not None and now - ended >= (age if meta.keep_for is None else meta.keep_for)


def _close_log(home: SessionHome) -> None:
    log = SessionLog(home.folder)
    text = "the host of this session ended without closing it"
    try:
        log.append([Notice("session_interrupted", text, session_id=home.meta.id)])
    finally:
        log.close()
    for name in _listed(os.path.join(home.folder, "asks")):
        _remove(os.path.join(home.folder, "asks", name))


def _read(folder: str) -> SessionHome | None:
    """The session in a folder; None when it is being made this moment, or is none of ours."""
    try:
        with open(os.path.join(folder, _META), "rb") as file:
            return SessionHome(folder, _DECODER.decode(file.read()))
    except (OSError, msgspec.MsgspecError):
        return None


def timestamp() -> str:
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"


def seconds_of(text: str) -> float | None:
    """The moment that `timestamp` wrote; None for any other text."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def owner_lives(root: str, owner: str) -> bool:
    """Does the process that made this owner file still run? Asked of the lock, not of the process table."""
    path = os.path.join(root, "owners", os.path.basename(owner))
    try:
        if is_locked(path):
            return True
    except FileNotFoundError:
        return False
    _remove(path)
    return False


_OWN: dict[
    tuple[str, int], tuple[str, int]
] = {}  # (root, pid) -> (owner file, the descriptor that holds its lock)


def _own(root: str) -> str:
    """The owner file of this process; made and locked on first use, and again after a fork."""
    key = (root, os.getpid())
    known = _OWN.get(key)
    if known is not None and os.path.exists(os.path.join(root, "owners", known[0])):
        return known[0]
    folder = _private(root, "owners")
    name = f"{os.getpid()}-{os.urandom(6).hex()}"
    _OWN[key] = (name, create_locked(os.path.join(folder, name)))
    return name


def _forget_in_fork() -> None:
    """A fork has copies of the descriptors; holding them would keep a dead parent's sessions alive."""
    for _, fd in _OWN.values():
        os.close(fd)
    _OWN.clear()


os.register_at_fork(after_in_child=_forget_in_fork)


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _private(root: str, *names: str) -> str:
    """A folder below the root, each one on the way for its owner alone (`makedirs` would protect only the last)."""
    folder = root
    os.makedirs(root, mode=0o700, exist_ok=True)
    for name in names:
        folder = os.path.join(folder, name)
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
    return folder


def _unwritable(folder: str, error: OSError) -> Fail:
    return Fail(
        "io",
        "STATE_UNWRITABLE",
        f"sessions cannot be kept: {error.strerror}",
        target=folder,
        hint=advise(error),
    )


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
