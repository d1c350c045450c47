"""The jobs of Operable's own engine: applied jobs, their manifests, and what each apply did.

They are in one SQLite file of a home, or in the schema `operable_jobs` of a PostgreSQL database, where workers of other
machines see them. Both have the same tables.

An apply is one transaction: either all of it is there, or nothing, also after kill -9 and with a full disk. Two
processes that apply at once do so one after the other. The file is private (0600), in write-ahead mode, and appears
under its name only when it is complete; a symbolic link in its place is refused, and so is a store that another version
wrote. A manifest is kept as long as a job refers to it, because the engine takes from it what job documents do not show:
environment, standard input and the configuration of providers.
"""

import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import Protocol, TypeVar

from operable.flow.errors import FlowError
from operable.flow.home import paths, private_folder, require_folder
from operable.flow.manifest.inheritance import Json
from operable.flow.scheduler.job_rows import JobReader, Transaction
from operable.kernel.errors import Fail
from operable.state.atomic import link_new
from operable.state.database import (
    SqliteConnection,
    StoreConnection,
    create_schema,
    is_shared,
    open_database,
)
from operable.state.sqlite import read_database

VERSION = 1
VARIABLE = "OPERABLE_DATABASE"
SCHEMA = "operable_jobs"
_Result = TypeVar("_Result")
# An apply holds the lock for milliseconds; with ten thousand tasks on a busy machine it may be half a minute.
_BUSY_TIMEOUT = 60.0
_TABLES = """
CREATE TABLE manifests (digest TEXT PRIMARY KEY, text TEXT NOT NULL, stored_at TEXT NOT NULL) STRICT;
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, workflow_id TEXT NOT NULL, task_id TEXT NOT NULL, name TEXT NOT NULL, enabled INTEGER NOT NULL,
    invocation_mode TEXT NOT NULL, parent_id TEXT, document TEXT NOT NULL,
    manifest_digest TEXT NOT NULL REFERENCES manifests (digest), revision INTEGER NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
CREATE INDEX jobs_of_a_workflow ON jobs (workflow_id);
CREATE TABLE applies (
    id INTEGER PRIMARY KEY, applied_at TEXT NOT NULL, manifest_digest TEXT NOT NULL, actions TEXT NOT NULL) STRICT;
"""
# The same for PostgreSQL, and what SQLite has by itself: the version, and the order in which rows were written.
_NUMBERED = "BIGINT GENERATED ALWAYS AS IDENTITY"
_SHARED_TABLES = "CREATE TABLE meta (version BIGINT NOT NULL); " + (
    _TABLES.replace(") STRICT", ")")
    .replace("id INTEGER PRIMARY KEY", f"id {_NUMBERED} PRIMARY KEY")
    .replace("INTEGER", "BIGINT")
    .replace("CREATE TABLE jobs (", f"CREATE TABLE jobs (rowid {_NUMBERED},")
)


def store_path(home: str, given: str | None = None, *, cwd: str) -> str:
    """The file of the jobs: what the caller says, else the home's own."""
    if given:
        return os.path.abspath(os.path.join(cwd, given))
    state = paths(home)["state"]
    if os.path.lexists(state):
        require_folder(state)
    return os.path.join(state, "jobs.db")


def jobs_address(
    environment: Mapping[str, str],
    home: str,
    *,
    path: str | None = None,
    database: str | None = None,
    cwd: str,
) -> str:
    """Where the jobs are: a file that was named, else the database of the engine if it is a server, else the home's file."""
    shared = database or environment.get(VARIABLE) or ""
    if path is None and is_shared(shared):
        return shared
    return store_path(home, path, cwd=cwd)


class JobStore(Protocol):
    """One store of jobs. Its methods may be called from any thread."""

    def read(self, query: Callable[[JobReader], _Result]) -> _Result | None:
        """What the query returns. Returns None if nothing was ever applied; nothing is made."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """One transaction; what happens in the block happens as a whole when it ends, or not at all."""

    def close(self) -> None: ...


def open_jobs(address: str) -> JobStore:
    return SharedJobs(address) if is_shared(address) else FileJobs(address)


def stored_jobs(address: str) -> list[Json]:
    """Every job; none when there is no store yet, and none is made."""
    with closing(open_jobs(address)) as store:
        return store.read(JobReader.jobs) or []


@contextmanager
def writing(address: str) -> Iterator[Transaction]:
    """One transaction of the store at this address, which is made if it is not there."""
    with closing(open_jobs(address)) as store, store.writing() as transaction:
        yield transaction


class FileJobs:
    """Jobs in one SQLite file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, query: Callable[[JobReader], _Result]) -> _Result | None:
        if not os.path.lexists(self._path):
            return None
        require_regular(self._path)

        def read(connection: sqlite3.Connection) -> _Result:
            _require_known(connection, self._path)
            return query(JobReader(SqliteConnection(connection)))

        try:
            return read_database(self._path, read)
        except sqlite3.Error as problem:
            raise FlowError(
                "scheduler_error", f"The job store {self._path} cannot be read: {problem}"
            ) from None

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        try:
            _make(self._path)
            with closing(_connect(self._path)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    _require_known(connection, self._path)
                    yield Transaction(SqliteConnection(connection))
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as problem:
            raise FlowError(
                "scheduler_error", f"The job store {self._path} cannot be written: {problem}"
            ) from None

    def close(self) -> None:
        """Connections are opened for one call each."""


class SharedJobs:
    """Jobs in PostgreSQL. Writers come one after the other; readers see the last apply that is complete."""

    def __init__(self, url: str) -> None:
        self._database = open_database(url, SCHEMA)
        self._known = False  # whether the tables are there, and of our version

    def read(self, query: Callable[[JobReader], _Result]) -> _Result | None:
        with _reported(), self._database.snapshot() as connection:
            if not self._known and not self._check(connection):
                return None
            return query(JobReader(connection))

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with _reported(), self._database.transaction() as connection:
            connection.lock(f"{SCHEMA} apply")
            if not self._check(connection):
                create_schema(connection, SCHEMA)
                for statement in filter(str.strip, _SHARED_TABLES.split(";")):
                    connection.execute(statement)
                connection.execute("INSERT INTO meta VALUES (?)", (VERSION,))
            yield Transaction(connection)

    def close(self) -> None:
        self._database.close()

    def _check(self, connection: StoreConnection) -> bool:
        ((found,),) = connection.execute("SELECT to_regclass(?) IS NOT NULL", (f"{SCHEMA}.meta",))
        if found:
            ((version,),) = connection.execute("SELECT version FROM meta")
            _require_version(version, self._database.address)
            self._known = True
        return bool(found)


@contextmanager
def _reported() -> Iterator[None]:
    """A database that does not answer is a failure of a flow; what the block raises itself passes."""
    try:
        yield
    except FlowError:
        raise
    except Fail as error:
        if (
            error.category == "authn"
        ):  # a later try changes nothing: an operator has to see to it, as to a right
            refused = FlowError("store_login_refused", error.message)
        elif error.category == "authz":
            refused = FlowError("store_access_refused", error.message)
        elif error.code == "DATABASE_MISSING":
            refused = FlowError("store_missing", error.message)
        else:
            refused = FlowError("store_unavailable", error.message)
        refused.target, refused.hint = error.target, error.hint
        raise refused from error


def require_regular(path: str) -> None:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise FlowError("invalid_argument", f"Refusing to use a non-regular file: {path}")


def _make(path: str) -> None:
    """An empty store, unless there is one: made beside its place and linked there, so that no process ever sees half of
    it.
    """
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        private_folder(folder)
    if os.path.lexists(path):
        require_regular(path)
        return
    draft = None
    try:
        descriptor, draft = tempfile.mkstemp(prefix=".jobs-", dir=folder)
        os.close(descriptor)
        with closing(_connect(draft)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        link_new(draft, path)
    except FileExistsError:
        require_regular(path)  # another process was faster
    except OSError as problem:
        message = f"The job store {path} cannot be made: {problem.strerror}"
        raise FlowError("scheduler_error", message) from None
    finally:
        for leftover in (draft, f"{draft}-wal", f"{draft}-shm") if draft else ():
            with suppress(FileNotFoundError):
                os.unlink(leftover)


def _connect(path: str) -> sqlite3.Connection:
    from urllib.parse import quote

    return sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode=rw", uri=True, timeout=_BUSY_TIMEOUT, isolation_level=None
    )


def _require_known(connection: sqlite3.Connection, path: str) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    _require_version(version, path)


def _require_version(version: int, shown: str) -> None:
    if version != VERSION:
        message = f"The job store {shown} is of version {version}; this program knows version {VERSION}"
        refused = FlowError("unsupported_capability", message)
        refused.hint = "install the version that wrote it, here and for every worker"
        raise refused
