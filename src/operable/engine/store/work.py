"""What the loop of a worker asks and notes: work that waits in the store, tickets that the queue has, and rows of workers.

A run that is ready needs a ticket in the queue. `wake` counts the tickets that it needed, and `sent` those that the queue
has: a ticket that was never sent is sent again, and one that comes late finds another number. Rows of workers say who is
here; whether one is dead, its lock alone says (`worker/lease`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from operable.engine.lifecycle.states import EngineRunState
from operable.engine.store.database import Database, changing
from operable.engine.store.queries import list_attempts, read_output
from operable.engine.store.queue import QueueIdentity, claim_queue
from operable.engine.store.rows import RUN_COLUMNS, Run, WorkerRow, columns

_LOOK = """
SELECT EXISTS (SELECT 1 FROM approvals WHERE decision IS NULL AND kind IS NULL AND content IS NULL),
    EXISTS (SELECT 1 FROM approvals WHERE decision IS NULL AND kind IS NULL AND expires_at <= ?),
    EXISTS (SELECT 1 FROM runs WHERE settled = 0 AND ended_at IS NOT NULL),
    EXISTS (SELECT 1 FROM deliveries WHERE state = 'pending' AND not_before <= ?),
    EXISTS (SELECT 1 FROM runs WHERE sent < wake)
"""


@dataclass(frozen=True, slots=True)
class WantedWork:
    """Which kinds of work wait in the store, as one query saw it: most rounds of a worker find nothing."""

    bind: bool
    expire: bool
    settle: bool
    deliver: bool
    wake: bool


class WorkStore:
    """`clock` returns the time in whole milliseconds."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database, self._clock = database, clock

    def look(self) -> WantedWork:
        """What there is to do. The conditions are those of the queries that do it."""
        ((bind, expire, settle, deliver, wake),) = self._database.query(_LOOK, (self._clock(),) * 2)
        return WantedWork(bool(bind), bool(expire), bool(settle), bool(deliver), bool(wake))

    def to_wake(self, limit: int = 500) -> list[Run]:
        """Runs whose newest ticket the backend does not have. It is due at `not_before`."""
        with self._database.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {RUN_COLUMNS} FROM runs WHERE sent < wake ORDER BY created_at LIMIT ?",  # noqa: S608
                (limit,),
            )
            return [Run.read(row) for row in rows]

    def has_work(self) -> bool:
        """Whether a run can go on by itself now: it runs, waits for a slot, or its triggers are not decided."""
        with self._database.snapshot() as connection:
            return bool(
                connection.execute(
                    "SELECT 1 FROM runs WHERE settled = 0 AND ended_at IS NOT NULL OR ended_at IS NULL "
                    "AND (state IN (?, ?) OR state = ? AND not_before <= ?) LIMIT 1",
                    (
                        *(str(EngineRunState.RUNNING), str(EngineRunState.CANCELLING)),
                        *(str(EngineRunState.READY), self._clock()),
                    ),
                )
            )

    def reissue(self, run_id: str, wake: int) -> None:
        """Replace a ticket that its worker cannot use by a new one, if it is still the newest."""
        with changing(self._database, run_id) as connection:
            connection.execute(
                "UPDATE runs SET wake = wake + 1 WHERE run_id = ? AND wake = ? AND state = ?",
                (run_id, wake, str(EngineRunState.READY)),
            )

    def mark_sent(self, tickets: Iterable[tuple[str, int]]) -> None:
        # In one order, so that two workers that mark the same runs do not wait for each other.
        rows = [(wake, run_id, wake) for run_id, wake in sorted(tickets)]
        with self._database.transaction() as connection:
            connection.execute_many("UPDATE runs SET sent = ? WHERE run_id = ? AND sent < ?", rows)

    def to_expire(self, limit: int = 100) -> list[str]:
        """Runs whose questions had no answer in time."""
        with self._database.snapshot() as connection:
            rows = connection.execute(
                "SELECT run_id FROM approvals WHERE decision IS NULL AND kind IS NULL AND expires_at <= ? "
                "ORDER BY expires_at LIMIT ?",
                (self._clock(), limit),
            )
            return [str(run_id) for (run_id,) in rows]

    def to_stop(self, worker_id: str) -> list[str]:
        """Runs that users cancelled while an attempt of this worker runs."""
        with self._database.snapshot() as connection:
            rows = connection.execute(
                "SELECT runs.run_id FROM attempts JOIN runs ON runs.run_id = attempts.run_id "
                "WHERE attempts.worker_id = ? AND attempts.state = 'started' AND runs.state = 'cancelling'",
                (worker_id,),
            )
            return [str(run_id) for (run_id,) in rows]

    def to_settle(self, limit: int = 100) -> list[Run]:
        """Runs that ended, and whose triggers were not decided."""
        with self._database.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {RUN_COLUMNS} FROM runs WHERE settled = 0 AND ended_at IS NOT NULL "  # noqa: S608
                "ORDER BY ended_at LIMIT ?",
                (limit,),
            )
            return [Run.read(row) for row in rows]

    def last_output(self, run_id: str, folder: str) -> str:
        """The output of the last attempt, as far as it can be read here; nothing if there was no attempt."""
        with self._database.snapshot() as connection:
            attempts = list_attempts(connection, run_id)
            return read_output(connection, attempts[-1], folder) if attempts else ""

    # -- workers

    def enlist(self, worker: WorkerRow, queue: QueueIdentity) -> str:
        """Enter a worker; returns the identity of the store. Raises Fail if its tickets are in another queue."""
        with self._database.transaction() as connection:
            identity = claim_queue(connection, queue)
            connection.execute(
                "INSERT INTO workers VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL)",
                (
                    *(worker.worker_id, worker.host, worker.pid, worker.slots, worker.version),
                    *(worker.started_at, worker.seen_at),
                ),
            )
            return identity

    def see(self, worker_id: str, *, leaving: bool = False) -> None:
        """Note that a worker lives, or that it stops by itself. Its lock alone says whether it is dead."""
        with self._database.transaction() as connection:
            connection.execute(
                "UPDATE workers SET seen_at = ?, end_cause = ? WHERE worker_id = ?",
                (self._clock(), "stopped" if leaving else None, worker_id),
            )

    def present(self) -> list[WorkerRow]:
        """Workers that were not reaped."""
        with self._database.snapshot() as connection:
            rows = connection.execute(
                f"SELECT {columns(WorkerRow)} FROM workers WHERE ended_at IS NULL ORDER BY started_at"  # noqa: S608
            )
            return [WorkerRow(*row) for row in rows]
