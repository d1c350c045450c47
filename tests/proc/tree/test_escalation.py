import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.proc.tree.escalation import LOOK, REAP, Graces, Ladder

GRACES = Graces(interrupt=2, terminate=3, kill=4, drain=1)


def ladder(timeout: float | None = None) -> Ladder:
    return Ladder(0.0, timeout=timeout, graces=GRACES)


def test_a_leader_that_ends_with_its_pipes_closed_is_swept_and_reaped_at_once():
    end = ladder(timeout=10)
    assert end.due == 10
    assert end.step(1) == []
    end.leader_exited(1)
    end.outputs_closed(1)
    assert end.step(1) == [signal.SIGTERM, REAP, LOOK]
    end.looked(alive=False)
    assert end.phase == "ended"
    assert end.due is None
    assert (end.cause, end.swept, end.gave_up) == (None, False, False)


def test_a_cancel_climbs_from_sigint_to_sigkill_and_then_gives_up():
    end = ladder()
    end.cancel(5, "cancelled")
    assert end.step(5) == [signal.SIGINT]
    assert end.step(6.9) == []
    assert end.due == 7
    assert end.step(7) == [signal.SIGTERM]
    assert end.step(10) == [signal.SIGKILL]
    assert end.step(14) == []
    assert (end.phase, end.gave_up, end.cause) == ("ended", True, "cancelled")


def test_the_deadline_starts_the_ladder_and_is_the_cause():
    end = ladder(timeout=10)
    assert end.step(10) == [signal.SIGINT]
    assert end.cause == "deadline"
    end.cancel(11, "cancelled")
    assert end.cause == "deadline"


def test_a_leader_that_ended_in_time_is_not_late_because_its_reader_is_slow():
    end = ladder(timeout=10)
    end.leader_exited(9)
    end.step(11)
    assert end.cause is None


def test_a_pipe_that_stays_open_after_the_leader_holds_the_end_for_the_drain_grace_only():
    end = ladder()
    end.leader_exited(3)
    assert end.step(3.5) == []
    assert end.due == 4
    assert end.step(4) == [signal.SIGTERM, REAP, LOOK]


def test_members_that_outlive_the_leader_are_killed_after_the_grace():
    end = ladder()
    end.leader_exited(0)
    end.outputs_closed(0)
    end.step(0)
    end.looked(alive=True)
    assert end.step(1) == [LOOK]
    assert end.step(3) == [signal.SIGKILL, LOOK]
    end.looked(alive=False)
    assert (end.phase, end.swept, end.gave_up) == ("ended", True, False)


def test_a_leader_that_ends_during_the_ladder_is_not_signalled_twice_with_the_same_signal():
    end = ladder()
    end.cancel(0, "cancelled")
    assert end.step(0) == [signal.SIGINT]
    assert end.step(2) == [signal.SIGTERM]
    end.leader_exited(2.1)
    end.outputs_closed(2.1)
    assert end.step(2.1) == [REAP, LOOK]


def test_kill_skips_the_polite_rungs():
    end = ladder()
    end.kill(0, "cancelled")
    assert end.step(0) == [signal.SIGKILL]
    assert end.cause == "cancelled"
    end.kill(1, "again")
    assert end.step(1) == []


@pytest.mark.parametrize("late", ["cancel", "kill"])
def test_nothing_happens_after_the_end(late):
    end = ladder()
    end.leader_exited(0)
    end.outputs_closed(0)
    end.step(0)
    end.looked(alive=False)
    getattr(end, late)(1, "late")
    assert end.due is None
    assert end.cause is None


FACTS = st.sampled_from(["cancel", "kill", "exited", "closed", "alive", "gone", "wait"])


@given(st.lists(st.tuples(FACTS, st.floats(0, 3)), max_size=40))
def test_whatever_happens_the_ladder_ends_in_bounded_time(history):
    end = ladder(timeout=10)
    now = 0.0
    signals: list[signal.Signals] = []
    reaped = 0

    def take(orders):
        nonlocal reaped
        for order in orders:
            if order == REAP:
                reaped += 1
                assert end.phase in ("sweeping", "ended")
            elif order != LOOK:
                signals.append(order)

    for fact, delay in history:
        now += delay
        match fact:
            case "cancel":
                end.cancel(now, "cancelled")
            case "kill":
                end.kill(now, "cancelled")
            case "exited":
                end.leader_exited(now)
            case "closed":
                end.outputs_closed(now)
            case "alive" | "gone":
                end.looked(alive=fact == "alive")
        take(end.step(now))
    latest = now + 10 + 2 + 3 + 4 + 1
    while end.due is not None:
        now = max(now, end.due)
        assert now <= latest
        take(end.step(now))
    assert end.phase == "ended"
    assert reaped <= 1
    assert signals == sorted(signals, key=[signal.SIGINT, signal.SIGTERM, signal.SIGKILL].index)
    assert len(signals) == len(set(signals))
