"""The constants of `docs/explain/scale.md`: what a tick, a run, an approval and a poll cost, per database.

`python -m bench._engine_costs` prints milliseconds of processor time of one operation: in the process that asks, and in the
server. Processor time is nearly the same on a busy machine; how long a commit waits for its disk is not in it.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import AttemptState
from operable.engine.schedule.clock import Firing
from operable.engine.store.database import open_database, prepare
from operable.engine.store.questions import QuestionStore
from operable.engine.store.runs import AttemptEnd, RunStore, RunTriggers, wall_clock
from operable.engine.store.ticks import TickStore
from operable.engine.store.work import WorkStore
from tests.engine.manifests import definitions, manifest, task, text
from tests.engine.postgres import PostgresServer, server_programs

COUNT = 100
ROOM = {"max_queued_dispatches": 10**6, "max_pending_approvals": 10**6}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        show("SQLite", str(Path(folder) / "engine.db"), lambda: 0.0)
    if server_programs() is not None:
        with PostgresServer.started() as server:
            show("PostgreSQL", server.new_database(), lambda: server_time(server))
    return 0


def show(name: str, address: str, server: Callable[[], float]) -> None:
    database = open_database(address)
    prepare(database)
    print(f"{name:10}  {'':30} asking    server  (ms of processor time)")
    for what, (own, others) in costs(RunStore(database, wall_clock), server):
        print(f"{'':10}  {what:30} {own:6.2f}    {others:6.2f}", flush=True)
    database.close()


def costs(store: RunStore, server: Callable[[], float]) -> Iterable[tuple[str, tuple[float, float]]]:
    def timed(step: Callable[[int], Any], count: int, per: int = 1) -> tuple[float, float]:
        own, others = time.process_time(), server()
        for number in range(count):
            step(number)
        scale = 1000 / count / per
        return (time.process_time() - own) * scale, (server() - others) * scale

    allow = {"overlap_policy": "allow"}
    document = manifest(
        *(task(f"t{n}", reliability=allow, budgets=ROOM) for n in range(COUNT)),
        task("asks", reliability=allow, budgets=ROOM, approval={"required": True}),
    )
    *jobs, asking = definitions(document)
    body = text(document)
    manifests = {asking.manifest_digest: body}
    ticks = TickStore(store.database, wall_clock)
    due = [(job, Firing((60,), 0, 60)) for job in jobs]
    yield "tick, the first clock", timed(lambda _: ticks.fire(due, manifests), 1, COUNT)
    yield "tick, every other clock", timed(lambda _: ticks.fire(due, manifests), 20, COUNT)
    runs = [store.request(jobs[n], RunCause.MANUAL, "seq", body) for n in range(COUNT)]
    yield "run: request", timed(lambda n: store.request(jobs[n], RunCause.MANUAL, "x", body), COUNT)
    yield "run: start", timed(lambda n: store.start_attempt(runs[n].run_id, 1, "w"), COUNT)
    end = AttemptEnd(AttemptState.SUCCEEDED, exit_code=0)
    none = RunTriggers((), {})
    yield (
        "run: end and triggers",
        timed(lambda n: store.end_attempt(runs[n].run_id, 1, "w", end, triggers=none), COUNT),
    )
    questions = [store.request(asking, RunCause.MANUAL, str(n), body) for n in range(COUNT)]
    kept = QuestionStore(store.database, wall_clock)
    for question, _, _ in kept.to_bind(COUNT):
        kept.bind(question, '{"files": {}}')
    answers = timed(lambda n: store.decide(questions[n].run_id, approve=True, by="bench"), COUNT)
    yield "approval: answer", answers
    yield "poll", timed(lambda _: poll(store), 2 * COUNT)


def server_time(server: PostgresServer) -> float:
    """Seconds of processor time of all processes of a server, those that ended included."""
    main = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) == main:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == main:
            total += sum(map(int, fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def poll(store: RunStore) -> None:
    """What every round of an idle worker asks of the store of runs."""
    TickStore(store.database, wall_clock).quiet_jobs()
    WorkStore(store.database, wall_clock).look()


if __name__ == "__main__":
    sys.exit(main())
