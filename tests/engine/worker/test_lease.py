"""What wakes a worker: its bell, and on PostgreSQL the commands of other processes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.store.database import open_database, prepare
from operable.engine.store.runs import RunStore, wall_clock
from operable.engine.worker.lease import Bell, PostgresLease
from tests.engine.manifests import definitions, manifest, task, text
from tests.engine.postgres import PostgresServer, server_programs

LIMIT = 60.0


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if server_programs() is None:
        pytest.skip("PostgreSQL's server is not installed")
    with PostgresServer.started() as server:
        yield server


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.005)


def test_a_bell_wakes_the_thread_that_waits_and_one_that_waits_later() -> None:
    with closing(Bell()) as bell:
        bell.ring()
        bell.ring()
        assert bell.wait(LIMIT)
        assert not bell.wait(0)
        threading.Timer(0.01, bell.ring).start()
        assert bell.wait(LIMIT)


def test_a_bell_may_be_rung_after_its_end() -> None:
    bell = Bell()
    bell.close()
    bell.ring()


def test_a_request_notifies_every_worker_that_holds_its_lock(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    leases = [PostgresLease(url) for _ in range(2)]
    with closing(open_database(url)) as database, closing(Bell()) as bell:
        prepare(database)
        for number, lease in enumerate(leases):
            lease.hold(f"w{number}")
            assert not lease.was_notified()
        document = manifest(task("a"))
        RunStore(database, wall_clock).request(definitions(document)[0], RunCause.MANUAL, "1", text(document))
        for lease in leases:
            assert not bell.wait(LIMIT, lease.descriptor())
            until(lease.was_notified)
            assert not lease.was_notified()
        # Also if it comes with the answer to another statement.
        database.notify()
        for number, lease in enumerate(leases):
            lease.hold(f"w{number}")
            until(lease.was_notified)
            lease.release()


def test_a_connection_that_was_ended_is_noticed_and_made_again(postgres: PostgresServer) -> None:
    import psycopg

    lease = PostgresLease(f"{postgres.new_database()}?application_name=ended")
    lease.hold("w")
    with psycopg.connect(postgres.new_database(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ended'"
        )
    until(lambda: not lease.was_notified() and lease.descriptor() is None)
    lease.hold("w")
    assert lease.descriptor() is not None
    lease.release()
