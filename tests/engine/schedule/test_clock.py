"""The clock of a worker: each tick once and in order, also when the time jumps."""

from hypothesis import given
from hypothesis import strategies as st

from operable.engine.schedule.clock import ScheduleClock
from operable.engine.schedule.cron import CronSchedule

START = 1_800_000_000 - 1_800_000_000 % 3600
HOURLY, MINUTELY = CronSchedule("0 * * * *"), CronSchedule("* * * * *")


def fired(clock: ScheduleClock, now: float) -> dict[str, tuple[int, ...]]:
    return {due.job_id: due.ticks for due in clock.due(now)}


def test_a_job_is_due_at_its_tick_and_not_before() -> None:
    clock = ScheduleClock()
    clock.set("a", HOURLY, START)
    assert clock.next_due() == START + 3600
    assert fired(clock, START + 3599.9) == {}
    assert fired(clock, START + 3600) == {"a": (START + 3600,)}
    assert clock.next_due() == START + 7200


def test_a_tick_is_returned_once() -> None:
    clock = ScheduleClock()
    clock.set("a", HOURLY, START)
    assert fired(clock, START + 3700)
    assert fired(clock, START + 3700) == {}


def test_the_ticks_of_a_long_absence_come_together() -> None:
    clock = ScheduleClock()
    clock.set("a", HOURLY, START)
    assert fired(clock, START + 3 * 3600) == {"a": (START + 3600, START + 7200, START + 10800)}


def test_a_clock_that_goes_back_an_hour_fires_nothing_again() -> None:
    clock = ScheduleClock()
    clock.set("a", MINUTELY, START)
    seen = fired(clock, START + 3600)["a"]
    assert fired(clock, START + 60) == {}
    clock.set("a", MINUTELY, START)  # a refresh with what an old snapshot remembers
    assert fired(clock, START + 3600) == {}
    assert fired(clock, START + 3660)["a"] == (seen[-1] + 60,)


def test_another_schedule_replaces_the_old_one() -> None:
    clock = ScheduleClock()
    clock.set("a", MINUTELY, START)
    clock.set("a", HOURLY, START)
    assert clock.next_due() == START + 3600
    assert fired(clock, START + 3600) == {"a": (START + 3600,)}


def test_a_job_that_was_removed_is_not_due() -> None:
    clock = ScheduleClock()
    clock.set("a", MINUTELY, START)
    clock.remove("a")
    assert clock.next_due() is None
    assert fired(clock, START + 3600) == {}


def test_after_a_long_absence_only_the_latest_ticks_are_looked_at() -> None:
    clock = ScheduleClock()
    clock.set("a", MINUTELY, START)
    (due,) = clock.due(START + 60 * 1_000_000)
    assert due.more
    assert due.ticks == tuple(START + 60 * number for number in range(998_001, 1_000_001))
    assert clock.next_due() == START + 60 * 1_000_001


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["0 * * * *", "*/7 * * * *", "5 3 * * *"])),
    st.lists(st.integers(-7200, 86_400), max_size=12),
)
def test_any_walk_of_the_time_fires_each_tick_once(jobs: dict[str, str], steps: list[int]) -> None:
    clock = ScheduleClock()
    for job_id, cron in jobs.items():
        clock.set(job_id, CronSchedule(cron), START)
    now = latest = START
    seen: dict[str, list[int]] = {job_id: [] for job_id in jobs}
    for step in steps:
        now += step
        latest = max(latest, now)
        for due in clock.due(now):
            seen[due.job_id] += due.ticks
    for job_id, cron in jobs.items():
        expected = []
        for tick in CronSchedule(cron).ticks_after(START):
            if tick > latest:
                break
            expected.append(tick)
        assert seen[job_id] == expected
