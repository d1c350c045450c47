"""Retention: what goes, what never goes, and that counters do not fall."""

import pytest

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import AttemptState
from operable.engine.schedule.clock import Firing
from operable.engine.store.database import Database
from operable.engine.store.retention import RetentionRule, find_expired, remove_expired
from operable.engine.store.rows import Run
from operable.engine.store.runs import AttemptEnd, RunStore
from operable.engine.store.ticks import TickStore
from operable.engine.store.totals import EndedTotals, count_ended, read_retired
from operable.engine.view.metrics import openmetrics, read_engine
from tests.engine.manifests import definitions, manifest, task, text

FOREVER = 1_000_000


class Clock:
    now = 1_000_000_000_000

    def __call__(self) -> int:
        self.now += 1000
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(database: Database, clock: Clock) -> RunStore:
    return RunStore(database, clock)


DOCUMENT = manifest(task("a", reliability={"overlap_policy": "allow"}))
(JOB,) = definitions(DOCUMENT)
MANIFESTS = {JOB.manifest_digest: text(DOCUMENT)}


def ended_run(store: RunStore, clock: Clock, tick: int | None = None, key: str = "k") -> Run:
    """A run of a tick or of a request that has succeeded, and whose triggers are decided."""
    if tick is None:
        run = store.request(JOB, RunCause.MANUAL, key, text(DOCUMENT))
    else:
        (run,) = TickStore(store.database, clock).fire(
            [(JOB, Firing(fire=(tick,), missed=0, last=tick))], MANIFESTS
        )
    started = store.start_attempt(run.run_id, run.wake, "w")
    assert started is not None
    end = AttemptEnd(AttemptState.SUCCEEDED, duration_ms=1500, output_path=f"{run.run_id}-1.out")
    store.end_attempt(run.run_id, 1, "w", end)
    store.settle(run.run_id, [], {})
    return run


def remove(store: RunStore, rule: RetentionRule) -> list[str]:
    """Outputs of what was removed."""
    with store.database.snapshot() as connection:
        expired = find_expired(connection, rule)
    removed = [part for each in expired for part in remove_expired(store.database, rule, each)]
    return sorted(name for part in removed for name in part.outputs)


def totals(store: RunStore) -> EndedTotals:
    with store.database.snapshot() as connection:
        counted = count_ended(connection)
        counted.add(read_retired(connection))
    return counted


def known(store: RunStore) -> list[str]:
    with store.database.snapshot() as connection:
        return [run_id for (run_id,) in connection.execute("SELECT run_id FROM runs ORDER BY created_at")]


def test_what_is_old_goes_but_for_the_newest_of_a_job_and_what_is_active(
    store: RunStore, clock: Clock
) -> None:
    runs = [ended_run(store, clock, tick) for tick in (60, 120, 180)]
    (active,) = TickStore(store.database, clock).fire(
        [(JOB, Firing(fire=(240,), missed=0, last=240))], MANIFESTS
    )
    before = totals(store)
    outputs = remove(store, RetentionRule(clock.now + FOREVER, FOREVER))
    assert outputs == sorted(f"{run.run_id}-1.out" for run in runs[:2])
    assert known(store) == [runs[2].run_id, active.run_id]
    assert totals(store) == before
    assert before.duration.counts == {"5000": 3}
    assert remove(store, RetentionRule(clock.now + FOREVER, FOREVER)) == []


def test_age_and_number_are_two_reasons(store: RunStore, clock: Clock) -> None:
    runs = [ended_run(store, clock, tick) for tick in (60, 120, 180, 240)]
    assert remove(store, RetentionRule(0, FOREVER)) == []
    remove(store, RetentionRule(0, 3))
    assert known(store) == [run.run_id for run in runs[1:]]


def test_a_tick_and_a_key_whose_runs_were_removed_start_nothing_again(store: RunStore, clock: Clock) -> None:
    tick, asked = ended_run(store, clock, 60), ended_run(store, clock, key="deploy-7")
    ended_run(store, clock, 120)
    remove(store, RetentionRule(clock.now + FOREVER, FOREVER))
    assert tick.run_id not in known(store)
    assert (
        TickStore(store.database, clock).fire([(JOB, Firing(fire=(60,), missed=0, last=60))], MANIFESTS) == []
    )
    again = store.request(JOB, RunCause.MANUAL, "deploy-7", text(DOCUMENT))
    assert (again.run_id, str(again.state)) == (asked.run_id, "succeeded")
    assert store.start_attempt(asked.run_id, asked.wake, "w") is None
    assert store.start_attempt(tick.run_id, tick.wake, "w") is None


def test_metrics_are_openmetrics_and_count_what_was_removed(store: RunStore, clock: Clock) -> None:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    def read() -> dict[tuple[str, str], float]:
        with store.database.snapshot() as connection:
            look = read_engine(connection, now=clock.now, workers=2, slots=16, jobs=1)
        families = list(text_string_to_metric_families(openmetrics(look)))
        assert {family.type for family in families} == {"gauge", "counter", "histogram"}
        return {
            (sample.name, sample.labels.get("state") or sample.labels.get("le") or ""): sample.value
            for family in families
            for sample in family.samples
        }

    for tick in (60, 120):
        ended_run(store, clock, tick)
    TickStore(store.database, clock).fire([(JOB, Firing(fire=(180,), missed=4, last=180))], MANIFESTS)
    clock()
    first = read()
    assert first["operable_runs_ended_total", "succeeded"] == 2
    assert first["operable_attempts_ended_total", "succeeded"] == 2
    assert first["operable_runs_active", "ready"] == first["operable_queue_depth", ""] == 1
    assert first["operable_queue_oldest_seconds", ""] >= 1
    assert first["operable_ticks_missed_total", ""] == 4
    assert first["operable_attempt_duration_seconds_bucket", "1.0"] == 0
    assert first["operable_attempt_duration_seconds_bucket", "5.0"] == 2
    assert first["operable_attempt_duration_seconds_sum", ""] == 3
    assert first["operable_start_delay_seconds_count", ""] == 2
    remove(store, RetentionRule(clock.now + FOREVER, FOREVER))
    assert len(known(store)) == 2
    assert read() == first
