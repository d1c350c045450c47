"""Idempotency keys: an effect happens once, and a repeated call gets the recorded answer.

Theory of operation. A key is locked (a byte of a lock file, released by the kernel when its holder dies), then looked
up. A row is `applying` from just before the effect until the result is recorded, then `done` or `failed`. Both writes
are durable (synchronous FULL) before anything that depends on them happens; `done` is there before the summary is
written.

The window: a process that is killed after its effect and before its record leaves `applying`. Whether the effect
happened is then not known here, so the same key is refused (IDEMPOTENCY_OUTCOME_UNKNOWN) instead of doing it twice; a
person or the agent looks at the state and goes on with a new key. A tool that can write its effect and a key in one
transaction of its own does not need this module and has no window.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import sqlite3
import time

from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.state.paths import make_state
from operable.tool.framework import FrameworkNotice, ItemError
from operable.tool.records import json_text
from operable.tool.secrecy import masked, shown_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

    from operable.tool.outflow import Outflow, RunState

KEEP_SECONDS = 30 * 24 * 3600  # long enough for any retry, short enough for the file to stay small
MAX_KEY = 256
_BUSY_SECONDS = 10.0
_OPENING = 2**62  # the byte that is locked while the database is opened; those of the keys are below it
_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
  key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, state TEXT NOT NULL, at REAL NOT NULL, outcome TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
  key TEXT NOT NULL, position INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (key, position)
) WITHOUT ROWID;
-- Every new key removes those that are too old: without this, by looking at all of them.
CREATE INDEX IF NOT EXISTS runs_by_age ON runs (at);
"""
_ELSEWHERE = "free space, or set OPERABLE_HOME to a folder on another disk"


class Journal:
    """The record of one key, locked for as long as it is open."""

    def __init__(self, tool: str, key: str) -> None:
        if len(key) > MAX_KEY:
            raise Fail("usage", "INVALID_VALUE", f"--idempotency-key is longer than {MAX_KEY} characters")
        try:
            # Chosen by 60 bits of a digest, so two keys never share a byte in practice.
            self._byte = int(digest(key)[7:22], 16)
        except ValueError:
            raise Fail("usage", "INVALID_VALUE", "--idempotency-key is not valid UTF-8") from None
        self._key = key
        self._directory = make_state(tool)
        self._fingerprint = ""
        self._lines: list[str] = []
        self._effects = 0

    def __enter__(self) -> Self:
        try:
            path = os.path.join(self._directory, "idempotency.lock")
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            # Waiting for the other process ends with its death, with our deadline, or with a signal.
            fcntl.lockf(self._lock, fcntl.LOCK_EX, 1, self._byte)
            # Two processes that both turn a new database to WAL would get in each other's way.
            fcntl.lockf(self._lock, fcntl.LOCK_EX, 1, _OPENING)
            self._database = self._open()
            fcntl.lockf(self._lock, fcntl.LOCK_UN, 1, _OPENING)
        except (OSError, sqlite3.Error) as problem:
            raise self._unusable(problem) from problem
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()
        os.close(self._lock)

    def _open(self) -> sqlite3.Connection:
        path = os.path.join(self._directory, "idempotency.sqlite")
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.executescript(_TABLES)
        return database

    def _unusable(self, problem: Exception) -> Fail:
        """Nothing has been done at this point."""
        if getattr(problem, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
            return Fail(
                "temporary", "STATE_BUSY", "The record of idempotency keys is in use; nothing was done"
            )
        full = _is_full(problem)
        return Fail(
            "io" if full else "config",
            "STATE_DIRECTORY_UNUSABLE",
            f"Idempotency keys cannot be recorded, so nothing was done: {problem}",
            target=self._directory,
            hint=_ELSEWHERE if full else "set OPERABLE_HOME to a writable directory",
        )

    def replay(self, run: RunState, outflow: Outflow, fingerprint: str) -> bool:
        """Give the recorded answer, if there is one; a key that means something else is a conflict."""
        self._fingerprint = fingerprint
        try:
            row = self._database.execute(
                "SELECT fingerprint, state, outcome FROM runs WHERE key = ? AND at > ?",
                (self._key, time.time() - KEEP_SECONDS),
            ).fetchone()
        except sqlite3.Error as problem:
            raise self._unusable(problem) from problem
        if row is None:
            return False
        recorded, state, outcome = row
        if recorded != fingerprint:
            raise Fail(
                "conflict",
                "IDEMPOTENCY_KEY_REUSED",
                "This idempotency key was used for another call",
                hint="use a new key for a new effect",
            )
        if state == "applying":
            raise Fail(
                "conflict",
                "IDEMPOTENCY_OUTCOME_UNKNOWN",
                "An earlier process with this key died before it recorded its result; its effect may have happened",
                hint="look at the present state, then use a new key",
            )
        self._repeat(run, outflow, json.loads(outcome))
        return True

    def _repeat(self, run: RunState, outflow: Outflow, before: dict[str, Any]) -> None:
        run.remarks["replayed"] = True
        for (line,) in self._database.execute(
            "SELECT line FROM events WHERE key = ? ORDER BY position", (self._key,)
        ):
            event = json.loads(line)
            if event["type"] == "aoi:error":
                run.sink.error(_as_fail(event))
            elif event["type"].startswith("aoi:"):
                run.sink.notice(event)
            else:
                outflow.repeat(event)
        run.count, run.warnings, run.errors, run.partial = (
            before[name] for name in ("count", "warning_count", "error_count", "partial")
        )
        if before["failure"] is not None:
            raise _as_fail(before["failure"], exit_code=before["exit_code"])

    def begin(self) -> None:
        """From here on the effect may have happened."""
        try:
            with self._transaction():
                self._forget_old()
                self._write("applying", None)
        except sqlite3.Error as problem:
            raise self._unusable(problem) from problem

    def add(self, run: RunState, item: Any) -> None:
        """One event of the result, as it may be shown; how far it had come is not part of a result."""
        if isinstance(item, ItemError):
            event: Any = shown_error(item.fail, run.sink.secrets)
        elif isinstance(item, FrameworkNotice):
            event = item.fields
            if event["type"] == "aoi:progress":
                return
        else:
            event = item
            self._effects += 1
        if run.sink.secrets:
            event = masked(event if isinstance(event, dict) else event.to_dict(), run.sink.secrets)
        self._lines.append(json_text(event))

    def finish(self, run: RunState) -> None:
        """The result, durable before the summary is written."""
        self._record(run, "done", None)

    def failed(self, run: RunState, fail: Fail) -> None:
        """A refusal by the apply phase. One that may be retried frees the key, but only if nothing was done before it;
        any other is the answer from now on.
        """
        if fail.retryable and not self._effects:
            with _Recording(), self._transaction():
                self._database.execute("DELETE FROM runs WHERE key = ?", (self._key,))
            return
        fail.retryable = False
        self._record(run, "failed", fail)

    def _record(self, run: RunState, state: str, fail: Fail | None) -> None:
        outcome = {
            "count": run.count,
            "warning_count": run.warnings,
            "error_count": run.errors,
            "partial": run.partial or (fail is not None and run.count > 0),
            "failure": None if fail is None else shown_error(fail, run.sink.secrets),
            "exit_code": None if fail is None else fail.exit_code,
        }
        with _Recording(), self._transaction():
            self._database.executemany(
                "INSERT OR REPLACE INTO events VALUES (?, ?, ?)",
                ((self._key, position, line) for position, line in enumerate(self._lines)),
            )
            self._write(state, json_text(outcome))

    def _write(self, state: str, outcome: str | None) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)",
            (self._key, self._fingerprint, state, time.time(), outcome),
        )

    def _forget_old(self) -> None:
        limit = (time.time() - KEEP_SECONDS,)
        self._database.execute("DELETE FROM events WHERE key IN (SELECT key FROM runs WHERE at <= ?)", limit)
        self._database.execute("DELETE FROM runs WHERE at <= ?", limit)

    def _transaction(self) -> _Transaction:
        return _Transaction(self._database)


class _Transaction:
    """BEGIN IMMEDIATE … COMMIT, or ROLLBACK."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.execute("COMMIT" if kind is None else "ROLLBACK")


class _Recording:
    """What fails in here fails after the effect."""

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise Fail(
                "io",
                "IDEMPOTENCY_NOT_RECORDED",
                f"It was done, but its result could not be recorded under its key: {error}",
                hint="look at the present state; another call needs a new key",
            ) from error


def _as_fail(event: dict[str, Any], *, exit_code: int | None = None) -> Fail:
    known = ("type", "category", "code", "message", "retryable", "hint", "target")
    details = {name: value for name, value in event.items() if name not in known}
    return Fail(
        event["category"],
        event["code"],
        event["message"],
        retryable=event["retryable"],
        hint=event.get("hint"),
        target=event.get("target"),
        exit_code=exit_code,
        **details,
    )


def _is_full(problem: Exception) -> bool:
    """Whether the disk took no more. SQLite says so by name, or that it could not write (its shared memory)."""
    name: str = getattr(problem, "sqlite_errorname", "")
    full = isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT)
    return full or name in ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")
