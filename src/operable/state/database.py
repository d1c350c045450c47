"""One interface to SQLite in a file and to PostgreSQL: transactions that are durable when they end, and snapshots to read.

SQLite has one writer at a time. On PostgreSQL transactions run side by side, and `lock` is how those that decide about the
same thing come one after the other: a name is held until the transaction ends, and what is read afterwards is what the last
holder left. Several names are taken in their order, so that two transactions never wait for each other.

Any number of threads may use one database. On PostgreSQL they share a few connections. A message has no password in it.
"""

import os
import re
import shlex
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
# Transactions of one commit: other processes wait as long. And how long a member waits before it commits itself.
_MOST_TOGETHER, _PATIENCE = 32, 0.5
# Of one database in one process. A server has a hundred by default, for all workers together.
_CONNECTIONS = 4
_KEY = "hashtextextended(name, 0)"
CHANNEL = "operable"  # of notifications; a database of PostgreSQL has channels of its own
OLDEST_POSTGRES = 130000  # the oldest that its makers supported when this was written


class StoreConnection(Protocol):
    """Executes SQL with `?` for values, and returns all rows."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same statement for each row of values."""

    def lock(self, *names: str, shared: bool = False) -> None:
        """Wait until no other transaction has these names; several may share one."""

    def lock_selected(self, query: str, values: Sequence[Any] = (), also: Sequence[str] = ()) -> None:
        """The same for the one name that a query selects, and for these."""


class Database(Protocol):
    address: str  # without a password

    def transaction(self) -> AbstractContextManager[StoreConnection]: ...
    def snapshot(self) -> AbstractContextManager[StoreConnection]: ...
    def exists(self) -> bool: ...
    def close(self) -> None: ...

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """One statement that reads, without a transaction around it: on PostgreSQL one exchange in place of three."""

    def notify(self) -> None:
        """Wake the processes that wait for a change of this database. It may fail: who waits also looks by itself."""


class SqliteConnection:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def lock(self, *names: str, shared: bool = False) -> None:
        """A transaction of SQLite is alone."""

    def lock_selected(self, query: str, values: Sequence[Any] = (), also: Sequence[str] = ()) -> None:
        """A transaction of SQLite is alone."""


class _Group:
    """Transactions of several threads that one commit makes durable."""

    def __init__(self) -> None:
        self.size = 0
        self.over = threading.Event()
        self.error: sqlite3.Error | None = None

    def end(self, error: sqlite3.Error | None = None) -> None:
        self.error = error
        self.over.set()


class SqliteDatabase:
    """One file on a local disk, for any number of processes of one machine.

    A commit syncs the disk, which takes longer than all else in a transaction. So threads that write at the same time
    share one: each executes in its turn, in a savepoint of its own, and the last one that waits commits for all. A
    transaction ends, for its caller, when that commit has; if it fails, all of them have failed.
    """

    def __init__(self, path: str) -> None:
        self.address = path
        self._local = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._mutex = threading.Lock()
        self._writing = threading.Lock()  # what follows belongs to the thread that has it
        self._writer: sqlite3.Connection | None = None
        self._group: _Group | None = None
        self._waiting = 0  # threads that want it; changed under the mutex

    def exists(self) -> bool:
        return os.path.lexists(self.address)

    @contextmanager
    def transaction(self) -> Iterator[StoreConnection]:
        failure: Exception | None = None
        with _translated(self.address):
            with self._turn():
                group, connection = self._join()
                connection.execute("SAVEPOINT member")
                try:
                    yield SqliteConnection(connection)
                    connection.execute("RELEASE member")
                    group.size += 1
                except Exception as error:  # noqa: BLE001 - raised below
                    self._undo(group, connection)
                    failure = error
                except BaseException:
                    self._undo(group, connection)
                    raise
                if self._waiting == 0 or group.size >= _MOST_TOGETHER:
                    self._commit(group)
            # A refusal waits also: it may rest on what others of the group wrote.
            self._await(group)
            if failure is not None:
                raise failure

    @contextmanager
    def snapshot(self) -> Iterator[StoreConnection]:
        with _translated(self.address):
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = self._local.connection = self._connect()
            connection.execute("BEGIN")
            try:
                yield SqliteConnection(connection)
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self.snapshot() as connection:
            return connection.execute(sql, values)

    def notify(self) -> None:
        """Who waits sees that the file was written."""

    def close(self) -> None:
        with self._mutex:
            for connection in self._all:
                connection.close()
            self._all.clear()
            self._local = threading.local()
            self._writer = None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._mutex:
            self._waiting += 1
        try:
            mine = self._writing.acquire(timeout=_BUSY_TIMEOUT)
        finally:
            with self._mutex:
                self._waiting -= 1
        if not mine:
            raise sqlite3.OperationalError("other threads of this process have been writing all the time")
        try:
            yield
        finally:
            self._writing.release()

    def _join(self) -> tuple[_Group, sqlite3.Connection]:
        """The group that is open, or a new one."""
        if self._writer is None:
            self._writer = self._connect()
        if self._group is None:
            self._writer.execute("BEGIN IMMEDIATE")
            self._group = _Group()
        return self._group, self._writer

    def _await(self, group: _Group) -> None:
        # A thread that was to commit may have given up waiting for its turn.
        while not group.over.wait(_PATIENCE):
            with self._turn():
                self._commit(group)
        if group.error is not None:
            raise sqlite3.OperationalError(str(group.error))

    def _undo(self, group: _Group, connection: sqlite3.Connection) -> None:
        """Take back what one member did. Some errors, such as a full disk, have taken back everything by themselves."""
        try:
            connection.execute("ROLLBACK TO member")
            connection.execute("RELEASE member")
        except sqlite3.Error as error:
            self._give_up(group, connection, error)

    def _commit(self, group: _Group) -> None:
        if group is not self._group or self._writer is None:
            return
        try:
            self._writer.execute("COMMIT" if group.size else "ROLLBACK")
        except sqlite3.Error as error:
            self._give_up(group, self._writer, error)
            return
        self._group = None
        group.end()

    def _give_up(self, group: _Group, connection: sqlite3.Connection, error: sqlite3.Error) -> None:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        self._group = None
        group.end(error)

    def _connect(self) -> sqlite3.Connection:
        if not self.exists():
            os.close(open_private(self.address, os.O_RDWR | os.O_CREAT))
        opened = sqlite3.connect(
            self.address, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        opened.execute("PRAGMA journal_mode = WAL")
        opened.execute("PRAGMA synchronous = FULL")  # a start is on disk before its effect
        opened.execute("PRAGMA foreign_keys = ON")
        with self._mutex:
            self._all.append(opened)
        return opened


@contextmanager
def _translated(address: str) -> Iterator[None]:
    """Database errors as ours: they are temporary, because a full disk or a restart ends. What a value is, stays."""
    try:
        yield
    except (sqlite3.DataError, OverflowError, UnicodeEncodeError) as error:
        raise _unstorable(address, error) from error
    except sqlite3.Error as error:
        message = f"the store {address} cannot be used: {error}"
        raise Fail("temporary", "STORE_UNAVAILABLE", message, target=address) from error


def _unstorable(address: str, error: Exception) -> Fail:
    """No database has a place for this value: a number beyond 64 bits, text that is none. Trying again changes nothing."""
    reason = str(error).strip().splitlines()[0]
    return Fail(
        "validation", "VALUE_UNSTORABLE", f"a value cannot be kept in {address}: {reason}", target=address
    )


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

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._connected() as connection:
            return _PostgresConnection(connection).execute(sql, values)

    def notify(self) -> None:
        # Apart from the change: notifications in a transaction let no other commit of the database come in between.
        # Nothing depends on it, so it does not wait for the disk.
        with suppress(Fail):
            self.query("SELECT set_config('synchronous_commit', 'off', true), pg_notify(?, '')", (CHANNEL,))

    @contextmanager
    def _open(self, *, write: bool) -> Iterator[StoreConnection]:
        import psycopg

        with self._connected() as connection:
            level = psycopg.IsolationLevel
            connection.isolation_level = level.READ_COMMITTED if write else level.REPEATABLE_READ
            connection.read_only = not write
            with connection.transaction():
                yield _PostgresConnection(connection)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        import psycopg

        if not self._free.acquire(timeout=_BUSY_TIMEOUT):
            raise self._unavailable("every connection of this process is in use")
        try:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)
        except (psycopg.DataError, UnicodeEncodeError) as error:
            raise _unstorable(self.address, error) from None
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
        missing = re.search('FATAL: +database "(.*)" does not exist', reason)
        if missing is not None:
            message = f"{self.address} is a database that does not exist: {reason}"
            hint = (
                f"correct its name, or make it: {shlex.join(['createdb', *_server(self._url), missing[1]])}"
            )
            return Fail("config", "DATABASE_MISSING", message, target=self.address, hint=hint)
        return self._unavailable(reason)

    def _unavailable(self, reason: str) -> Fail:
        message = f"the database {self.address} cannot be used: {reason}"
        hint = f"does it answer? {shlex.join(['pg_isready', *_server(self._url)])}"
        return Fail("temporary", "STORE_UNAVAILABLE", message, target=self.address, hint=hint)

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

    def lock_selected(self, query: str, values: Sequence[Any] = (), also: Sequence[str] = ()) -> None:
        chosen, names = query.replace("?", "%s"), tuple(values)
        if also:
            # In the order of `lock`, which is that of Python: by code point.
            chosen = (
                f"SELECT name FROM ({chosen} UNION SELECT unnest(%s::text[])) AS names (name) "  # noqa: S608 - our names
                'ORDER BY name COLLATE "C"'
            )
            names = (*names, list(also))
        self._connection.execute(
            f"SELECT pg_advisory_xact_lock({_KEY}) FROM ({chosen}) AS chosen (name)",  # noqa: S608 - our names
            names,
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


def _server(address: str) -> list[str]:
    """Where a server is, as options that PostgreSQL's own programs take."""
    from psycopg.conninfo import conninfo_to_dict

    place = conninfo_to_dict(address)
    names = ("host", "port")
    return [word for name in names if place.get(name) for word in (f"--{name}", str(place[name]))]


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
