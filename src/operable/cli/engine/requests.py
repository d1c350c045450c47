"""What users ask of an engine: each request is one transaction in the store, and is durable when the command ends.

The plan of a command reads and checks; the change carries the request, and the second phase makes it.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from operable.cli.engine.events import EngineJob, EngineRemoval, EngineRun
from operable.cli.engine.options import EngineOptions
from operable.cli.engine.views import place_of, shown_jobs, shown_run, warn_without_worker
from operable.engine.backend import EMBEDDED, QueueSettings, open_backend
from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import RunEvent, next_state
from operable.engine.place import EnginePlace
from operable.engine.store import queries
from operable.engine.store.database import Database
from operable.engine.store.queue import EMBEDDED_QUEUE
from operable.engine.store.retention import ExpiredRuns, RetentionRule, find_expired
from operable.engine.store.rows import Definition, Run, find_definition
from operable.engine.store.runs import RunStore, wall_clock
from operable.engine.store.ticks import TickStore
from operable.engine.view.reader import applied_jobs, iso, reading
from operable.engine.worker.retention import FOREVER, find_orphans, remove_runs, unlink_outputs
from operable.flow.operation import current_folder
from operable.flow.run.caller import Caller
from operable.kernel.errors import Fail
from operable.manifest.durations import age_of
from operable.state.paths import policy_path
from operable.tool import Change, Warn

Request = Callable[[], EngineRun]
Removal = Callable[[], EngineRemoval]


def planned_trigger(job: str, key: str | None, options: EngineOptions) -> Iterator[Change[Request] | Warn]:
    """A run of a job now."""
    place = place_of(options)
    jobs = applied_jobs(place)
    definition = jobs.require(job)
    text = jobs.manifest(definition.manifest_digest)
    chosen = key or secrets.token_hex(8)
    yield from warn_without_worker(place)
    yield Change("run", definition.document["name"], job_id=definition.job_id, key=chosen).carry(
        lambda: _admitted(
            definition,
            chosen,
            lambda: written(place, lambda store: store.request(definition, RunCause.MANUAL, chosen, text)),
        )
    )


def planned_retry(run_id: str, key: str | None, options: EngineOptions) -> Iterator[Change[Request] | Warn]:
    """A new run of the job of a run that has ended, with the job as it is applied now."""
    place = place_of(options)
    run = require_run(place, run_id)
    if not run.state.is_final:
        raise Fail("conflict", "RUN_STATE_CONFLICT", f"{run.run_id} is {run.state}: it has not ended")
    jobs = applied_jobs(place)
    definition = jobs.require(run.job_id)
    text = jobs.manifest(definition.manifest_digest)
    chosen = f"{run.run_id} {key or secrets.token_hex(8)}"
    yield from warn_without_worker(place)
    yield Change("retry", run.run_id, job_id=run.job_id, state=str(run.state)).carry(
        lambda: _admitted(
            definition,
            chosen,
            lambda: written(
                place,
                lambda store: store.request(
                    definition, RunCause.RETRY, chosen, text, parent_run_id=run.run_id
                ),
            ),
        )
    )


def _admitted(definition: Definition, key: str, request: Request) -> EngineRun:
    """A person's request for a run: free without a policy file, judged and recorded with one."""
    if policy_path() is None:
        return request()
    from operable.gate.call import person
    from operable.gate.call_gate import CallGate
    from operable.serve.flow_call import trigger_call

    with closing(CallGate()) as gate, gate.admit_now(trigger_call(person(), definition, key)):
        return request()


def planned_cancel(run_id: str, by: str | None, options: EngineOptions) -> Iterator[Change[Request]]:
    place = place_of(options)
    run = require_run(place, run_id)
    next_state(run.state, RunEvent.CANCEL)
    who = by or account()
    yield Change("cancel", run.run_id, job_id=run.job_id, state=str(run.state)).carry(
        lambda: written(place, lambda store: store.cancel(run.run_id, who))
    )


def planned_pause(
    job: str, *, paused: bool, options: EngineOptions
) -> Iterator[Change[Callable[[], EngineJob]]]:
    place = place_of(options)
    definition = applied_jobs(place).require(job)

    def write() -> EngineJob:
        database = place.open_store()
        try:
            TickStore(database, wall_clock).pause(definition.job_id, account(), paused=paused)
        finally:
            database.close()
        return next(each for each in shown_jobs(place) if each.job_id == definition.job_id)

    verb = "pause" if paused else "resume"
    yield Change(verb, definition.document["name"], job_id=definition.job_id).carry(write)


def planned_removal(
    older_than: str, at_most: int | None, options: EngineOptions
) -> Iterator[Change[Removal]]:
    """One change per job, and one for outputs that belong to no run."""
    age = age_of(older_than)
    if age is None:
        message = f"--older-than {older_than} is not an age"
        raise Fail("usage", "AGE_INVALID", message, target=older_than, hint="90s, 30m, 2h or 30d")
    if at_most is not None and at_most < 1:
        raise Fail("usage", "INVALID_VALUE", "--at-most must be at least 1", target="--at-most")
    place = place_of(options)
    rule = RetentionRule(round((time.time() - age) * 1000), at_most or FOREVER)
    names = {job_id: str(job.document["name"]) for job_id, job in applied_jobs(place).jobs.items()}
    with reading(place) as connection:
        if connection is None:
            return
        expired = find_expired(connection, rule)
    for each in expired:
        name = names.get(each.job_id, each.job_id)
        yield Change("remove", name, job_id=each.job_id, runs=each.count, ended_until=iso(each.until)).carry(
            lambda each=each, name=name: _remove_runs(place, rule, each, name)  # type: ignore[misc]  # bound now
        )
    orphans = _orphans(place)
    if orphans:
        yield Change("remove", "outputs without a run", outputs=len(orphans)).carry(
            lambda: EngineRemoval(
                job_id=None, name="outputs without a run", runs=0, outputs=unlink_outputs(place, orphans)
            )
        )


def _orphans(place: EnginePlace) -> list[str]:
    database = place.read_store()
    if database is None:
        return []
    with closing(database):
        return [name for names in find_orphans(place, database) for name in names]


def _remove_runs(place: EnginePlace, rule: RetentionRule, expired: ExpiredRuns, name: str) -> EngineRemoval:
    runs = outputs = 0
    with closing(place.open_store()) as database:
        for part in remove_runs(
            place, database, rule, expired, lambda names: _forget(place, database, names)
        ):
            runs, outputs = runs + part[0], outputs + part[1]
    return EngineRemoval(job_id=expired.job_id, name=name, runs=runs, outputs=outputs)


def _forget(place: EnginePlace, database: Database, tickets: Iterable[str]) -> None:
    """Remove tickets from the embedded queue. Another queue has a retention of its own, which its operators decide about."""
    with database.snapshot() as connection:
        queue = connection.execute("SELECT value FROM meta WHERE key = 'queue'")
    if not queue or queue[0][0] == EMBEDDED_QUEUE.identity:
        open_backend(QueueSettings(EMBEDDED, place.address, os.environ)).forget(tickets)


def written(place: EnginePlace, request: Callable[[RunStore], Run]) -> EngineRun:
    database = place.open_store()
    try:
        run = request(RunStore(database, wall_clock))
        with database.snapshot() as connection:
            definition: Definition = find_definition(connection, run.definition)
        return shown_run(run, definition)
    finally:
        database.close()


def require_run(place: EnginePlace, run_id: str) -> Run:
    with reading(place) as connection:
        if connection is None:
            raise queries.no_such_run(run_id)
        return queries.find_by_prefix(connection, run_id)


def account() -> str:
    return Caller(current_folder(), dict(os.environ)).account
