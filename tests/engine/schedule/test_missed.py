"""Missed ticks: each policy, and that every tick is either fired or counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.engine.schedule.clock import GRACE, MOST, POLICIES, MissedPolicy, choose_ticks

NOW = 1_800_000_000.0
LATE = tuple(int(NOW - 3600 * hours) for hours in (3, 2, 1))


@pytest.mark.parametrize(("policy", "fired"), [("skip", ()), ("once", LATE[-1:]), ("all", LATE)])
def test_ticks_that_no_worker_saw_follow_the_policy(policy: MissedPolicy, fired: tuple[int, ...]) -> None:
    assert choose_ticks(LATE, NOW, policy).fire == fired


@pytest.mark.parametrize("policy", POLICIES)
def test_a_tick_that_is_late_by_less_than_the_grace_is_fired(policy: MissedPolicy) -> None:
    assert choose_ticks((int(NOW - GRACE),), NOW, policy).fire == (int(NOW - GRACE),)


def test_the_tick_on_time_is_the_one_run_that_catches_up() -> None:
    assert choose_ticks((*LATE, int(NOW)), NOW, "once").fire == (int(NOW),)


def test_all_means_at_most_a_thousand_and_says_how_many_were_left_out() -> None:
    due = tuple(int(NOW) - 60 * age for age in range(4320, 0, -1))
    firing = choose_ticks(due, NOW, "all")
    assert firing.fire == due[-MOST:]
    assert firing.missed == 4320 - MOST


@given(
    st.lists(st.integers(int(NOW) - 100_000, int(NOW)), min_size=1, max_size=50, unique=True),
    st.sampled_from(POLICIES),
)
def test_every_tick_is_fired_or_counted(due: list[int], policy: MissedPolicy) -> None:
    due.sort()
    firing = choose_ticks(due, NOW, policy)
    assert len(firing.fire) + firing.missed == len(due)
    assert set(firing.fire) <= set(due)
    assert list(firing.fire) == sorted(firing.fire)
    assert firing.last == due[-1]
