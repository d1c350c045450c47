"""The jobs of Operable's own engine: one SQLite file that contains applied jobs, their manifests, and what each apply did.

An apply is one transaction: either all of it is there, or nothing, also after kill -9 and with a full disk. Two
processes that apply at once do so one after the other. The file is private (0600), in write-ahead mode, and appears
under its name only when it is complete; a symbolic link in its place is refused, and so is a file that another version
wrote. A manifest is kept as long as a job refers to it, because the engine takes from it what job documents do not show:
environment, standard input and the configuration of providers.
"""

import json
import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from operable.flow.canonical import canonical_text
from operable.flow.errors import FlowError
from operable.flow.home import paths, private_folder, require_folder
from operable.flow.manifest.inheritance import Json
from operable.state.atomic import link_new
from operable.state.sqlite import read_database

VERSION = 1
# An apply holds the lock for milliseconds; with ten thousand tasks on a busy machine it may be half a minute.
_BUSY_TIMEOUT = 60.0
_SCHEMA = """
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


def store_path(home: str, given: str | None = None, *, cwd: str) -> str:
    """Where the jobs are: what the caller says, else the home's own file."""
    if given:
        return os.path.abspath(os.path.join(cwd, given))
    state = paths(home)["state"]
    if os.path.lexists(state):
        require_folder(state)
    return os.path.join(state, "jobs.db")


class Transaction:
    """What can be read and written while no other process writes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._now = now()

    def jobs(self) -> list[Json]:
        return read_jobs(self._connection)

    def keep_manifest(self, digest: str, manifest: Json) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO manifests VALUES (?, ?, ?)", (digest, canonical_text(manifest), self._now)
        )

    def write(self, job: Json, digest: str, stored: Json | None) -> None:
        """A job under its own id; `stored` is the one that it continues, under the same id or another."""
        revision, created = 1, self._now
        if stored is not None:
            revision, created = stored["revision"] + 1, stored["created_at"]
            self.remove(stored["id"])
        row = {
            "id": job["id"],
            **job["source"],
            # For those who query; the document has it exactly, also with lone surrogates, which SQLite does not take.
            "name": job["name"].encode("utf-8", "replace").decode(),
            "enabled": int(job["enabled"]),
            "invocation_mode": job["invocation"]["mode"],
            "parent_id": job["parent_id"],
            "document": canonical_text(job),
            "manifest_digest": digest,
            "revision": revision,
            "created_at": created,
            "updated_at": self._now,
        }
        places = ", ".join(f":{name}" for name in row)
        self._connection.execute(f"INSERT INTO jobs ({', '.join(row)}) VALUES ({places})", row)  # noqa: S608 - our names

    def remove(self, job_id: str) -> None:
        self._connection.execute("DELETE FROM jobs WHERE id = ?", (job_id,))

    def record(self, digest: str, actions: list[Json]) -> None:
        """Note what was done, and forget manifests that no job needs any more."""
        self._connection.execute(
            "INSERT INTO applies (applied_at, manifest_digest, actions) VALUES (?, ?, ?)",
            (self._now, digest, canonical_text(actions)),
        )
        self._connection.execute(
            "DELETE FROM manifests WHERE digest NOT IN (SELECT manifest_digest FROM jobs)"
        )


@contextmanager
def writing(path: str) -> Iterator[Transaction]:
    """One transaction; what happens in the block happens as a whole when it ends, or not at all."""
    try:
        _make(path)
        with closing(_connect(path)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                _require_known(connection, path)
                yield Transaction(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
    except sqlite3.Error as problem:
        raise FlowError("scheduler_error", f"The job store {path} cannot be written: {problem}") from None


def stored_jobs(path: str) -> list[Json]:
    """Every job; none when there is no store yet, and none is made."""
    if not os.path.lexists(path):
        return []
    require_regular(path)

    def read(connection: sqlite3.Connection) -> list[Json]:
        _require_known(connection, path)
        return read_jobs(connection)

    try:
        return read_database(path, read)
    except sqlite3.Error as problem:
        raise FlowError("scheduler_error", f"The job store {path} cannot be read: {problem}") from None


def read_jobs(connection: sqlite3.Connection) -> list[Json]:
    names = (
        "id workflow_id task_id name enabled parent_id document manifest_digest revision created_at".split()
    )
    rows = connection.execute(f"SELECT {', '.join(names)} FROM jobs ORDER BY rowid")  # noqa: S608 - our own names
    found = []
    for row in rows:
        job: Json = dict(zip(names, row, strict=True))
        job["document"] = _document(job)
        job["name"] = job["document"]["name"]
        found.append(job)
    return found


def _document(job: Json) -> Json:
    """FlowError when it is not what an apply wrote: comparing with it would say anything."""
    try:
        found = json.loads(job["document"])
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("name"), str) or found.get("id") != job["id"]:
        message = f"The job {job['id']} in the job store is damaged: its document is not one of a job"
        raise FlowError("scheduler_error", message)
    return found


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


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
            connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
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
    if version != VERSION:
        message = f"The job store {path} is of version {version}; this program knows version {VERSION}"
        raise FlowError("unsupported_capability", message)
