"""One side of `./dev bench engine`, as a process of its own: `python -m bench._engine_side SIDE ADDRESS FOLDER RUNS`.

SIDE is `engine` (our worker, whose attempts do nothing) or `dbos` (the same number of workflows with one empty step). It
prints one JSON object: seconds to enqueue the runs, seconds from the first one until the last one has started, and the
seconds from enqueueing to start of single runs.
"""

import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

SLOTS, POLL, SINGLES = 16, 0.1, 10
_LIMIT = 300.0


def measure(enqueue: Callable[[str], None], count: int, side: "Side") -> None:
    """The worker runs already. Runs are enqueued one after the other, then waited for; then single ones."""
    before = time.perf_counter()
    for number in range(count):
        enqueue(str(number))
    enqueued = time.perf_counter() - before
    side.wait(count)
    total = time.perf_counter() - before
    waits = []
    for number in range(SINGLES):
        begin = time.perf_counter()
        enqueue(f"single-{number}")
        side.wait(count + number + 1)
        waits.append(side.last - begin)
        time.sleep(0.037)  # not in step with a poll
    print(json.dumps({"enqueue": enqueued, "total": total, "waits": waits}), flush=True)
    os._exit(0)


class Side:
    """Counts starts."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()
        self.last = 0.0

    def note(self) -> None:
        with self._changed:
            self.last = time.perf_counter()
            self._count += 1
            self._changed.notify_all()

    def wait(self, count: int) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._count >= count, _LIMIT):
                raise SystemExit(f"only {self._count} of {count} runs came in {_LIMIT} s")


def run_dbos(address: str, folder: Path, count: int) -> None:
    import dbos

    side = Side()
    url = address
    if "://" not in address:
        path = folder / "raw.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # as ours
        url = f"sqlite:///{path}"
    dbos.DBOS(
        config={
            "name": "raw",
            "system_database_url": url,
            "executor_id": "raw",
            "application_version": "1",
            "sys_db_pool_size": 6,
            "log_level": "CRITICAL",
            "console_log_level": "CRITICAL",
        }
    )

    @dbos.DBOS.step()
    def act() -> None:
        side.note()

    @dbos.DBOS.workflow(name="raw")
    def workflow(_key: str) -> None:
        act()

    dbos.DBOS.launch()
    dbos.DBOS.register_queue("raw", worker_concurrency=SLOTS, polling_interval_sec=POLL)

    def enqueue_one(key: str) -> None:
        options: Any = {"workflow_name": "raw", "queue_name": "raw", "workflow_id": key, "app_version": "1"}
        dbos.DBOS.enqueue_workflow_with_options(options, key)

    measure(enqueue_one, count, side)


def run_engine(address: str, folder: Path, count: int) -> None:
    from operable.engine.lifecycle.identifiers import RunCause
    from operable.engine.lifecycle.states import AttemptState
    from operable.engine.place import engine_place
    from operable.engine.store.runs import AttemptEnd, RunStore, wall_clock
    from operable.engine.worker import worker as module
    from operable.engine.worker.attempt import AttemptResult
    from tests.engine.manifests import definitions, manifest, task, text

    side = Side()
    environment = {**os.environ, "AGENTCLI_HOME": str(folder / "home")}
    if "://" in address:
        environment["OPERABLE_DATABASE"] = address
    place = engine_place(environment, cwd=str(folder))
    allow = {"overlap_policy": "allow"}
    document = manifest(
        *(task(f"t{n}", reliability=allow, budgets={"max_queued_dispatches": 100_000}) for n in range(20))
    )
    jobs, body = definitions(document), text(document)
    store = RunStore(place.open_store(), wall_clock)

    def act(*_: object) -> AttemptResult:
        side.note()
        return AttemptResult(AttemptEnd(AttemptState.SUCCEEDED, exit_code=0))

    setattr(module, "execute_attempt", act)  # noqa: B010 - the machinery alone is measured
    worker = module.Worker(place, module.WorkerOptions(slots=SLOTS), environment, str(folder))

    def request(key: str) -> None:
        store.request(jobs[hash(key) % len(jobs)], RunCause.MANUAL, key, body)

    ready = threading.Event()
    threading.Thread(target=worker.run, args=(ready.set,), daemon=True).start()
    if not ready.wait(_LIMIT):
        raise SystemExit("the worker did not start")
    measure(request, count, side)


if __name__ == "__main__":
    name, address, folder, count = sys.argv[1:]
    (run_dbos if name == "dbos" else run_engine)(address, Path(folder), int(count))
