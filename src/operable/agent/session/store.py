"""Sessions on disk: one folder each, an append-only journal and a snapshot, one writer, private to the user.

Every turn is one line of `journal.jsonl`, written before the run goes on; `save` makes it durable. When the journal
is larger than the snapshot, `state.json` is replaced atomically and the journal starts again. So saving costs the
same for any length of session. Loading reads the snapshot and then the lines that are newer; a torn last line is the
one that a crash cut off. The folder is locked for as long as its process lives: a second process learns which process
has it.

A disk that is full does not end a conversation: what could not be written is remembered as missing, `save` says why,
and the next save that can writes all of it.
"""

import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

import msgspec

from operable.agent.places import new_session, session_folder, session_unwritable
from operable.agent.session.files import LastUse, SessionLine, SessionState, last_use, load, lock
from operable.agent.session.history import HistoryTurn, TextBlock, Tokens
from operable.kernel.errors import Fail
from operable.kernel.json import json_line
from operable.kernel.redact import Known
from operable.state.atomic import write_whole

KEPT = 50  # sessions; the least recently used beyond that are removed, never one that is in use
_SMALL = 64 * 1024  # below this, a snapshot is not worth its rename
_SUMMARY = 80
_NOT_THE_USERS = ("[history]", "[notice]", "[summary of")  # words of the host or of the agent itself


class StoredSession(msgspec.Struct):
    """One line of a listing."""

    id: str
    created_at: float
    updated_at: float
    cwd: str
    model: str
    turns: int
    messages: int  # of the user
    summary: str
    last_words: str  # of the agent
    tokens: Tokens
    cost_usd: float | None


class SessionStore:
    """The session of this process. Made by `create` or `resume`; used from any thread, and after `close` not at all."""

    def __init__(self, folder: str, state: SessionState, lock: int) -> None:
        self._folder = folder
        self._lock = lock
        self._using = threading.Lock()
        self._closed = False
        self._missing = ""  # why lines of the journal are missing
        self.known = Known()  # secrets that are not kept with what was said
        self.state = state
        self._journal = os.open(
            os.path.join(folder, "journal.jsonl"),
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC,
            0o600,
        )
        self._journal_size = os.fstat(self._journal).st_size
        self._snapshot_size = _size(os.path.join(folder, "state.json"))

    def append(self, turn: HistoryTurn) -> None:
        with self._using:
            self.state.turns.append(turn)
            self._write(turn=turn)

    def replace(self, turns: Sequence[HistoryTurn]) -> None:
        with self._using:
            self.state.turns = list(turns)
            self._write(turns=list(turns))

    def save(self, tokens: Tokens, cost_usd: float | None, model: str) -> str | None:
        """Make it durable; why that is impossible, else None."""
        with self._using:
            state = self.state
            state.tokens, state.cost_usd, state.model = tokens, cost_usd, model
            state.updated_at = time.time()
            self._write(tokens=tokens, cost_usd=cost_usd, model=model, at=state.updated_at)
            try:
                if self._closed:
                    return None
                if self._missing or self._journal_size > max(_SMALL, self._snapshot_size):
                    self._snapshot()
                else:
                    os.fsync(self._journal)
            except OSError as error:
                self._missing = error.strerror or str(error)
            return self._missing or None

    def close(self) -> None:
        """The last snapshot; any process can then resume the session. OSError when it cannot be written."""
        with self._using:
            if self._closed:
                return
            self._closed = True
            try:
                self._snapshot()
            finally:
                os.close(self._journal)
                os.close(self._lock)

    def _write(self, **fields: object) -> None:
        self.state.sequence += 1
        if self._closed or self._missing:
            return
        line = self._masked(SessionLine(sequence=self.state.sequence, **fields))  # type: ignore[arg-type]
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._journal, view) :]
        except OSError as error:
            self._missing = error.strerror or str(error)
            os.ftruncate(self._journal, self._journal_size)  # half a line would hide what follows it
            return
        self._journal_size += len(line)

    def _masked(self, value: SessionLine | SessionState) -> bytes:
        data = json_line(value)
        if not self.known or self.known.data(data) is data:
            return data
        return json_line(self.known.value(msgspec.to_builtins(value)))

    def _snapshot(self) -> None:
        path = os.path.join(self._folder, "state.json")
        data = self._masked(self.state)
        write_whole(path, data, draft=f"{path}.tmp")
        os.ftruncate(self._journal, 0)
        self._journal_size, self._snapshot_size, self._missing = 0, len(data), ""


class Sessions:
    """All sessions of one user, in one folder."""

    def __init__(self, root: str) -> None:
        self.root = root

    def create(
        self, session_id: str, *, cwd: str, provider: str, model: str, made: bool = False
    ) -> SessionStore:
        """A new session; `made`: its folder is there already, by `places.new_session`."""
        folder = session_folder(self.root, session_id)
        if not made:
            new_session({"session_id": session_id}, root=self.root)
        now = time.time()
        state = SessionState(
            id=session_id, created_at=now, updated_at=now, cwd=cwd, provider=provider, model=model
        )
        try:
            store = SessionStore(folder, state, lock(folder, session_id))
            store._snapshot()  # noqa: SLF001 - a session that was never saved can also be listed and resumed
        except OSError as problem:
            raise session_unwritable(problem) from problem
        self._retire(keep=folder)
        return store

    def resume(self, session_id: str, *, cwd: str) -> SessionStore:
        """`latest` is the one that was used last in this workspace."""
        if session_id == "latest":
            session_id = self._latest(cwd)
        folder = session_folder(self.root, session_id)
        if not os.path.isdir(folder):
            raise Fail(
                "not_found",
                "SESSION_NOT_FOUND",
                f"There is no session {session_id}.",
                hint="operable-agent session list",
            )
        try:
            owned = lock(folder, session_id)
            try:
                return SessionStore(folder, load(folder, session_id, repair=cwd), owned)
            except BaseException:
                os.close(owned)
                raise
        except OSError as problem:
            raise session_unwritable(problem) from problem

    def remove(self, session_id: str) -> bool:
        """Whether it was there. Raises Fail when another process has it, or it cannot be removed."""
        folder = session_folder(self.root, session_id)
        if not os.path.isdir(folder):
            return False
        try:
            owned = lock(folder, session_id)
            try:
                shutil.rmtree(folder)
            finally:
                os.close(owned)
        except FileNotFoundError:
            return False  # another process was faster
        except OSError as problem:
            raise Fail(
                "io",
                "SESSION_NOT_REMOVED",
                f"Session {session_id} cannot be removed: {problem.strerror or problem}",
                hint=f"Remove {folder} yourself.",
            ) from problem
        return True

    def listing(self) -> Iterator[StoredSession]:
        """Newest first; what cannot be read is left out."""
        states = []
        for folder in self._folders():
            try:
                states.append(load(folder, unquote(os.path.basename(folder))))
            except Fail:
                continue
        for state in sorted(states, key=lambda state: state.updated_at, reverse=True):
            yield StoredSession(
                state.id,
                state.created_at,
                state.updated_at,
                state.cwd,
                state.model,
                len(state.turns),
                sum(1 for _ in _messages(state)),
                _summary(state),
                _last_words(state),
                state.tokens,
                state.cost_usd,
            )

    def _latest(self, cwd: str) -> str:
        """The session of this workspace that was used last. No turn of any session is read for that.

        Files are written after the time in them was taken: a session that was not touched since the best one is not better.
        """
        best: LastUse | None = None
        touched = sorted(((_last_use(folder), folder) for folder in self._folders()), reverse=True)
        for moment, folder in touched:
            if best is not None and moment < best.updated_at:
                break
            try:
                use = last_use(folder, unquote(os.path.basename(folder)))
            except Fail:
                continue
            if use.cwd == cwd and (best is None or use.updated_at > best.updated_at):
                best = use
        if best is None:
            raise Fail("not_found", "SESSION_NOT_FOUND", f"There is no session of {cwd} to resume.")
        return best.id

    def _folders(self) -> list[str]:
        try:
            with os.scandir(self.root) as entries:
                return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return []

    def _retire(self, keep: str) -> None:
        folders = [folder for folder in self._folders() if folder != keep]
        folders.sort(key=_last_use, reverse=True)
        for folder in folders[KEPT - 1 :]:
            try:
                owned = lock(folder, os.path.basename(folder))
            except (Fail, OSError):
                continue  # another process uses it, or has already removed it
            shutil.rmtree(folder, ignore_errors=True)
            os.close(owned)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _last_use(folder: str) -> float:
    try:
        return max(
            os.stat(place).st_mtime for place in (folder, *(entry.path for entry in os.scandir(folder)))
        )
    except OSError:
        return time.time()  # another process is using it at this moment


def _summary(state: SessionState) -> str:
    return " ".join(next(_messages(state), "").split())[:_SUMMARY]


def _messages(state: SessionState) -> Iterator[str]:
    """What the user has said."""
    for turn in state.turns:
        for block in turn.blocks:
            if (
                turn.role == "user"
                and isinstance(block, TextBlock)
                and not block.text.startswith(_NOT_THE_USERS)
            ):
                yield block.text


def _last_words(state: SessionState) -> str:
    for turn in reversed(state.turns):
        said = [block.text for block in turn.blocks if isinstance(block, TextBlock)]
        if turn.role == "assistant" and said:
            return " ".join(said[-1].split())[-_SUMMARY:]
    return ""


class NullStore:
    """Forgets everything."""

    def append(self, turn: HistoryTurn) -> None: ...
    def replace(self, turns: Sequence[HistoryTurn]) -> None: ...

    def save(self, tokens: Tokens, cost_usd: float | None, model: str) -> None: ...
