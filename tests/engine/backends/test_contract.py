"""The contract of the port, for every backend and database: real processes, a real PostgreSQL, a real Temporal server.

Each test of this file is a fact that the engine stands on. A new minor version of DBOS or of Temporal's SDK is taken when
they pass.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from operable.engine.backend import EMBEDDED, QueueSettings, open_backend
from operable.kernel.errors import Fail
from tests.engine.postgres import PostgresServer, server_programs
from tests.engine.temporal import TemporalServer
from tests.engine.worker.engines import until

LIMIT = 90
# Reads commands from stdin, writes each ticket that it is given to a file; a ticket "stay…" never returns.
_PEER = """
import json, os, sys, time
from operable.engine.backend import QueueSettings, open_backend
queue, store, journal, name = sys.argv[1:]
def deliver(ticket):
    with open(journal, "a") as file:
        file.write(json.dumps([ticket, name, time.time()]) + "\\n")
    while ticket.startswith("stay"):
        time.sleep(1)
backend = open_backend(QueueSettings(queue, store, os.environ))
backend.start(os.path.basename(os.path.dirname(journal)), name, 4, deliver)
print("ready", flush=True)
for line in sys.stdin:
    verb, *words = json.loads(line)
    answer = getattr(backend, verb)(*words)
    print(json.dumps(answer), flush=True)
os._exit(0)
"""


class Peer:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, verb: str, *words: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([verb, *words]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(LIMIT)


class Lab:
    def __init__(self, folder: Path, store: str, queue: str = EMBEDDED) -> None:
        self._journal, self._store, self._queue = folder / "journal", store, queue

    def delivered(self) -> list[tuple[str, str]]:
        text = self._journal.read_text() if self._journal.exists() else ""
        return [(ticket, name) for ticket, name, _ in map(json.loads, text.splitlines())]

    def time_of(self, ticket: str) -> float:
        entries = map(json.loads, self._journal.read_text().splitlines())
        return next(float(at) for name, _, at in entries if name == ticket)

    @contextmanager
    def peer(self, name: str) -> Iterator[Peer]:
        process = subprocess.Popen(
            [sys.executable, "-c", _PEER, self._queue, self._store, str(self._journal), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield Peer(process)
        finally:
            process.kill()
            process.communicate(timeout=LIMIT)


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if server_programs() is None:
        pytest.skip("PostgreSQL's server is not installed")
    with PostgresServer.started() as server:
        yield server


@pytest.fixture(scope="module")
def temporal() -> Iterator[TemporalServer]:
    with TemporalServer.started() as server:
        yield server


@pytest.fixture(
    params=["sqlite", "postgresql", pytest.param("temporal", marks=pytest.mark.needs("temporal"))]
)
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    if request.param == "sqlite":
        return Lab(tmp_path, str(tmp_path / "engine.db"))
    if request.param == "temporal":
        server: TemporalServer = request.getfixturevalue("temporal")
        return Lab(tmp_path, str(tmp_path / "engine.db"), server.queue)
    return Lab(tmp_path, request.getfixturevalue("postgres").new_database())


def test_a_ticket_is_delivered_once_however_often_it_is_queued(lab: Lab) -> None:
    with lab.peer("one") as peer:
        for _ in range(3):
            peer.ask("enqueue", [["a~1", 0]])
        until(lambda: [ticket for ticket, _ in lab.delivered()] == ["a~1"])
        peer.ask("enqueue", [["a~1", 0], ["b~1", 0]])
        until(lambda: ("b~1", "one") in lab.delivered())
    assert [ticket for ticket, _ in lab.delivered()] == ["a~1", "b~1"]


def test_a_delay_is_kept_and_survives_the_worker_that_asked_for_it(lab: Lab, tmp_path: Path) -> None:
    with lab.peer("one") as peer:
        asked = time.time()
        peer.ask("enqueue", [["now~1", 0], ["later~1", 3]])
        until(lambda: ("now~1", "one") in lab.delivered())
        peer.kill()
    with lab.peer("two"):
        until(lambda: ("later~1", "two") in lab.delivered())
    assert lab.time_of("later~1") - asked > 2.9  # moments of the queue are whole milliseconds


def test_what_a_dead_worker_had_is_delivered_to_another_after_recover(lab: Lab) -> None:
    with lab.peer("one") as one:
        one.ask("enqueue", [["stay~1", 0]])
        until(lambda: lab.delivered() == [("stay~1", "one")])
        with lab.peer("two") as two:
            one.kill()
            two.ask("recover", "one")
            until(lambda: ("stay~1", "two") in lab.delivered())


def test_tickets_that_wait_are_counted_and_can_be_forgotten(lab: Lab) -> None:
    with lab.peer("one") as peer:
        peer.ask("enqueue", [["far~1", 3600], ["stay~1", 0]])
        until(lambda: lab.delivered() == [("stay~1", "one")])
        until(lambda: bool(peer.ask("waiting") == 2))
        peer.ask("forget", ["far~1", "unknown~1"])
        until(lambda: bool(peer.ask("waiting") == 1))


def test_an_unknown_backend_is_refused_by_name() -> None:
    with pytest.raises(Fail, match="rabbit"):
        open_backend(QueueSettings("rabbit://host", "engine.db", {}))


def test_the_queue_of_a_file_is_private_and_in_write_ahead_mode(tmp_path: Path) -> None:
    import sqlite3

    with Lab(tmp_path, str(tmp_path / "engine.db")).peer("one"):
        path = tmp_path / "queue.db"
        assert os.stat(path).st_mode & 0o777 == 0o600
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        connection.close()
