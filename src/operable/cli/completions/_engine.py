"""The engine's own databases of this user. Those of a server are not asked: no completion opens a connection."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# `operable.flow.scheduler.job_store.VARIABLE`, which would have to be loaded: another database than the home's own.
VARIABLE = "OPERABLE_DATABASE"
# Seconds that a writer is waited for.
_BUSY = 0.2


def query(file: str, statement: str) -> list[tuple[Any, ...]]:
    """The rows; none if there is no such file."""
    import sqlite3

    from operable.flow.home import home_of, paths
    from operable.kernel.errors import Fail
    from operable.state.sqlite import read_database

    if os.environ.get(VARIABLE):
        return []
    path = os.path.join(paths(home_of(os.environ))["state"], file)
    if not os.path.isfile(path):
        return []
    try:
        return read_database(path, lambda connection: connection.execute(statement).fetchall(), busy=_BUSY)
    except sqlite3.Error as error:
        raise Fail("io", "STATE_UNREADABLE", f"{path} cannot be read: {error}") from error
