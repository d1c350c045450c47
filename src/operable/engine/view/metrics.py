"""Metrics of an engine in the OpenMetrics text form, from the store: no worker is asked, and none needs a port.

Counters and histograms are about everything that ended since the store was made, also what retention has removed. A reading
looks at all ended runs: with hundreds of thousands of them, scrape once a minute and let `operable engine gc` keep fewer.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from operable.engine.lifecycle.states import ACTIVE, FINAL, AttemptState
from operable.engine.store.database import StoreConnection
from operable.engine.store.totals import BOUNDS, EndedTotals, Spread, count_ended, read_retired


@dataclass(frozen=True, slots=True)
class EngineReading:
    """One look at the store."""

    active: Mapping[str, int]  # runs that have not ended, by state
    ended: EndedTotals
    queue: int  # runs that could start now
    oldest_s: float  # how long the oldest of those waits
    approvals: int
    missed: int  # ticks
    workers: int
    slots: int
    jobs: int


def read_engine(
    connection: StoreConnection, *, now: int, workers: int, slots: int, jobs: int
) -> EngineReading:
    """`now` is milliseconds since 1970."""
    active = connection.execute("SELECT state, COUNT(*) FROM runs WHERE ended_at IS NULL GROUP BY state")
    ((queue, oldest),) = connection.execute(
        "SELECT COUNT(*), MIN(CASE WHEN not_before > changed_at THEN not_before ELSE changed_at END) FROM runs "
        "WHERE state = 'ready' AND not_before <= ?",
        (now,),
    )
    ((approvals,),) = connection.execute("SELECT COUNT(*) FROM approvals WHERE decision IS NULL")
    ((missed,),) = connection.execute("SELECT COALESCE(SUM(missed), 0) FROM ticks")
    ended = count_ended(connection)
    ended.add(read_retired(connection))
    return EngineReading(
        active={str(state): int(count) for state, count in active},
        ended=ended,
        queue=int(queue),
        oldest_s=0.0 if oldest is None else max(0, now - int(oldest)) / 1000,
        approvals=int(approvals),
        missed=int(missed),
        workers=workers,
        slots=slots,
        jobs=jobs,
    )


def openmetrics(reading: EngineReading) -> str:
    """The text that a scraper reads; `# EOF` ends it."""
    return "\n".join((*_lines(reading), "# EOF")) + "\n"


def _lines(reading: EngineReading) -> Iterator[str]:
    yield from _gauge("operable_workers", "Workers that live.", reading.workers)
    yield from _gauge("operable_worker_slots", "Tasks that the living workers run at once.", reading.slots)
    yield from _gauge("operable_jobs", "Applied jobs.", reading.jobs)
    active = {state.value: reading.active.get(state.value, 0) for state in sorted(ACTIVE)}
    yield from _family("operable_runs_active", "gauge", "Runs that have not ended.")
    yield from (f'operable_runs_active{{state="{state}"}} {count}' for state, count in active.items())
    yield from _gauge("operable_queue_depth", "Runs that could start now.", reading.queue)
    yield from _gauge("operable_queue_oldest_seconds", "Wait of the oldest of them.", reading.oldest_s)
    yield from _gauge("operable_approvals_waiting", "Questions without an answer.", reading.approvals)
    yield from _family("operable_runs_ended", "counter", "Runs that ended, by their end.")
    for state in sorted(FINAL):
        yield f'operable_runs_ended_total{{state="{state}"}} {reading.ended.runs[state]}'
    yield from _family("operable_attempts_ended", "counter", "Attempts that ended, by their end.")
    for end in sorted(set(AttemptState) - {AttemptState.STARTED}):
        yield f'operable_attempts_ended_total{{state="{end}"}} {reading.ended.attempts[end]}'
    yield from _family("operable_ticks_missed", "counter", "Ticks of schedules that made no run.")
    yield f"operable_ticks_missed_total {reading.missed}"
    about = "How long attempts took."
    yield from _histogram("operable_attempt_duration_seconds", about, reading.ended.duration)
    about = "From when a run was due to its first attempt; runs that asked are not in it."
    yield from _histogram("operable_start_delay_seconds", about, reading.ended.delay)


def _family(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    if name.endswith("_seconds"):
        yield f"# UNIT {name} seconds"
    yield f"# HELP {name} {about}"


def _gauge(name: str, about: str, value: float) -> Iterator[str]:
    yield from _family(name, "gauge", about)
    yield f"{name} {value}"


def _histogram(name: str, about: str, spread: Spread) -> Iterator[str]:
    yield from _family(name, "histogram", about)
    count = 0
    for bound in BOUNDS:
        count += spread.counts[str(bound)]
        yield f'{name}_bucket{{le="{bound / 1000}"}} {count}'
    count += spread.counts["inf"]
    yield f'{name}_bucket{{le="+Inf"}} {count}'
    yield f"{name}_count {count}"
    yield f"{name}_sum {spread.total_ms / 1000}"
