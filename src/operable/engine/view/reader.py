"""The engine as it is, for readers: its store, its jobs, its workers. No engine is imported for it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from operable.engine.place import EnginePlace
from operable.engine.schedule.cron import CronSchedule
from operable.engine.store.database import StoreConnection
from operable.engine.store.rows import Definition, WorkerRow
from operable.engine.store.ticks import JobTicks
from operable.engine.worker.definitions import AppliedJobs
from operable.engine.worker.lease import FileLease

_SHARED_SEEN = 15_000  # milliseconds: a worker of another machine that was seen so recently counts as alive


def applied_jobs(place: EnginePlace) -> AppliedJobs:
    place.require_same()
    jobs = AppliedJobs(place.jobs)
    jobs.refresh()
    return jobs


@contextmanager
def reading(place: EnginePlace) -> Iterator[StoreConnection | None]:
    """The store, for reading. None if no worker and no command ever made it."""
    database = place.read_store()
    if database is None:
        yield None
        return
    try:
        with database.snapshot() as connection:
            yield connection
    finally:
        database.close()


def is_alive(place: EnginePlace, worker: WorkerRow) -> bool:
    """Whether a worker lives: its lock on this machine, or how long ago it was seen on another."""
    if place.is_shared:
        return worker.end_cause is None and time.time() * 1000 - worker.seen_at < _SHARED_SEEN
    # A worker that said that it stops is not alive, also if its lock file was removed.
    return worker.end_cause is None and not FileLease(place.workers, grace=0).is_dead(worker.worker_id)


def next_tick(job: Definition, ticks: JobTicks | None) -> int | None:
    """When a job is due next, in seconds. Returns None for one that is triggered by another, or disabled.

    A tick that was decided about does not come again, also if the clock was ahead then.
    """
    policy, invocation = job.policy, job.document["invocation"]
    if not policy.enabled or policy.trigger is not None:
        return None
    schedule, now = CronSchedule(invocation["cron"], invocation["tz"]), time.time()
    # A schedule that no worker has seen begins when one does.
    decided = now if ticks is None or ticks.schedule not in (None, schedule.words) else ticks.last
    return schedule.next_after(max(now, decided))


def iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
