"""Idempotency keys: an effect happens once, and whoever asks again gets the recorded answer.

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

import fcntl
import json
import os
import sqlite3
import time

from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.tool.json_text import json_text
from operable.tool.places import state_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

    from operable.tool.runner import Run

KEEP_SECONDS = 30 * 24 * 3600  # long enough for any retry, short enough for the file to stay small
MAX_KEY = 256
_BUSY_SECONDS = 10.0
_TABLES = """
CREATE TABLE IF NOT EXISTS runs (
  key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, state TEXT NOT NULL, at REAL NOT NULL, outcome TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
  key TEXT NOT NULL, position INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (key, position)
) WITHOUT ROWID;
"""


class Journal:
    """The record of one key, locked for as long as it is open."""

    def __init__(self, tool: str, key: str) -> None:
        if len(key) > MAX_KEY:
            raise Fail("usage", "INVALID_VALUE", f"--idempotency-key is longer than {MAX_KEY} characters")
        self._key = key
        self._directory = state_directory(tool)
        self._fingerprint = ""
        self._began = False
        self._lines: list[str] = []

    def __enter__(self) -> Self:
        self._lock = os.open(
            os.path.join(self._directory, "idempotency.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        # The byte is chosen by a 62-bit digest, so two keys never share one in practice. Waiting for the other process
        # ends with its death, with our deadline, or with a signal.
        offset = int(digest(self._key)[7:22], 16)
        fcntl.lockf(self._lock, fcntl.LOCK_EX, 1, offset)
        self._database = self._open()
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

    def replay(self, run: Run, fingerprint: str) -> bool:
        """Give the recorded answer, if there is one; a key that means something else is a conflict."""
        self._fingerprint = fingerprint
        row = self._database.execute(
            "SELECT fingerprint, state, outcome FROM runs WHERE key = ? AND at > ?",
            (self._key, time.time() - KEEP_SECONDS),
        ).fetchone()
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
        run.remarks["replayed"] = True
        if state == "failed":
            raise _as_fail(json.loads(outcome))
        for (line,) in self._database.execute(
            "SELECT line FROM events WHERE key = ? ORDER BY position", (self._key,)
        ):
            run.sink.put(run.sink.encode(json.loads(line)))
        before = json.loads(outcome)
        run.count, run.warnings, run.errors, run.partial = (
            before[name] for name in ("count", "warning_count", "error_count", "partial")
        )
        return True

    def begin(self) -> None:
        """From here on the effect may have happened."""
        with self._transaction():
            self._forget_old()
            self._write("applying", None)
        self._began = True

    def add(self, event: Any) -> None:
        """One event of the result."""
        self._lines.append(json_text(event))

    def finish(self, run: Run) -> None:
        """The result, durable before the summary is written."""
        outcome = {
            "count": run.count,
            "warning_count": run.warnings,
            "error_count": run.errors,
            "partial": run.partial,
        }
        with self._transaction():
            self._database.executemany(
                "INSERT OR REPLACE INTO events VALUES (?, ?, ?)",
                ((self._key, position, line) for position, line in enumerate(self._lines)),
            )
            self._write("done", json_text(outcome))

    def failed(self, fail: Fail) -> None:
        """A refusal by the apply phase. One that may be retried frees the key; any other is the answer from now on."""
        with self._transaction():
            if fail.retryable:
                self._database.execute("DELETE FROM runs WHERE key = ?", (self._key,))
            else:
                self._write("failed", json_text(fail.event()))

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


def _as_fail(event: dict[str, Any]) -> Fail:
    known = ("category", "code", "message", "retryable", "hint", "target")
    details = {name: value for name, value in event.items() if name not in known and name != "type"}
    return Fail(
        event["category"],
        event["code"],
        event["message"],
        retryable=event["retryable"],
        hint=event.get("hint"),
        target=event.get("target"),
        **details,
    )
