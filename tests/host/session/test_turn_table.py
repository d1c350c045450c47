"""The table of a session: what holds for every way through it. No process, no loop, no clock."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.session.turn_table import (
    STALE,
    TABLE,
    TIMERS,
    UNANSWERED,
    WITH_TURN,
    TurnAction,
    TurnInput,
    TurnMachine,
    TurnState,
    TurnTimer,
)

# What the host itself does while these actions are carried out; it cannot come at another time.
ANSWERS = {
    TurnAction.CHECK_BUDGET: (TurnInput.WITHIN_BUDGET, TurnInput.OVER_BUDGET),
    TurnAction.ASK_BUDGET: (TurnInput.GRANTED, TurnInput.DENIED),
}
ENDS = {TurnAction.SHOW_END, TurnAction.END, TurnAction.ABANDON}
# The timers by which a state is left without the agent and without the caller.
LEFT_BY = {
    TurnTimer.TURN: TurnInput.TIMED_OUT,
    TurnTimer.WATCH: TurnInput.TIMED_OUT,
    TurnTimer.GRACE: TurnInput.GRACE_OVER,
    TurnTimer.SETTLE: TurnInput.SETTLE_OVER,
    TurnTimer.IDLE: TurnInput.IDLE_OVER,
    TurnTimer.BUDGET: TurnInput.LIMIT_REACHED,
}
walks = st.lists(st.sampled_from(TurnInput), max_size=40)


def follow(inputs):
    """(state before, input, actions, state after) of each step."""
    machine = TurnMachine()
    for happened in inputs:
        before = machine.state
        actions = machine.feed(happened)
        assert machine.is_stale == (machine.state in STALE)
        yield before, happened, actions, machine.state


@given(walks)
def test_a_turn_ends_exactly_once_before_the_next_one_begins(inputs):
    open_turns = 0
    for before, happened, actions, after in follow(inputs):
        if happened is TurnInput.SENT and after is not before:
            open_turns += 1
        ends = [action for action in actions if action in ENDS]
        assert len(ends) <= 1
        if ends and before in WITH_TURN:
            open_turns -= 1
        assert open_turns == (after in WITH_TURN), (before, happened)


@given(walks)
def test_a_message_goes_only_to_an_agent_that_rests(inputs):
    works = False
    for before, _, actions, after in follow(inputs):
        if TurnAction.BEGIN in actions:
            assert not works
        works = after in {TurnState.RUNNING, TurnState.PAUSED, TurnState.CANCELLING, *STALE}
        if works and before not in {TurnState.RUNNING, TurnState.PAUSED, TurnState.CANCELLING, *STALE}:
            assert TurnAction.BEGIN in actions


@given(walks)
def test_reading_that_was_paused_is_resumed_when_the_pause_is_left(inputs):
    for before, happened, actions, after in follow(inputs):
        assert (TurnAction.PAUSE in actions) == (before is not TurnState.PAUSED and after is TurnState.PAUSED)
        if before is TurnState.PAUSED and after not in {TurnState.PAUSED, TurnState.CLOSED}:
            gone = happened in {TurnInput.EXITED, TurnInput.TURN_EXITED}  # there is nothing left to read
            assert gone or TurnAction.RESUME in actions


@given(walks)
def test_nothing_happens_to_a_session_that_is_over(inputs):
    machine = TurnMachine()
    machine.feed(TurnInput.CLOSED)

    assert [machine.feed(happened) for happened in inputs] == [()] * len(inputs)
    assert machine.is_closed
    assert not machine.has_turn


@given(walks)
def test_an_agent_that_raised_an_alarm_or_broke_its_protocol_is_ended(inputs):
    for before, happened, actions, _ in follow(inputs):
        if happened in {TurnInput.ALARMED, TurnInput.BROKEN} and before is not TurnState.CLOSED:
            assert TurnAction.KILL in actions


@pytest.mark.parametrize("state", [state for state in TurnState if state in WITH_TURN - {TurnState.WAITING}])
def test_a_state_with_a_turn_has_a_timer_that_leads_out_of_it_or_ends_the_agent(state):
    ways = [LEFT_BY[timer] for timer in TIMERS[state]]
    rows = [TABLE[state, way] for way in ways if (state, way) in TABLE]

    assert any(after is not state or TurnAction.KILL in actions for after, actions in rows)


@pytest.mark.parametrize("state", [state for state in TurnState if state in WITH_TURN])
def test_a_cancel_leads_out_of_every_state_with_a_turn(state):
    happened = TurnInput.GRACE_OVER if state is TurnState.CANCELLING else TurnInput.CANCELLED
    after, _ = TABLE[state, happened]

    assert after not in WITH_TURN or after is TurnState.CANCELLING


def test_every_timer_of_a_state_has_a_row_in_it_and_every_state_its_timers():
    assert set(TIMERS) == set(TurnState)
    for state, timers in TIMERS.items():
        for timer in timers:
            assert (state, LEFT_BY[timer]) in TABLE, (state, timer)


def test_a_question_of_the_host_can_be_answered_in_the_state_in_which_it_is_asked():
    for after, actions in TABLE.values():
        for action in actions:
            for answer in ANSWERS.get(action, ()):
                assert (after, answer) in TABLE, (after, answer)


def test_every_state_input_and_action_is_used():
    assert {state for state, _ in TABLE} | {after for after, _ in TABLE.values()} == set(TurnState)
    assert {happened for _, happened in TABLE} == set(TurnInput)
    assert {action for _, actions in TABLE.values() for action in actions} == set(TurnAction)


def test_no_answer_goes_to_an_agent_after_a_cancel():
    machine = TurnMachine()
    seen = []
    for happened in (
        TurnInput.OPENED,
        TurnInput.SENT,
        TurnInput.WITHIN_BUDGET,
        TurnInput.CANCELLED,
        TurnInput.GRACE_OVER,
        TurnInput.SENT,
    ):
        machine.feed(happened)
        seen.append((machine.state, machine.may_answer))

    assert [state for state, may in seen if not may] == [
        TurnState.CANCELLING,
        TurnState.SETTLING,
        TurnState.QUEUED,
    ]
    assert TurnState.CLOSED in UNANSWERED
    assert all(first != second for first, second in pairwise(state for state, _ in seen))
