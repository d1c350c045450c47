"""The engine's store in a database: made, and migrated, by the first writer that opens it, in one transaction.

A reader creates nothing. A store that a newer version wrote is refused.

Every change of a run, and of what belongs to it, is made in `changing`: the name of its job is locked. What is decided from
the other runs of the job stays true until it is written, and jobs do not wait for each other.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from operable.engine.store.schema import MIGRATIONS, VERSION
from operable.kernel.errors import Fail
from operable.state.database import (
    Database,
    PostgresDatabase,
    StoreConnection,
    create_schema,
    open_database,
    shown_address,
)

__all__ = [
    "Database",
    "StoreConnection",
    "changing",
    "open_database",
    "prepare",
    "require_known",
    "shown_address",
]
SCHEMA = "operable"
_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"


def prepare(database: Database) -> str:
    """Make or migrate the store; returns its identity. Raises Fail if a newer version wrote it."""
    identity = read_identity(database)
    if identity is not None:
        return identity
    with database.transaction() as connection:
        if isinstance(database, PostgresDatabase):
            create_schema(connection, SCHEMA)
        connection.execute(_META.replace("TABLE", "TABLE IF NOT EXISTS"))
        meta = _read_meta(connection)
        version = int(meta.get("version", 0))
        require_known(version, database.address)
        for migration in MIGRATIONS[version:]:
            for statement in filter(str.strip, migration.split(";")):
                connection.execute(statement)
        identity = meta.get("identity") or secrets.token_hex(8)
        if version != VERSION:
            for key, value in (("version", str(VERSION)), ("identity", identity)):
                connection.execute(
                    "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    (key, value),
                )
        return identity


@contextmanager
def changing(
    database: Database, run_id: str, worker_id: str | None = None, *, others: Sequence[str] = ()
) -> Iterator[StoreConnection]:
    """A transaction that no other one of the run's job, or of these others, comes between, and no burial of this worker."""
    with database.transaction() as connection:
        # Workers come before jobs, always: two transactions never wait for each other.
        if worker_id is not None:
            connection.lock(f"worker {worker_id}", shared=True)
        connection.lock_selected("SELECT job_id FROM runs WHERE run_id = ?", (run_id,), also=others)
        yield connection


def read_identity(database: Database) -> str | None:
    """The identity of a store that is of this version. Reading delays no writer."""
    if not database.exists():
        return None
    try:
        with database.snapshot() as connection:
            meta = _read_meta(connection)
    except Fail:  # the file is there, and nothing in it
        return None
    return meta.get("identity") if meta.get("version") == str(VERSION) else None


def require_known(version: int, address: str) -> None:
    if version > VERSION:
        message = (
            f"{address} was written by a newer version of operable (store {version}, this program {VERSION})"
        )
        raise Fail(
            "config",
            "STORE_NEWER",
            message,
            target=address,
            hint="install a newer version here: pip install --upgrade operable",
        )


def require_current(database: Database) -> bool:
    """For readers, which migrate nothing: False if nothing is in it yet. Raises Fail if another version wrote it."""
    try:
        with database.snapshot() as connection:
            version = int(_read_meta(connection).get("version", 0))
    except Fail as error:
        if "no such table" not in error.message:
            raise
        return False  # the file is there, and nothing in it
    require_known(version, database.address)
    if 0 < version < VERSION:
        message = f"{database.address} was written by an older version of operable (store {version}, this program {VERSION})"
        hint = "a new worker migrates it: operable engine start; workers of the older version go on with it"
        raise Fail("config", "STORE_OLDER", message, target=database.address, hint=hint)
    return version == VERSION


def _read_meta(connection: StoreConnection) -> dict[str, str]:
    return {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta")}
