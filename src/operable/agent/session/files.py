"""The files of one session: what is in them, how they are locked, and how they are read after whatever happened.

`state.json` is the snapshot, `journal.jsonl` the turns since, `lock` belongs to the one process that writes. Lines up to
the snapshot's sequence are in it already; what follows the last line end of the journal was cut off by a crash.
"""

import os
import time
from typing import TypeVar

import msgspec

from operable.agent.session.history import HistoryTurn, Tokens
from operable.kernel.errors import Fail
from operable.state.atomic import opened
from operable.state.lock import acquire
from operable.wire.lines import split_lines

_Kind = TypeVar("_Kind")


class SessionState(msgspec.Struct, omit_defaults=True):
    """The snapshot."""

    id: str
    created_at: float
    updated_at: float
    cwd: str
    provider: str = ""
    model: str = ""
    tokens: Tokens = Tokens()
    cost_usd: float | None = 0.0  # None: not known
    sequence: int = 0  # lines of the journal up to this one are in here
    turns: list[HistoryTurn] = []


class SessionLine(msgspec.Struct, omit_defaults=True):
    sequence: int
    turn: HistoryTurn | None = None
    turns: list[HistoryTurn] | None = None  # the whole history was replaced
    tokens: Tokens | None = None
    cost_usd: float | None = None
    model: str | None = None
    at: float = 0.0


class LastUse(msgspec.Struct):
    """What of a snapshot says when and where a session was used; the decoder steps over the rest."""

    id: str
    updated_at: float
    cwd: str
    sequence: int = 0


class _Moment(msgspec.Struct):
    sequence: int
    at: float = 0.0


def last_use(folder: str, session_id: str) -> LastUse:
    """When and where a session was used last. Raises Fail if it cannot be read."""
    try:
        with open(os.path.join(folder, "state.json"), "rb") as file:
            use = msgspec.json.decode(file.read(), type=LastUse)
        for line in _lines(os.path.join(folder, "journal.jsonl"), _Moment):
            if line.sequence > use.sequence:
                use.updated_at = line.at or use.updated_at
    except (OSError, msgspec.MsgspecError) as error:
        raise _damaged(session_id, error) from error
    return use


def lock(folder: str, session_id: str) -> int:
    path = os.path.join(folder, "lock")
    try:
        descriptor = acquire(path)
    except TimeoutError:
        with opened(path, os.O_RDONLY) as held:
            owner = os.read(held, 32).decode("ascii", "replace").strip() or "another process"
        raise Fail(
            "conflict",
            "SESSION_IN_USE",
            f"Session {session_id} is in use by process {owner}.",
            hint="End that process first, or start a new session.",
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
    return descriptor


def load(folder: str, session_id: str, *, repair: str | None = None) -> SessionState:
    """`repair`: by the owner of the lock, who repairs what a crash has left; its workspace."""
    try:
        state = _snapshot_of(folder, session_id, repair)
        journal = _lines(os.path.join(folder, "journal.jsonl"), SessionLine, repair=repair is not None)
    except (OSError, msgspec.MsgspecError) as error:
        raise _damaged(session_id, error) from error
    for line in journal:
        if line.sequence <= state.sequence:
            continue  # the snapshot was written, but the journal was not yet emptied
        state.sequence = line.sequence
        if line.turns is not None:
            state.turns = line.turns
        if line.turn is not None:
            state.turns.append(line.turn)
        if line.tokens is not None:
            state.tokens, state.cost_usd = line.tokens, line.cost_usd
        state.model = line.model or state.model
        state.updated_at = line.at or state.updated_at
    return state


def _damaged(session_id: str, error: Exception) -> Fail:
    return Fail(
        "io",
        "SESSION_DAMAGED",
        f"Session {session_id} cannot be read: {error}",
        hint="Start a new session.",
    )


def _snapshot_of(folder: str, session_id: str, repair: str | None) -> SessionState:
    try:
        with open(os.path.join(folder, "state.json"), "rb") as file:
            return msgspec.json.decode(file.read(), type=SessionState)
    except FileNotFoundError:
        if repair is None:
            raise
        # Cut off between `ready` and the first snapshot: nothing was said yet.
        return SessionState(id=session_id, created_at=time.time(), updated_at=time.time(), cwd=repair)


def _lines(path: str, kind: type[_Kind], *, repair: bool = False) -> list[_Kind]:
    """The whole lines of a journal. What follows the last line end was cut off by a crash, or is being written; only the
    owner of the lock knows which, and removes it.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return []
    lines, torn = split_lines(data)
    if torn and repair:
        os.truncate(path, len(data) - len(torn))
    return [msgspec.json.decode(line, type=kind) for line in lines if line]
