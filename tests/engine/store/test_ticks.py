"""When a schedule begins: what a store notes of it, whichever worker comes first."""

import pytest

from operable.engine.schedule.clock import choose_ticks
from operable.engine.store.database import Database
from operable.engine.store.ticks import QuietJobs, TickStore, read_ticks
from tests.engine.manifests import definitions, manifest, task, text

EARLY, NOW, LATER = 1_000, 2_000, 3_000


@pytest.fixture
def ticks(database: Database) -> TickStore:
    return TickStore(database, lambda: NOW * 1000)


def test_a_schedule_begins_once_when_it_is_first_seen(ticks: TickStore) -> None:
    assert ticks.begin({"a": "0 * * * * UTC"}, {}, 1, EARLY) == {"a": EARLY}
    assert ticks.begin({"a": "0 * * * * UTC"}, {}, 2, LATER) == {"a": EARLY}


def test_another_schedule_and_one_that_was_away_begin_anew(ticks: TickStore) -> None:
    ticks.begin({"a": "0 * * * * UTC", "b": "0 * * * * UTC"}, {}, 1, EARLY)
    ticks.begin({"a": "5 * * * * UTC"}, {}, 2, NOW)
    assert ticks.begin({"a": "5 * * * * UTC", "b": "0 * * * * UTC"}, {}, 3, LATER) == {"a": NOW, "b": LATER}


def test_a_worker_that_has_not_seen_the_newest_apply_changes_nothing_of_it(ticks: TickStore) -> None:
    ticks.begin({"a": "0 * * * * UTC"}, {}, 1, EARLY)
    ticks.begin({"a": "5 * * * * UTC", "b": "0 * * * * UTC"}, {}, 3, NOW)
    assert ticks.begin({"a": "0 * * * * UTC"}, {}, 2, LATER) == {"a": NOW, "b": NOW}
    assert ticks.begin({"a": "5 * * * * UTC", "b": "0 * * * * UTC"}, {}, 3, LATER) == {"a": NOW, "b": NOW}


def test_a_schedule_that_ended_and_came_back_unseen_begins_anew_once(ticks: TickStore) -> None:
    ticks.begin({"a": "0 * * * * UTC", "b": "0 * * * * UTC"}, {}, 1, EARLY)
    assert ticks.noted_apply() == 1
    both = {"a": "0 * * * * UTC", "b": "0 * * * * UTC"}
    assert ticks.begin(both, {"a": 3}, 3, NOW) == {"a": NOW, "b": EARLY}
    assert ticks.noted_apply() == 3
    assert ticks.begin(both, {"a": 3}, 3, LATER) == {
        "a": NOW,
        "b": EARLY,
    }  # another worker, which came second
    assert ticks.begin(both, {}, 2, LATER) == {"a": NOW, "b": EARLY}  # one that has not seen the newest apply
    assert ticks.noted_apply() == 3


def test_what_an_older_version_has_decided_about_stays_decided(ticks: TickStore, database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("INSERT INTO ticks (job_id, last_tick, missed) VALUES ('a', ?, 0)", (EARLY,))
    assert ticks.begin({"a": "0 * * * * UTC"}, {}, 1, LATER) == {"a": EARLY}


def test_a_job_that_is_resumed_begins_then_and_one_that_was_not_paused_goes_on(
    ticks: TickStore, database: Database
) -> None:
    ticks.begin({"a": "0 * * * * UTC", "b": "0 * * * * UTC", "ahead": "0 * * * * UTC"}, {}, 1, EARLY)
    with database.transaction() as connection:
        connection.execute("UPDATE ticks SET last_tick = ? WHERE job_id = 'ahead'", (LATER,))
    for job in ("a", "ahead"):
        ticks.pause(job, "ann", paused=True)
    assert ticks.quiet_jobs() == QuietJobs(frozenset({"a", "ahead"}))
    for job in ("a", "b", "ahead"):
        ticks.pause(job, "ann", paused=False)
    with database.snapshot() as connection:
        assert {job: each.last for job, each in read_ticks(connection).items()} == {
            "a": NOW,
            "b": EARLY,
            "ahead": NOW,
        }
    assert ticks.quiet_jobs() == QuietJobs(frozenset(), resumed=3)


def test_ticks_that_another_clock_has_fired_are_not_counted_as_missed(
    ticks: TickStore, database: Database
) -> None:
    """A machine that slept for minutes wakes up, and is the first to see the newest tick."""
    document = manifest(task("a", schedule={"cron": "* * * * *"}))
    (job,) = definitions(document)
    manifests = {job.manifest_digest: text(document)}
    assert len(ticks.fire([(job, choose_ticks((60, 120), 120, "once"))], manifests)) == 2
    slept = choose_ticks((60, 120, 180, 240, 300), 300, "once")
    assert (slept.fire, slept.missed) == ((240, 300), 3)
    assert [run.due_at for run in ticks.fire([(job, slept)], manifests)] == [240_000, 300_000]
    with database.snapshot() as connection:
        assert read_ticks(connection)[job.job_id].missed == 1
