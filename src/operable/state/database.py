"""One interface to SQLite in a file and to PostgreSQL: transactions that are durable when they end, and snapshots to read.

SQLite has one writer at a time. On PostgreSQL transactions run side by side, and `lock` is how those that decide about the
same thing come one after the other: a name is held until the transaction ends, and what is read afterwards is what the last
holder left. Several names are taken in their order, so that two transactions never wait for each other.

Any number of threads may use one database. On PostgreSQL they share a few connections. A message has no password in it.
"""

import os
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol

from operable.kernel.errors import Fail
from operable.state.atomic import open_private

Row = tuple[Any, ...]
# A transaction takes milliseconds; half a minute is a machine that swaps.
_BUSY_TIMEOUT = 30.0
# Of one database in one process. A server has a hundred by default, for all workers together.
_CONNECTIONS = 4
_KEY = "hashtextextended(name, 0)"
OLDEST_POSTGRES = 130000  # the oldest that its makers supported when this was written


class StoreConnection(Protocol):
    """Executes SQL with `?` for values, and returns all rows."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same statement for each row of values."""

    def lock(self, *names: str, shared: bool = False) -> None:
        """Wait until no other transaction has these names; several may share one."""

    def lock_selected(self, query: str, values: Sequence[Any] = ()) -> None:
        """The same for the one name that a query selects."""


class Database(Protocol):
    address: str  # without a password

    def transaction(self) -> AbstractContextManager[StoreConnection]: ...
    def snapshot(self) -> AbstractContextManager[StoreConnection]: ...
    def exists(self) -> bool: ...
    def close(self) -> None: ...


class SqliteConnection:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def lock(self, *names: str, shared: bool = False) -> None:
        """A transaction of SQLite is alone."""

    def lock_selected(self, query: str, values: Sequence[Any] = ()) -> None:
        """A transaction of SQLite is alone."""


class SqliteDatabase:
    """One file on a local disk, for any number of processes of one machine."""

    def __init__(self, path: str) -> None:
        self.address = path
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._mutex = threading.Lock()

    def exists(self) -> bool:
        return os.path.lexists(self.address)

    @contextmanager
    def transaction(self) -> Iterator[StoreConnection]:
        with _translated(self.address):
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteConnection(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[StoreConnection]:
        with _translated(self.address):
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield SqliteConnection(connection)
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        with self._mutex:
            for connection in self._all:
                connection.close()
            self._all.clear()
            self._local = threading.local()

    def _connection(self) -> sqlite3.Connection:
        known: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if known is None:
            if not self.exists():
                os.close(open_private(self.address, os.O_RDWR | os.O_CREAT))
            known = sqlite3.connect(
                self.address, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            known.execute("PRAGMA journal_mode = WAL")
            known.execute("PRAGMA synchronous = FULL")  # a start is on disk before its effect
            known.execute("PRAGMA foreign_keys = ON")
            self._local.connection = known
            with self._mutex:
                self._all.append(known)
        return known


@contextmanager
def _translated(address: str) -> Iterator[None]:
    """Database errors as ours: they are temporary, because a full disk or a restart ends."""
    try:
        yield
    except sqlite3.Error as error:
        message = f"the store {address} cannot be used: {error}"
        raise Fail("temporary", "STORE_UNAVAILABLE", message, target=address) from error


class PostgresDatabase:
    """A schema of a PostgreSQL database, for processes on any number of machines."""

    def __init__(self, url: str, schema: str) -> None:
        self._url, self._schema = url, schema
        self.address = shown_address(url)
        self._idle: list[Any] = []
        self._mutex = threading.Lock()
        self._free = threading.BoundedSemaphore(_CONNECTIONS)

    def exists(self) -> bool:
        with self.snapshot() as connection:
            (found,) = connection.execute("SELECT to_regclass(?) IS NOT NULL", (f"{self._schema}.meta",))
            return bool(found[0])

    def transaction(self) -> AbstractContextManager[StoreConnection]:
        return self._open(write=True)

    def snapshot(self) -> AbstractContextManager[StoreConnection]:
        return self._open(write=False)

    def close(self) -> None:
        with self._mutex:
            while self._idle:
                self._idle.pop().close()

    @contextmanager
    def _open(self, *, write: bool) -> Iterator[StoreConnection]:
        import psycopg

        if not self._free.acquire(timeout=_BUSY_TIMEOUT):
            raise self._unavailable("every connection of this process is in use")
        try:
            connection = self._take()
            try:
                level = psycopg.IsolationLevel
                connection.isolation_level = level.READ_COMMITTED if write else level.REPEATABLE_READ
                connection.read_only = not write
                with connection.transaction():
                    yield _PostgresConnection(connection)
            finally:
                self._give_back(connection)
        except psycopg.Error as error:
            raise self._translated(error) from None
        finally:
            self._free.release()

    def _translated(self, error: Exception) -> Fail:
        """An error as ours: temporary, unless an operator has to change a password or a right."""
        import psycopg

        reason = str(error).strip().splitlines()[0]
        message = f"the database {self.address} refuses this user: {reason}"
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            hint = "an administrator may GRANT CREATE ON DATABASE to this user, or make the schema for it"
            return Fail("authz", "STORE_REFUSED", message, target=self.address, hint=hint)
        if "authentication failed" in reason or "no password supplied" in reason:
            hint = "the password is in OPERABLE_DATABASE, in PGPASSWORD, or in the file that PGPASSFILE names"
            return Fail("authn", "STORE_REFUSED", message, target=self.address, hint=hint)
        return self._unavailable(reason)

    def _unavailable(self, reason: str) -> Fail:
        message = f"the database {self.address} cannot be used: {reason}"
        return Fail("temporary", "STORE_UNAVAILABLE", message, target=self.address)

    def _take(self) -> Any:
        import psycopg

        with self._mutex:
            while self._idle:
                known = self._idle.pop()
                if not known.closed and not known.broken:
                    return known
                known.close()
        opened = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        try:
            self._require_version(opened.info.server_version)
            # Only what does not exist is made: a user without the right to make it can use a schema that is there.
            opened.execute("SELECT set_config('search_path', %s, false)", (self._schema,))
        except BaseException:
            opened.close()
            raise
        return opened

    def _require_version(self, version: int) -> None:
        if version < OLDEST_POSTGRES:
            oldest = OLDEST_POSTGRES // 10000
            message = f"{self.address} is PostgreSQL {version // 10000}, and {oldest} is the oldest that is supported"
            raise Fail("config", "DATABASE_TOO_OLD", message, target=self.address, hint="upgrade the server")

    def _give_back(self, connection: Any) -> None:
        if connection.closed or connection.broken:
            connection.close()
            return
        with self._mutex:
            self._idle.append(connection)


class _PostgresConnection:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        cursor = self._connection.execute(sql.replace("?", "%s"), tuple(values))
        return list(cursor.fetchall()) if cursor.description else []

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s"), [tuple(row) for row in rows])

    def lock(self, *names: str, shared: bool = False) -> None:
        function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
        self._connection.execute(
            f"SELECT {function}({_KEY}) FROM unnest(%s::text[]) AS name",  # noqa: S608 - our names
            (sorted(set(names)),),
        )

    def lock_selected(self, query: str, values: Sequence[Any] = ()) -> None:
        chosen = query.replace("?", "%s")
        self._connection.execute(
            f"SELECT pg_advisory_xact_lock({_KEY}) FROM ({chosen}) AS chosen (name)",  # noqa: S608 - our names
            tuple(values),
        )


def create_schema(connection: StoreConnection, schema: str) -> None:
    """Make the schema of a PostgreSQL database, unless it is there; other processes that want to, wait."""
    connection.lock(f"schema {schema}")
    known = connection.execute("SELECT 1 FROM information_schema.schemata WHERE schema_name = ?", (schema,))
    if not known:
        connection.execute(f"CREATE SCHEMA {schema}")


def open_database(address: str, schema: str = "operable") -> Database:
    """A path of a file, or a URL of PostgreSQL. Raises Fail for any other URL."""
    scheme, separator, _ = address.partition("://")
    if not separator:
        return SqliteDatabase(os.path.abspath(address))
    if scheme in ("postgresql", "postgres"):
        _require_url(address)
        return PostgresDatabase(address, schema)
    message = f"{scheme} is not a database that the engine knows"
    raise Fail("config", "DATABASE_UNKNOWN", message, hint="use postgresql://HOST/NAME, or leave it out")


def _require_url(address: str) -> None:
    """Raises Fail if PostgreSQL's client cannot read the URL. Its own words are not repeated: they quote the password."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        ports = str(conninfo_to_dict(address).get("port") or "5432").split(",")
        if all(0 < int(port or 5432) < 65536 for port in ports):
            return
    except (psycopg.ProgrammingError, ValueError):
        pass
    message = "the database is not a URL that PostgreSQL can read: postgresql://USER:PASSWORD@HOST:PORT/NAME"
    hint = "in names and passwords write @ as %40, / as %2F, : as %3A, % as %25 and a space as %20"
    raise Fail("config", "DATABASE_URL", message, target=shown_address(address), hint=hint)


def is_shared(address: str) -> bool:
    """Whether an address is that of a server: processes of other machines may use the same database."""
    return "://" in address


def shown_address(address: str) -> str:
    """The address without a password: it goes into messages. A path is shown as it is."""
    if not is_shared(address):
        return address
    scheme, _, rest = address.partition("://")
    place = re.split("[?#]", rest, maxsplit=1)[0]
    if "@" in rest and "@" not in place:
        return f"{scheme}://…"  # a password with an unencoded sign: what is left of it may be in any part
    user, at, place = place.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{place}"
