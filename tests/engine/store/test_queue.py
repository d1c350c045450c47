"""A store has one queue: the first that a worker names, or the embedded one if workers were there before it was noted."""

import pytest

from operable.engine.store.database import Database
from operable.engine.store.queue import EMBEDDED_QUEUE, QueueIdentity, move_queue
from operable.engine.store.rows import WorkerRow
from operable.engine.store.work import WorkStore
from operable.kernel.errors import Fail

OURS = QueueIdentity("temporal:1", "temporal://here:7233/default")


def enlist(database: Database, worker_id: str, queue: QueueIdentity) -> str:
    return WorkStore(database, lambda: 0).enlist(
        WorkerRow(worker_id, "here", 1, 4, "0", 0, 0, None, None), queue
    )


def test_the_first_queue_is_noted_and_any_address_of_it_is_right(database: Database) -> None:
    identity = enlist(database, "w1", OURS)
    assert enlist(database, "w2", QueueIdentity("temporal:1", "temporal://10.0.0.1:7233/default")) == identity
    with pytest.raises(Fail) as raised:
        enlist(database, "w3", EMBEDDED_QUEUE)
    assert raised.value.code == "QUEUE_DIFFERS"
    assert [worker.worker_id for worker in WorkStore(database, lambda: 0).present()] == ["w1", "w2"]


def test_a_store_from_before_queues_were_noted_has_the_embedded_one(database: Database) -> None:
    enlist(database, "w1", EMBEDDED_QUEUE)
    with database.transaction() as connection:
        connection.execute("DELETE FROM meta WHERE key IN ('queue', 'queue_address')")
    with pytest.raises(Fail, match="are in the queue dbos"):
        enlist(database, "w2", OURS)


def test_a_queue_is_changed_only_if_every_worker_is_dead(database: Database) -> None:
    enlist(database, "w1", EMBEDDED_QUEUE)
    with pytest.raises(Fail) as raised:
        move_queue(database, OURS, dead=["w0"])
    assert raised.value.code == "WORKER_RUNS"
    move_queue(database, OURS, dead=["w1"])
    assert enlist(database, "w2", OURS)
