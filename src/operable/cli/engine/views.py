"""What `operable engine` shows: read from the store alone, so that no engine is imported for it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from operable.cli.engine import people
from operable.cli.engine.events import EngineJob, EngineRun, EngineStatus, EngineWorker
from operable.cli.engine.options import EngineOptions
from operable.cli.flow.input import addressed
from operable.engine.lifecycle.identifiers import trace_id_of
from operable.engine.place import EnginePlace, engine_place
from operable.engine.store import queries
from operable.engine.store.database import shown_address
from operable.engine.store.rows import Approval, Definition, Run, WorkerRow, find_definition
from operable.engine.store.ticks import JobTicks, read_ticks
from operable.engine.view.reader import applied_jobs, is_alive, iso, next_tick, reading
from operable.flow.manifest.schedules import moment
from operable.flow.operation import current_folder
from operable.kernel.errors import Fail
from operable.manifest.durations import age_of
from operable.tool import Context, Page, Warn


def place_of(options: EngineOptions) -> EnginePlace:
    if options.database == "":  # a variable of a script that is not set, and not a wish for the default
        raise Fail("usage", "INVALID_VALUE", "--database has no value", target="--database")
    with addressed("."):
        return engine_place(os.environ, home=options.home, database=options.database, cwd=current_folder())


def warn_without_worker(place: EnginePlace) -> Iterator[Warn]:
    """A warning, if no worker runs for this home."""
    with reading(place) as connection:
        workers = [] if connection is None else queries.list_workers(connection)
    if not any(is_alive(place, worker) for worker in workers):
        yield Warn("NO_WORKER", "no worker runs: start one with `operable engine start`")


def shown_status(place: EnginePlace, context: Context) -> Iterator[EngineStatus | EngineWorker]:
    """One event about the engine and one per worker; for people a few lines."""
    jobs = applied_jobs(place).jobs
    with reading(place) as connection:
        workers = [] if connection is None else queries.list_workers(connection)
        counts = {} if connection is None else queries.count_states(connection)
        questions = 0 if connection is None else len(queries.open_questions(connection))
        pauses = {} if connection is None else queries.job_pauses(connection)
        ticks = {} if connection is None else read_ticks(connection)
        removal = None if connection is None else queries.last_removal(connection)
    shown = [_shown_worker(place, worker) for worker in workers]
    tick = min(
        (
            tick
            for job in jobs.values()
            if job.job_id not in pauses and (tick := next_tick(job, ticks.get(job.job_id))) is not None
        ),
        default=None,
    )
    status = EngineStatus(
        database=shown_store(place),
        workers=sum(worker.alive for worker in shown),
        jobs=len(jobs),
        runs=counts,
        open_questions=questions,
        next_tick=None if tick is None else iso(tick * 1000),
        last_gc=None if removal is None else iso(removal[0] * 1000),
        last_gc_runs=None if removal is None else removal[1],
    )
    if context.machine:
        yield status
        yield from shown
    else:
        context.show(people.status_text(status, shown, tick))


def _shown_worker(place: EnginePlace, worker: WorkerRow) -> EngineWorker:
    return EngineWorker(
        worker_id=worker.worker_id,
        alive=is_alive(place, worker),
        host=worker.host,
        pid=worker.pid,
        slots=worker.slots,
        version=worker.version,
        started_at=iso(worker.started_at),
        seen_at=iso(worker.seen_at),
    )


def shown_jobs(
    place: EnginePlace,
    *,
    after: str | None = None,
    workflow: str | None = None,
    state: str | None = None,
    rows: bool = False,
) -> Iterator[EngineJob]:
    """Jobs in the order of the store, behind this one; `rows` for people."""
    with reading(place) as connection:
        last = {} if connection is None else queries.last_runs(connection)
        pauses = {} if connection is None else queries.job_pauses(connection)
        ticks = {} if connection is None else read_ticks(connection)
    jobs = iter(applied_jobs(place).jobs.values())
    if after is not None:
        all(job.job_id != after for job in jobs)  # leaves the iterator behind that job
    for job in jobs:
        if workflow not in (None, job.document["source"]["workflow_id"]):
            continue
        shown, tick = _shown_job(job, pauses, ticks.get(job.job_id), last.get(job.job_id, (None, None)))
        if state not in (None, shown.state):
            continue
        yield people.job_row(shown, tick) if rows else shown  # type: ignore[misc]  # a dictionary of that shape


def _shown_job(
    job: Definition,
    pauses: dict[str, str],
    ticks: JobTicks | None,
    last: tuple[str | None, str | None],
) -> tuple[EngineJob, int | None]:
    source, invocation = job.document["source"], job.document["invocation"]
    state = pauses.get(job.job_id, "enabled") if job.policy.enabled else "disabled"
    tick = next_tick(job, ticks) if state == "enabled" else None
    words = (
        f"{invocation['cron']} {invocation['tz']}"
        if invocation["mode"] == "schedule"
        else f"on {invocation['on']} of {invocation['parent']}"
    )
    shown = EngineJob(
        job_id=job.job_id,
        name=job.document["name"],
        workflow_id=source["workflow_id"],
        task_id=source["task_id"],
        state=state,  # type: ignore[arg-type]  # one of the four
        invocation=words,
        next_tick=None if tick is None else iso(tick * 1000),
        last_run=last[0],
        last_state=last[1],
        missed_ticks=0 if ticks is None else ticks.missed,
    )
    return shown, tick


class RunFilter(NamedTuple):
    """Which runs, in the words of a user; None is any."""

    job: str | None = None
    state: str | None = None
    cause: str | None = None
    since: str | None = None
    until: str | None = None


def shown_runs(place: EnginePlace, chosen: RunFilter, page: Page, *, rows: bool) -> Iterator[EngineRun]:
    """Runs, newest first; `rows` for people."""
    job_id = None if chosen.job is None else applied_jobs(place).require(chosen.job).job_id
    since, until = (None if time is None else moment_of(time) for time in (chosen.since, chosen.until))
    with reading(place) as connection:
        if connection is None:
            return
        before = None
        if page.after is not None:
            last = queries.find_by_prefix(connection, str(page.after))
            before = (last.created_at, last.run_id)
        questions = queries.open_questions(connection)
        limit = page.fetch or 1_000_000
        for run in queries.list_runs(
            connection,
            job_id=job_id,
            state=chosen.state,
            cause=chosen.cause,
            since=since,
            until=until,
            before=before,
            limit=limit,
        ):
            question, definition = questions.get(run.run_id), find_definition(connection, run.definition)
            if rows:
                yield people.run_row(run, definition, question)  # type: ignore[misc]  # the same
            else:
                yield shown_run(run, definition, question)


def shown_run(run: Run, definition: Definition, question: Approval | None = None) -> EngineRun:
    waits = not run.state.is_final and run.not_before > run.changed_at
    return EngineRun(
        run_id=run.run_id,
        job_id=run.job_id,
        name=definition.document["name"],
        state=str(run.state),
        cause=str(run.cause),
        attempts=run.attempts,
        due_at=iso(run.due_at),
        created_at=iso(run.created_at),
        not_before=iso(run.not_before) if waits else None,
        ended_at=None if run.ended_at is None else iso(run.ended_at),
        parent_run_id=run.parent_run_id,
        reason=run.reason,
        approve_by=None if question is None else iso(question.expires_at),
        asks=None if question is None else question.question or "approval",
        trace_id=trace_id_of(run.run_id),
    )


def moment_of(text: str) -> int:
    """Milliseconds: a time (ISO 8601, UTC if it names no zone), or how long ago (90s, 30m, 2h, 7d)."""
    ago = age_of(text)
    if ago is not None:
        return round((time.time() - ago) * 1000)
    try:
        return round(moment(text).timestamp() * 1000)
    except ValueError:
        message = f"{text} is not a time"
        hint = "2h, 7d, or 2026-11-15T09:00"
        raise Fail("usage", "TIME_INVALID", message, target=text, hint=hint) from None


def shown_store(place: EnginePlace) -> str:
    return shown_address(place.address) if place.is_shared else place.address
