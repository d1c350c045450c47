"""What the engine costs: no-op runs beside raw DBOS, schedules that wait, a thousand that are due at once, and growth.

The first rows compare our worker, whose attempts do nothing, with raw DBOS that executes a workflow with one empty step: the
same slots and polls, the same kind of database, in turns. A ratio is time: 1.43 x is 70 % of the rate of raw DBOS.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench._figures import Row, print_rows, ratio, wall
from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import AttemptState
from operable.engine.place import EnginePlace, engine_place
from operable.engine.store.database import open_database, prepare
from operable.engine.store.rows import Definition
from operable.engine.store.runs import AttemptEnd, RunStore, RunTriggers, wall_clock
from operable.engine.store.work import WorkStore
from operable.flow.contracts import Surroundings
from operable.flow.scheduler.backends import apply_to_store
from operable.flow.scheduler.reconciliation import ApplyOptions
from operable.state.database import PostgresDatabase, StoreConnection
from tests.engine.manifests import definitions, manifest, task, text
from tests.engine.postgres import PostgresServer, server_programs

OPERABLE = str(Path(sys.executable).with_name("operable"))
RUNS, ROUNDS = 200, 5
_GROWTH_RUNS, _GROWTH_ROUNDS = 50, 7
ALLOW = {"overlap_policy": "allow"}


def main() -> int:
    rows = [*compare("SQLite", "sqlite"), *idle(), *due_at_once(), *growth()]
    if server_programs() is not None:
        with PostgresServer.started() as server:
            rows += [*compare("PostgreSQL", server), lock_per_job(server)]
    return print_rows(rows)


def compare(name: str, database: str | PostgresServer) -> Iterator[Row]:
    """Runs per second and the wait of a single run, beside raw DBOS."""
    figures: dict[str, list[dict[str, Any]]] = {"dbos": [], "engine": []}
    for _ in range(ROUNDS):
        for side, found in figures.items():
            address = database if isinstance(database, str) else database.new_database()
            with tempfile.TemporaryDirectory() as folder:
                words = [sys.executable, "-m", "bench._engine_side", side, address, folder, str(RUNS)]
                found.append(json.loads(subprocess.check_output(words, text=True)))
    totals = {side: [each["total"] for each in found] for side, found in figures.items()}
    waits = {side: [median(each["waits"]) for each in found] for side, found in figures.items()}
    rates = {side: RUNS / min(found) for side, found in totals.items()}
    yield Row(
        f"{name}: no-op runs / raw DBOS",
        ratio(totals, "engine", "dbos"),
        1.43,
        f"{rates['engine']:.0f}/s at best, DBOS {rates['dbos']:.0f}/s",
    )
    yield Row(
        f"{name}: enqueue to start / raw DBOS",
        ratio(waits, "engine", "dbos"),
        1.43,
        f"{median(waits['engine']) * 1000:.0f} ms, DBOS {median(waits['dbos']) * 1000:.0f} ms",
    )


def idle() -> Iterator[Row]:
    """A worker with schedules that are not due, beside one without; and how fast a status comes."""
    figures: dict[int, tuple[float, float]] = {}
    for count in (1, 100, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            place = applied(Path(folder), count, "0 0 1 1 *")
            with started(place) as process:
                time.sleep(10 if count > 1000 else 5)
                figures[count] = used(process.pid, 10.0)
            if count == 100:
                status = wall([OPERABLE, "engine", "status"], environment(place))
                yield Row("cold start of engine status / 0.5 s", min(status() for _ in range(5)) / 0.5, 1.0)
    for count in (100, 10_000):
        (cpu, memory), (alone, bare) = figures[count], figures[1]
        note = f"{cpu:.1f} % of a processor, one schedule {alone:.1f} %; {memory:.0f} MB, one {bare:.0f} MB"
        yield Row(f"idle with {count} schedules / with one", cpu / max(alone, 0.1), None, note)


def due_at_once() -> Iterator[Row]:
    """A thousand jobs that are due in the same second become runs, beside one second."""
    with tempfile.TemporaryDirectory() as folder:
        place = applied(Path(folder), 1000, "* * * * *")
        database = place.open_store()
        store, minute = RunStore(database, wall_clock), int(time.time()) // 60 * 60
        with database.transaction() as connection:
            rows = [(job, minute - 60, 0) for job in job_ids(place)]
            connection.execute_many("INSERT INTO ticks (job_id, last_tick, missed) VALUES (?, ?, ?)", rows)
        with started(place):
            before = time.perf_counter()
            while True:
                with database.snapshot() as connection:
                    ((count,),) = connection.execute("SELECT COUNT(*) FROM runs")
                if count >= 1000:
                    break
                time.sleep(0.02)
            took = time.perf_counter() - before
        store.database.close()
        yield Row("1,000 due in one second become runs / 1 s", took, None, f"{1000 / took:.0f} ticks/s")


def growth() -> Iterator[Row]:
    """What a run, and a look at the store, cost when it has ten times the jobs and the history.

    Processor time, which a busy machine and its disk change little; both stores in turns, and the least of the rounds.
    An exponent of 0 is a cost that does not grow, 1 one that grows with the store.
    """
    with tempfile.TemporaryDirectory() as folder:
        stores = {scale: _grown(Path(folder), scale) for scale in (1, 10)}
        costs: dict[str, dict[int, list[float]]] = {"run": {1: [], 10: []}, "look": {1: [], 10: []}}
        for number in range(_GROWTH_ROUNDS):
            for scale, (store, jobs, body) in stores.items():
                before = time.process_time()
                go_through(store, jobs, body, [f"round {number} {n}" for n in range(_GROWTH_RUNS)])
                costs["run"][scale].append((time.process_time() - before) / _GROWTH_RUNS)
                before = time.process_time()
                for _ in range(10 * _GROWTH_RUNS):
                    WorkStore(store.database, wall_clock).look()
                costs["look"][scale].append((time.process_time() - before) / 10 / _GROWTH_RUNS)
        for store, _, _ in stores.values():
            store.database.close()
    for what, found in costs.items():
        small, large = (min(found[scale]) * 1000 for scale in (1, 10))
        note = f"{small:.3f} ms of a processor, then {large:.3f} ms: exponent {math.log10(large / small):.2f}"
        yield Row(f"a {what} with 10 x jobs and history / before", large / small, 1.5, note)


def _grown(folder: Path, scale: int) -> tuple[RunStore, list[Definition], str]:
    """A store with so many times 100 jobs and 500 runs, and the jobs of the runs that follow."""
    store = RunStore(open_database(str(folder / f"{scale}.db")), wall_clock)
    prepare(store.database)
    with without_sync(store):
        live(store, 100 * scale, 500 * scale)
    jobs, body = made(50, "more")
    return store, jobs, body


@contextmanager
def without_sync(store: RunStore) -> Iterator[None]:
    """Fill a store in one transaction: what it costs is not measured."""
    database: Any = store.database
    with database.transaction() as connection:

        @contextmanager
        def joined() -> Iterator[StoreConnection]:
            yield connection

        database.transaction = joined
        try:
            yield
        finally:
            del database.transaction


class _OneLock(PostgresDatabase):
    """The store as it was: every transaction takes one lock for all jobs."""

    @contextmanager
    def transaction(self) -> Iterator[StoreConnection]:
        with super().transaction() as connection:
            connection.lock("all jobs")
            yield connection


def lock_per_job(server: PostgresServer) -> Row:
    """Eight threads with jobs of their own, with a lock per job and with one for all."""
    figures: dict[str, list[float]] = {"job": [], "all": []}
    for _ in range(ROUNDS):
        for kind, found in figures.items():
            url = server.new_database()
            database: Any = (PostgresDatabase if kind == "job" else _OneLock)(url, "operable")
            prepare(database)
            store = RunStore(database, wall_clock)
            before = time.perf_counter()
            threads = [
                threading.Thread(target=live, args=(store, 10, 40), kwargs={"prefix": f"t{number}"})
                for number in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            found.append(time.perf_counter() - before)
            database.close()
    rates = {kind: 8 * 40 / min(found) for kind, found in figures.items()}
    note = f"{rates['job']:.0f} runs/s, with one lock {rates['all']:.0f}/s"
    return Row("PostgreSQL: a lock per job / one lock", ratio(figures, "job", "all"), None, note)


# -- stores and workers


def live(store: RunStore, jobs: int, runs: int, prefix: str = "run") -> None:
    """Runs of so many jobs, from the request to the end."""
    go_through(store, *made(jobs, prefix), [f"{prefix} {number}" for number in range(runs)])


def made(jobs: int, prefix: str) -> tuple[list[Definition], str]:
    document = manifest(
        *(
            task(f"{prefix}-{n}", reliability=ALLOW, budgets={"max_queued_dispatches": 10**6})
            for n in range(jobs)
        )
    )
    return definitions(document), text(document)


def go_through(store: RunStore, jobs: list[Definition], body: str, keys: list[str]) -> None:
    end = AttemptEnd(AttemptState.SUCCEEDED, exit_code=0)
    for number, key in enumerate(keys):
        run = store.request(jobs[number % len(jobs)], RunCause.MANUAL, key, body)
        started_run = store.start_attempt(run.run_id, run.wake, "bench")
        assert started_run is not None
        triggers = RunTriggers((), {})
        store.end_attempt(run.run_id, started_run.number, "bench", end, triggers=triggers)


def environment(place: EnginePlace) -> dict[str, str]:
    return {**os.environ, "AGENTCLI_HOME": place.home}


def applied(folder: Path, count: int, cron: str) -> EnginePlace:
    place = engine_place({**os.environ, "AGENTCLI_HOME": str(folder / "home")}, cwd=str(folder))
    schedule = {"cron": cron, "tz": "Europe/Berlin"}
    document = manifest(*(task(f"t{n}", "true", schedule=schedule, reliability=ALLOW) for n in range(count)))
    around = Surroundings(str(folder), dict(os.environ), network=False)
    apply_to_store(document, place.jobs, ApplyOptions(), around)
    return place


def job_ids(place: EnginePlace) -> list[str]:
    from operable.flow.scheduler.job_store import stored_jobs

    return [job["id"] for job in stored_jobs(place.jobs)]


@contextmanager
def started(place: EnginePlace) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [OPERABLE, "engine", "start", "--output", "jsonl", "--drain-s", "0"],
        env=environment(place),
        cwd=os.path.dirname(place.home),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "engine_worker_started" in line:
                break
        yield process
    finally:
        process.terminate()
        process.wait(120)
        process.stdout.close()


def used(pid: int, seconds: float) -> tuple[float, float]:
    """Per cent of a processor over this time, and resident megabytes."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before, begin = ticks(), time.monotonic()
    time.sleep(seconds)
    share = (ticks() - before) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - begin)
    (resident,) = [
        int(line.split()[1])
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    ]
    return share * 100, resident / 1024


if __name__ == "__main__":
    sys.exit(main())
