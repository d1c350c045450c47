"""Which queue has the tickets of a store: one at a time, noted in the store, so that it is the same for all machines.

A worker with another queue would never see the tickets that are in the first, and runs would wait forever. Since the rows
are the truth, a store can be moved: every run that waits gets a new ticket, which only the new queue will have.
"""

from collections.abc import Collection
from dataclasses import dataclass

from operable.engine.lifecycle.states import EngineRunState
from operable.engine.store.database import Database, StoreConnection
from operable.kernel.errors import Fail


@dataclass(frozen=True, slots=True)
class QueueIdentity:
    """`identity` is the same under every address of a queue; `address` is what users see and type."""

    identity: str
    address: str


# In the database of the store. Stores of the first version do not note their queue: it is this one.
EMBEDDED_QUEUE = QueueIdentity("dbos", "dbos")
_LOCK = "queue of the store"


def claim_queue(connection: StoreConnection, queue: QueueIdentity) -> str:
    """Note the queue of a store that has none; returns the identity of the store. Raises Fail if it has another queue."""
    connection.lock(_LOCK)
    meta = {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM meta")}
    if "queue" in meta:
        known = QueueIdentity(meta["queue"], meta["queue_address"])
    else:
        known = EMBEDDED_QUEUE if connection.execute("SELECT 1 FROM workers LIMIT 1") else queue
    if known.identity != queue.identity:
        message = f"the runs of this store are in the queue {known.address}, and {queue.address} is another"
        if known.address == queue.address:
            message = (
                f"the queue {queue.address} is not the one that had the runs of this store: it was made anew"
            )
        hint = f"once no worker runs: operable engine start --queue {queue.address} --move-queue"
        raise Fail("config", "QUEUE_DIFFERS", message, target=queue.address, hint=hint)
    _note(connection, queue)
    return meta["identity"]


def move_queue(database: Database, queue: QueueIdentity, dead: Collection[str]) -> None:
    """Take the runs of a store to another queue. Raises Fail unless all of its workers are among the dead."""
    with database.transaction() as connection:
        connection.lock(_LOCK)
        rows = connection.execute("SELECT worker_id FROM workers WHERE ended_at IS NULL")
        living = [str(worker_id) for (worker_id,) in rows if worker_id not in dead]
        if living:
            message = f"the queue cannot be changed while a worker runs: {', '.join(living)}"
            raise Fail("conflict", "WORKER_RUNS", message, hint="stop it, and start this one again")
        _note(connection, queue)
        connection.execute("UPDATE runs SET wake = wake + 1 WHERE state = ?", (str(EngineRunState.READY),))


def _note(connection: StoreConnection, queue: QueueIdentity) -> None:
    for key, value in (("queue", queue.identity), ("queue_address", queue.address)):
        connection.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )
