"""A simulated year of schedules in four time zones, run for run against croniter, and the rule for days of change."""

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter  # type: ignore[import-untyped]
from hypothesis import example, given
from hypothesis import strategies as st

from operable.engine.schedule.cron import CronSchedule, read_schedule
from operable.kernel.errors import Fail

# Two zones of the north, one that changes by half an hour in the south, and one without change.
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
FIXED = (
    *("30 2 * * *", "0 0 * * *", "15,45 1-3 * * *", "0 3 * * SUN", "30 1 1,15 * *"),
    *("5 4 29 2 *", "0 12 13 * FRI", "59 23 31 12 *", "0 4 * * FRI-SUN"),
)
STARRED = ("*/30 * * * *", "15 * * * *", "*/20 1-3 * * *", "0 */6 * * *", "*/45 2 * * MON-FRI")
START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)


@cache
def wall_times(expression: str) -> list[datetime]:
    """What croniter says for a clock on a wall that never changes, a little longer than the year in every zone."""
    start, end = datetime(2025, 12, 29), datetime(2027, 1, 3)  # noqa: DTZ001 - a wall clock
    times = croniter(expression, start, ret_type=datetime)
    return list(takewhile(lambda wall: wall <= end, iter(times.get_next, None)))


def exists(local: datetime) -> bool:
    return local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None) == local.replace(tzinfo=None)


def expected(expression: str, zone: str, *, fixed: bool) -> list[datetime]:
    """The rule of docs/explain/engine.md, written down without our code and without cronsim."""
    ticks: set[datetime] = set()
    for wall in wall_times(expression):
        passes = [wall.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1)]
        if exists(passes[0]):
            chosen = passes[:1] if fixed else passes
            ticks.update(each.astimezone(UTC) for each in chosen)
        elif fixed:
            after = wall
            while not exists(after.replace(tzinfo=ZoneInfo(zone))):
                after += timedelta(minutes=1)
            ticks.add(after.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC))
    return sorted(tick for tick in ticks if START < tick <= END)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", [*FIXED, *STARRED])
def test_a_year_has_exactly_the_ticks_that_croniter_and_the_rule_say(expression: str, zone: str) -> None:
    schedule = read_schedule(expression, zone)
    year = takewhile(lambda tick: tick <= END.timestamp(), schedule.ticks_after(START.timestamp()))
    # An expression that begins a field with a star is not fixed, in Debian's cron and here.
    fixed = not any(field.startswith("*") for field in expression.split()[:2])
    assert [datetime.fromtimestamp(tick, UTC) for tick in year] == expected(expression, zone, fixed=fixed)


def local_ticks(expression: str, zone: str, day: str, count: int) -> list[str]:
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)).timestamp() - 1
    ticks = islice(CronSchedule(expression, zone).ticks_after(start), count)
    return [datetime.fromtimestamp(tick, ZoneInfo(zone)).strftime("%d %H:%M%z") for tick in ticks]


def test_a_fixed_time_in_the_gap_comes_once_when_the_gap_ends() -> None:
    assert local_ticks("30 2 * * *", "Europe/Berlin", "2026-03-29", 2) == ["29 03:00+0200", "30 02:30+0200"]


def test_two_fixed_times_in_one_gap_are_one_tick() -> None:
    assert local_ticks("0,30 2 * * *", "Europe/Berlin", "2026-03-29", 2) == ["29 03:00+0200", "30 02:00+0200"]


def test_a_fixed_time_that_comes_twice_fires_the_first_time() -> None:
    assert local_ticks("30 2 * * *", "Europe/Berlin", "2026-10-25", 2) == ["25 02:30+0200", "26 02:30+0100"]


def test_an_hourly_job_fires_in_both_passes_of_the_repeated_hour() -> None:
    assert local_ticks("30 * * * *", "Europe/Berlin", "2026-10-25", 4)[2:] == [
        "25 02:30+0200",
        "25 02:30+0100",
    ]


def test_a_change_of_half_an_hour_repeats_half_an_hour() -> None:
    assert local_ticks("*/30 1 * * *", "Australia/Lord_Howe", "2026-04-05", 3) == [
        *("05 01:00+1100", "05 01:30+1100", "05 01:30+1030")
    ]


def test_no_tick_is_lost_where_clocks_change_by_half_an_hour() -> None:
    assert local_ticks("0 */6 * * *", "Australia/Lord_Howe", "2026-04-05", 3) == [
        *("05 00:00+1100", "05 06:00+1030", "05 12:00+1030")
    ]


def test_a_search_in_the_second_pass_does_not_return_a_tick_of_the_first() -> None:
    moment = datetime(2026, 10, 25, 1, 15, tzinfo=UTC)  # 02:15, the second time
    tick = CronSchedule("30 2 * * *", "Europe/Berlin").next_after(moment.timestamp())
    assert tick == datetime(2026, 10, 26, 1, 30, tzinfo=UTC).timestamp()


@given(
    st.sampled_from([*FIXED, *STARRED]),
    st.sampled_from(ZONES),
    st.floats(START.timestamp(), END.timestamp()),
)
def test_a_search_from_any_moment_continues_the_same_sequence(
    expression: str, zone: str, moment: float
) -> None:
    schedule = CronSchedule(expression, zone)
    first, second = islice(schedule.ticks_after(moment), 2)
    assert moment < first < second
    assert schedule.next_after(first) == second
    assert schedule.next_after(first - 1) == first


@pytest.mark.parametrize(
    ("cron", "zone", "code"),
    [
        ("61 * * * *", "UTC", "SCHEDULE_INVALID"),
        ("* * * *", "UTC", "SCHEDULE_INVALID"),
        ("0 0 31 2 *", "UTC", "SCHEDULE_INVALID"),
        ("0 0 * * *", "Mars/Olympus", "TIME_ZONE_UNKNOWN"),
        ("0 0 * * *", "../../etc/passwd", "TIME_ZONE_UNKNOWN"),
    ],
)
def test_what_is_not_a_schedule_is_refused(cron: str, zone: str, code: str) -> None:
    with pytest.raises(Fail) as raised:
        read_schedule(cron, zone)
    assert raised.value.code == code


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "expression", ["30 2 * * *", "15,45 1-3 * * *", "15 * * * *", "*/20 1-3 * * *", "0 */6 * * *"]
)
def test_backwards_are_the_same_ticks(expression: str, zone: str) -> None:
    schedule, end = CronSchedule(expression, zone), END.timestamp()
    forward = list(takewhile(lambda tick: tick <= end, schedule.ticks_after(START.timestamp())))
    backward = list(takewhile(lambda tick: tick > START.timestamp(), schedule.ticks_until(end)))
    assert backward == forward[::-1]


@example("*/30 * * * *", "Europe/Berlin", 1798761599.9999998)  # a datetime of it is the next minute
@given(
    st.sampled_from([*FIXED, *STARRED]),
    st.sampled_from(ZONES),
    st.floats(START.timestamp(), END.timestamp()),
)
def test_the_latest_tick_of_any_moment_is_followed_by_the_next(
    expression: str, zone: str, moment: float
) -> None:
    schedule = CronSchedule(expression, zone)
    latest = next(schedule.ticks_until(moment))
    assert latest <= moment
    assert schedule.next_after(latest) == schedule.next_after(moment)


def test_a_moment_between_two_seconds_does_not_return_a_tick_of_the_past() -> None:
    midnight = int(START.timestamp())
    assert CronSchedule("0 0 * * *").next_after(midnight + 0.5) == midnight + 86_400
    assert CronSchedule("0 0 * * *").next_after(midnight - 0.5) == midnight
