"""DBOS Transact: on an SQLite file of its own beside the store, or in the same PostgreSQL database (schema `dbos`).

A ticket is a workflow of one call, and its name is the workflow's id. DBOS is not asked for schedules (a thread each, and
jitter), for steps (our rows are the record), or for finding dead workers, which it cannot. See docs/decisions/0028.

The version that DBOS compares is a number of ours: its default, a hash of the source, hides queued work after an upgrade.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

from operable.engine.backend import Backend, BackendEntry, QueueSettings
from operable.engine.store.queue import EMBEDDED_QUEUE
from operable.kernel.errors import Fail
from operable.state.atomic import open_private

# Raised by hand when old workers must not take new tickets.
APPLICATION_VERSION = "1"
_NAME, _WORKFLOW = "operable", "deliver"
_QUEUE = "operable"
# Polls cost processor time while idle (0.1 s: 3 % of a core here), and each poll fills free slots once.
_POLL = 0.1
_POOL = 5  # connections of a worker, and one for queueing; the default is 27
_TOGETHER = 100  # tickets of one transaction, which lets no other one of the queue write in the meantime
_NEVER = 1_000_000_000  # a ticket is dead-lettered after so many recoveries: ours never
_UNFINISHED = ("ENQUEUED", "DELAYED", "PENDING")


class DbosBackend:
    queue = EMBEDDED_QUEUE

    def __init__(self, store: str) -> None:
        self._store = store
        self._dbos: Any = None
        self._client: Any = None
        self._connections: Any = None

    def start(self, store_id: str, worker_id: str, slots: int, deliver: Callable[[str], None]) -> None:  # noqa: ARG002 - the queue is in that store
        import dbos

        address = self._address()
        # Its transactions are ours: DBOS commits every ticket by itself.
        self._connections = _connect(address)
        self._client = dbos.DBOSClient(
            system_database_engine=self._connections,
            serializer=dbos.DBOSPortableJSONSerializer(),
            application_name=_NAME,
            lazy=True,
        )
        dbos.DBOS(
            config={
                "name": _NAME,
                "system_database_url": address,
                "application_version": APPLICATION_VERSION,
                "executor_id": worker_id,
                "serializer": dbos.DBOSPortableJSONSerializer(),
                "sys_db_pool_size": _POOL,
                "log_level": "CRITICAL",
                "console_log_level": "CRITICAL",
            }
        )

        @dbos.DBOS.workflow(name=_WORKFLOW, max_recovery_attempts=_NEVER)
        def _deliver(ticket: str) -> None:
            deliver(ticket)

        with _translated():
            dbos.DBOS.launch()
            self._dbos = dbos.DBOS
            # The queue's limit is one row for all workers: the last one that starts decides the slots of each.
            self._dbos.register_queue(
                _QUEUE, worker_concurrency=slots, polling_interval_sec=_POLL, on_conflict="always_update"
            )

    def _address(self) -> str:
        return self._store if "://" in self._store else prepare_file(self._store)

    def enqueue(self, tickets: Iterable[tuple[str, float]]) -> None:
        """In groups of one transaction each: a commit takes longer than all else."""
        groups = iter(tickets)
        with _translated():
            while group := list(islice(groups, _TOGETHER)):
                with self._connections.begin() as connection:
                    # In one order, so that two workers with the same tickets do not wait for each other.
                    for ticket, delay in sorted(group):
                        self._client.enqueue_in_transaction(connection, _options(ticket, delay), ticket)

    def recover(self, worker_id: str) -> None:
        with _translated():
            self._dbos._recover_pending_workflows([worker_id])  # noqa: SLF001 - there is no public name

    def forget(self, tickets: Iterable[str]) -> None:
        with _translated():
            if self._dbos is not None:
                self._dbos.delete_workflows(list(tickets))
                return
            import dbos

            client = dbos.DBOSClient(
                system_database_url=self._address(), serializer=dbos.DBOSPortableJSONSerializer()
            )
            try:
                client.delete_workflows(list(tickets))
            finally:
                client.destroy()

    def waiting(self) -> int:
        with _translated():
            return len(
                self._dbos.list_workflows(status=list(_UNFINISHED), load_input=False, load_output=False)
            )

    def stop(self, timeout: float) -> None:
        if self._dbos is not None:
            self._dbos.destroy(workflow_completion_timeout_sec=timeout, destroy_registry=True)
            self._dbos = None
            self._client.destroy()
            self._connections.dispose()


def _options(ticket: str, delay: float) -> dict[str, Any]:
    options: dict[str, Any] = {
        "workflow_name": _WORKFLOW,
        "queue_name": _QUEUE,
        "workflow_id": ticket,
        "app_version": APPLICATION_VERSION,
    }
    return options | {"delay_seconds": delay} if delay > 0 else options


def _connect(address: str) -> Any:
    """The one connection that tickets are queued with."""
    import sqlalchemy

    words: dict[str, Any] = {"isolation_level": "IMMEDIATE", "timeout": 30}
    if not address.startswith("sqlite"):
        words, address = {"connect_timeout": 10}, f"postgresql+psycopg://{address.partition('://')[2]}"
    return sqlalchemy.create_engine(
        address, pool_size=1, max_overflow=0, pool_timeout=30, pool_pre_ping=True, connect_args=words
    )


@contextmanager
def _translated() -> Iterator[None]:
    """Database errors of DBOS as ours. They are temporary: a restart or a full disk ends."""
    from dbos import error
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, error.DBOSException) as problem:
        message = f"the queue cannot be used: {str(problem.__cause__ or problem).splitlines()[0]}"
        raise Fail("temporary", "QUEUE_UNAVAILABLE", message) from problem


def prepare_file(store: str) -> str:
    """The URL of the queue beside a store that is a file."""
    path = os.path.join(os.path.dirname(store), "queue.db")
    try:
        if not os.path.lexists(path):
            os.close(open_private(path, os.O_RDWR | os.O_CREAT))
        # DBOS leaves the mode as it is; without write-ahead logging a commit costs eight times as much.
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    except (OSError, sqlite3.Error) as error:
        message = f"the queue {path} cannot be made: {error}"
        raise Fail("temporary", "QUEUE_UNAVAILABLE", message, target=path) from error
    return f"sqlite:///{path}"


def _open(settings: QueueSettings) -> Backend:
    import dbos  # noqa: F401 - a package that is not installed is an error before anything changes

    if settings.queue != EMBEDDED_QUEUE.address:
        message = "the queue dbos is in the database of the store, and has no address"
        raise Fail("usage", "INVALID_VALUE", message, target="--queue", hint="use --database for its place")
    return DbosBackend(settings.store)


BACKEND = BackendEntry(name="dbos", open=_open)
