"""What launching remembers: installations, completed setup steps, the state of logins.

One SQLite file in write-ahead mode, a connection per question, so that threads and processes need no care. Values that
people type never come here: the ledger knows a secret only by the slug under which the store keeps it. The scope of setup
and login is (bundle, workspace, user), as the specification says; an installation belongs to `id@major` and to the install
block that made it, so that a manifest that borrows another's id does not get its program.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

# A writer holds the lock for microseconds; ten seconds are a machine that is swapping.
_BUSY_TIMEOUT = 10.0
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS installs (
    major TEXT, source TEXT, binary TEXT NOT NULL, method TEXT NOT NULL, prefix TEXT, installed_at REAL NOT NULL,
    version TEXT, stamp TEXT, checked_at REAL, PRIMARY KEY (major, source));
CREATE TABLE IF NOT EXISTS steps (
    bundle TEXT, workspace TEXT, user TEXT, step TEXT, digest TEXT NOT NULL, outcome TEXT NOT NULL,
    env TEXT, slug TEXT, at REAL NOT NULL, PRIMARY KEY (bundle, workspace, user, step));
CREATE TABLE IF NOT EXISTS logins (
    bundle TEXT, workspace TEXT, user TEXT, state TEXT NOT NULL, since REAL NOT NULL, refreshed_at REAL,
    PRIMARY KEY (bundle, workspace, user));
"""

AuthState = Literal["unknown", "unauthed", "logging-in", "authed"]


class Scope(NamedTuple):
    """For whom something was set up."""

    bundle: str
    workspace: str
    user: str


@dataclass(frozen=True, slots=True)
class InstallRecord:
    """An installation. `version` is what its check said when the file had `stamp`."""

    binary: str
    method: str
    prefix: str | None
    installed_at: float
    version: str | None = None
    stamp: str | None = None
    checked_at: float | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A completed step. `env` is the variable that its value is for, `slug` where the store has that value."""

    digest: str
    outcome: str
    env: str | None = None
    slug: str | None = None


@dataclass(frozen=True, slots=True)
class LoginRecord:
    state: AuthState = "unknown"
    since: float = 0.0
    refreshed_at: float | None = None


class Ledger:
    """The file; made on first use, readable by its owner only."""

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time, remember: bool = True) -> None:
        self.path = path
        self.clock = clock
        self._remember = remember  # False: for a dry run, which must not even note what it found
        self._ready = False

    # --- installations

    def install(self, major: str, source: str) -> InstallRecord | None:
        row = self._one(
            "SELECT binary, method, prefix, installed_at, version, stamp, checked_at FROM installs "
            "WHERE major = ? AND source = ?",
            (major, source),
        )
        return InstallRecord(*row) if row else None

    def installed(self, major: str, source: str, binary: str, method: str, prefix: str | None) -> None:
        self._write(
            "INSERT OR REPLACE INTO installs (major, source, binary, method, prefix, installed_at) VALUES (?,?,?,?,?,?)",
            (major, source, binary, method, prefix, self.clock()),
        )

    def checked(self, major: str, source: str, version: str, stamp: str) -> None:
        self._write(
            "UPDATE installs SET version = ?, stamp = ?, checked_at = ? WHERE major = ? AND source = ?",
            (version, stamp, self.clock(), major, source),
        )

    def uninstalled(self, major: str, source: str) -> None:
        self._write("DELETE FROM installs WHERE major = ? AND source = ?", (major, source))

    def prefixes(self, major: str) -> set[str]:
        """The private folders that are in use."""
        rows = self._all("SELECT prefix FROM installs WHERE major = ? AND prefix IS NOT NULL", (major,))
        return {row[0] for row in rows}

    # --- setup

    def steps(self, scope: Scope) -> dict[str, StepRecord]:
        rows = self._all(
            "SELECT step, digest, outcome, env, slug FROM steps WHERE bundle = ? AND workspace = ? AND user = ?",
            scope,
        )
        return {row[0]: StepRecord(*row[1:]) for row in rows}

    def completed(self, scope: Scope, step: str, record: StepRecord) -> None:
        self._write(
            "INSERT OR REPLACE INTO steps VALUES (?,?,?,?,?,?,?,?,?)",
            (*scope, step, record.digest, record.outcome, record.env, record.slug, self.clock()),
        )

    def reopen(self, scope: Scope, step: str | None = None) -> None:
        """Forget that a step (or all of them) was done."""
        where = "DELETE FROM steps WHERE bundle = ? AND workspace = ? AND user = ?"
        if step is None:
            self._write(where, scope)
        else:
            self._write(f"{where} AND step = ?", (*scope, step))

    # --- logins

    def login(self, scope: Scope) -> LoginRecord:
        row = self._one(
            "SELECT state, since, refreshed_at FROM logins WHERE bundle = ? AND workspace = ? AND user = ?",
            scope,
        )
        return LoginRecord(*row) if row else LoginRecord()

    def login_is(self, scope: Scope, state: AuthState) -> None:
        """The state changed now. Becoming `authed` starts the clock of the next refresh."""
        now = self.clock()
        self._write(
            "INSERT OR REPLACE INTO logins VALUES (?,?,?,?,?,?)",
            (*scope, state, now, now if state == "authed" else None),
        )

    # --- the file

    def _one(self, question: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        return next(iter(self._all(question, values)), None)

    def _all(self, question: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._open() as database:
            return database.execute(question, values).fetchall()

    def _write(self, order: str, values: tuple[object, ...]) -> None:
        if not self._remember:
            return
        with self._open() as database, database:
            database.execute(order, values)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            if not self._ready:
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            database = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT)
            try:
                if not self._ready:
                    self._prepare(database)
                yield database
            finally:
                database.close()
        except (OSError, sqlite3.Error) as problem:
            raise Fail(
                "io",
                "LEDGER_UNUSABLE",
                f"the ledger of agents cannot be used: {problem}",
                target=self.path,
                hint="free space, or move the file away: what it remembers is then asked again",
            ) from problem

    def _prepare(self, database: sqlite3.Connection) -> None:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > _VERSION:
            raise Fail(
                "config",
                "LEDGER_NEWER",
                "the ledger of agents was written by a newer Operable",
                target=self.path,
                hint="use the newer one, or another OPERABLE_HOME",
            )
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        self._ready = True
