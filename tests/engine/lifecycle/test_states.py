"""The table of states: every way through it ends, and nothing leaves it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.engine.lifecycle.states import (
    ACTIVE,
    ATTEMPT_TABLE,
    FINAL,
    INITIAL,
    OUTCOMES,
    RUN_TABLE,
    AttemptState,
    EngineRunState,
    RunEvent,
    next_attempt_state,
    next_state,
)
from operable.kernel.errors import Fail


def reachable(start: frozenset[EngineRunState]) -> set[EngineRunState]:
    states = set(start)
    while more := {end for (begin, _), end in RUN_TABLE.items() if begin in states} - states:
        states |= more
    return states


def test_every_state_is_reached_from_a_first_state() -> None:
    assert reachable(INITIAL) == set(EngineRunState)


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_every_active_state_can_reach_an_end(state: EngineRunState) -> None:
    assert reachable(frozenset({state})) & FINAL


@pytest.mark.parametrize("state", sorted(ACTIVE))
def test_a_user_can_cancel_every_active_run_once(state: EngineRunState) -> None:
    if state is EngineRunState.CANCELLING:
        with pytest.raises(Fail, match="cannot be cancelled"):
            next_state(state, RunEvent.CANCEL)
    else:
        assert next_state(state, RunEvent.CANCEL) in (EngineRunState.CANCELLED, EngineRunState.CANCELLING)


def test_the_ends_are_these_eight() -> None:
    assert {str(state) for state in FINAL} == {
        *("succeeded", "failed", "timed_out", "lost", "rejected", "cancelled", "skipped", "refused")
    }


@pytest.mark.parametrize("state", sorted(FINAL))
@pytest.mark.parametrize("event", sorted(RunEvent))
def test_an_end_never_changes(state: EngineRunState, event: RunEvent) -> None:
    with pytest.raises(Fail) as raised:
        next_state(state, event)
    assert raised.value.code == "RUN_STATE_CONFLICT"


def test_a_run_starts_only_when_it_is_ready() -> None:
    assert [begin for begin, event in RUN_TABLE if event is RunEvent.STARTED] == [EngineRunState.READY]
    assert [key for key, end in RUN_TABLE.items() if end is EngineRunState.RUNNING] == [
        (EngineRunState.READY, RunEvent.STARTED)
    ]


def test_lost_follows_only_a_start() -> None:
    assert [begin for (begin, _), end in RUN_TABLE.items() if end is EngineRunState.LOST] == [
        EngineRunState.RUNNING
    ]


def test_a_cancelled_or_skipped_run_triggers_nothing() -> None:
    assert FINAL - set(OUTCOMES) == {EngineRunState.CANCELLED, EngineRunState.SKIPPED}


@given(st.sampled_from(sorted(INITIAL)), st.lists(st.sampled_from(sorted(RunEvent)), max_size=40))
def test_any_sequence_of_events_stays_in_the_table(state: EngineRunState, events: list[RunEvent]) -> None:
    for event in events:
        if (state, event) in RUN_TABLE:
            assert not state.is_final
            state = next_state(state, event)
        else:
            with pytest.raises(Fail, match=str(state)):
                next_state(state, event)


@pytest.mark.parametrize("end", sorted(AttemptState))
def test_an_attempt_ends_once(end: AttemptState) -> None:
    if end is AttemptState.STARTED:
        with pytest.raises(Fail):
            next_attempt_state(AttemptState.STARTED, end)
        return
    assert next_attempt_state(AttemptState.STARTED, end) is end
    assert not ATTEMPT_TABLE[end]
    for later in AttemptState:
        with pytest.raises(Fail) as raised:
            next_attempt_state(end, later)
        assert raised.value.code == "ATTEMPT_ENDED"
