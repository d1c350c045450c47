"""Where the engine of one home has its things, and which database is its store.

    state/jobs.db               the jobs that `flow apply` keeps, unless they are in PostgreSQL
    state/engine/engine.db      the store, unless it is in PostgreSQL
    state/engine/queue.db       the backend's queue, likewise
    state/engine/workers/       one locked file per worker of this machine
    state/engine/output/        outputs that are larger than their preview, unless they are in PostgreSQL
    state/engine/database       the address and the identity of the store, written when the first worker starts

A home has one database: the second one that is named is refused, because its runs would be invisible to the first.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from operable.engine.store.database import prepare, read_identity, require_current
from operable.flow.home import home_of, paths, private_folder
from operable.flow.scheduler.job_store import VARIABLE, jobs_address
from operable.kernel.errors import Fail
from operable.state.atomic import open_private, write_whole
from operable.state.database import Database, is_shared, open_database, shown_address

_LONGEST_RECORD = 65_536  # bytes; an address is much shorter


@dataclass(frozen=True, slots=True)
class EnginePlace:
    """`address` and `jobs` are paths, or the same URL, which may have a password."""

    home: str
    jobs: str
    folder: str
    address: str

    @property
    def workers(self) -> str:
        return os.path.join(self.folder, "workers")

    @property
    def output(self) -> str:
        return os.path.join(self.folder, "output")

    @property
    def is_shared(self) -> bool:
        """Whether workers of other machines may have the same store."""
        return is_shared(self.address)

    def last_written(self) -> tuple[int, ...]:
        """Differs when a process of this machine has written runs or jobs. A shared database says nothing."""
        times = []
        for path in () if self.is_shared else (self.address, self.jobs):
            try:
                times.append(os.stat(f"{path}-wal").st_mtime_ns)
            except OSError:
                times.append(0)
        return tuple(times)

    def file(self) -> tuple[int, int] | None:
        """Which file the store is. Returns None if it is a server's, or is gone."""
        try:
            found = None if self.is_shared else os.stat(self.address)
        except OSError:
            return None
        return None if found is None else (found.st_dev, found.st_ino)

    def open_store(self) -> Database:
        """The store, made or migrated. Raises Fail if this home has another one."""
        for folder in (self.folder, self.workers, self.output):
            private_folder(folder)
        self.require_same()
        database = open_database(self.address)
        self.require_same(prepare(database))
        return database

    def read_store(self) -> Database | None:
        """The store as it is, for readers. Returns None if no worker ever made it.

        Raises Fail if another version of operable wrote it.
        """
        self.require_same()
        database = open_database(self.address)
        return database if database.exists() and require_current(database) else None

    def require_same_store(self) -> None:
        """Raises Fail if this home has another database, for a caller that writes jobs and no runs."""
        self.require_same()
        if self.is_shared and os.path.lexists(self._record):
            database = open_database(self.address)
            try:
                self.require_same(read_identity(database) or "")
            finally:
                database.close()

    @property
    def _record(self) -> str:
        return os.path.join(self.folder, "database")

    def require_same(self, identity: str | None = None) -> None:
        """Raises Fail if this home has another database; the first identity is remembered."""
        shown, known = shown_address(self.address), self._read_record()
        if known is None:
            if identity is not None:
                # A home that is moved takes its store along.
                inside = os.path.dirname(self.address) == self.folder
                address = os.path.basename(self.address) if inside else shown
                record = json.dumps({"address": address, "identity": identity})
                write_whole(self._record, record.encode() + b"\n")
            return
        address, first = known
        other_kind = address != shown and not (self.is_shared and is_shared(address))
        if other_kind or (identity is not None and first != identity):
            message = f"the engine of this home uses {address}, and {shown} is another database"
            hint = f"name that one with --database; or remove {self._record} once no run of it matters"
            raise Fail("config", "DATABASE_DIFFERS", message, target=shown, hint=hint)

    def _read_record(self) -> tuple[str, str] | None:
        """The address and the identity of this home's store. Returns None before there is one."""
        try:
            descriptor = open_private(self._record, os.O_RDONLY)
            with open(descriptor, encoding="utf-8") as file:
                known = json.loads(file.read(_LONGEST_RECORD))
            address, identity = str(known["address"]), str(known["identity"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{self._record}, which names the database of this home, cannot be read: {error}"
            hint = f"remove it if this home has had no other database than {shown_address(self.address)}"
            raise Fail("config", "DATABASE_RECORD", message, target=self._record, hint=hint) from error
        return (address if is_shared(address) else os.path.join(self.folder, address)), identity


def engine_place(
    environment: Mapping[str, str], *, home: str | None = None, database: str | None = None, cwd: str
) -> EnginePlace:
    """The place that these words mean."""
    root = home_of(environment, home, cwd=cwd)
    folder = os.path.join(paths(root)["state"], "engine")
    address = database or environment.get(VARIABLE) or os.path.join(folder, "engine.db")
    if not is_shared(address):
        address = os.path.abspath(os.path.join(cwd, address))
    jobs = jobs_address(environment, root, database=address, cwd=cwd)
    return EnginePlace(root, jobs, folder, address)
