"""Writing to the store: one transaction, all of it or nothing.

A writer makes the directory (0700) and the file (0600), migrates, and does all of its work in one transaction. WAL lets
readers go on meanwhile; `synchronous=FULL` makes what was acknowledged survive a power cut.
"""

import os
from time import monotonic, sleep

from operable.examples.outline.database import SCHEMA, connect, path, sqlite_error
from operable.examples.outline.failures import BUSY, LOCKED, explained, primary_code
from operable.tool import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from types import TracebackType
    from typing import Any

# Waiting for another writer happens in slices, so that a signal or a deadline gets through in between.
BUSY_SLICE = 0.25
PATIENCE = 5.0
_PAUSE = 0.01


class Writing:
    """`with Writing() as connection:` one transaction: all of it or, after any exception, nothing."""

    def __enter__(self) -> "Connection":
        place = path()
        _make_private(place)
        self._connection: Connection | None = None
        try:
            self._connection = connection = connect(place, timeout=BUSY_SLICE)
            self._begin(connection)
        except BaseException as error:
            self._abandon()
            if isinstance(error, sqlite_error()):
                raise explained(error) from error
            raise
        return connection

    def _begin(self, connection: "Connection") -> None:
        connection.execute("PRAGMA synchronous=FULL")
        (schema,) = _patiently(connection, "PRAGMA user_version").fetchone()
        if schema == 0:
            _patiently(connection, "PRAGMA journal_mode=WAL")
        _patiently(connection, "BEGIN IMMEDIATE")
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if schema > SCHEMA:
            raise Fail(
                "config",
                "DATABASE_TOO_NEW",
                "The store was made by a newer outline",
                target=path(),
                hint="upgrade outline",
            )
        if schema < SCHEMA:
            from operable.examples.outline.migrations import STEPS

            for step in STEPS[schema:]:
                for statement in step:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={len(STEPS)}")

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        connection = self._connection
        if connection is None:
            return
        try:
            if error is None:
                connection.execute("COMMIT")
        except sqlite_error() as problem:
            raise explained(problem) from problem
        finally:
            self._abandon()
        if error is not None and isinstance(error, sqlite_error()):
            raise explained(error) from error

    def _abandon(self) -> None:
        """Close; what is not committed is rolled back by SQLite."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _make_private(place: str) -> None:
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _patiently(connection: "Connection", statement: str) -> "Any":
    """Execute, again and again while others have the store; some of SQLite's refusals come at once, without a wait."""
    until = monotonic() + PATIENCE
    while True:
        try:
            return connection.execute(statement)
        except sqlite_error() as error:
            if primary_code(error) not in (BUSY, LOCKED) or monotonic() > until:
                raise
        sleep(_PAUSE)
