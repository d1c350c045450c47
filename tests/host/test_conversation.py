"""The books of a connection: whatever an arm says in whatever order, the promises about events hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import CallWithdrawn, LateCall
from operable.host.conversation import Conversation
from operable.wire.events import (
    CANCELLED,
    COMPLETED,
    ERROR,
    AgentError,
    AgentPrompt,
    Notice,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
)


def books() -> Conversation:
    made = Conversation()
    made.session_id = "s"
    return made


def running() -> Conversation:
    made = books()
    made.begin()
    return made


def test_a_turn_has_text_thoughts_calls_results_and_one_end():
    turn = running()
    happened = [
        *turn.thought("hm"),
        *turn.text("hello", "m1"),
        *turn.call("t1", "Read", {"path": "a"}, kind="read"),
        *turn.result("t1", "content"),
        *turn.end(COMPLETED),
        *turn.end(COMPLETED),
    ]

    assert happened == [
        Thought("s", "hm"),
        TextDelta("s", "hello", "m1"),
        ToolCall("s", "t1", "Read", {"path": "a"}, "read"),
        ToolResult("s", "t1", "content"),
        TurnEnd("s", COMPLETED),
    ]


def test_what_belongs_to_a_turn_but_comes_outside_is_a_notice():
    idle = books()

    for happened in (idle.text("x"), idle.thought("x")):
        assert [type(event) for event in happened] == [Notice]
    # What is done outside of a turn is given to be judged as well.
    assert idle.call("t", "x")[1:] == [LateCall(ToolCall("s", "t", "x", {}))]
    assert idle.result("t")[1:] == [LateCall(ToolResult("s", "t"))]
    assert [type(event) for event in (idle.call("t", "x")[0], idle.result("t")[0])] == [Notice, Notice]
    assert idle.end(COMPLETED) == []
    assert idle.eof(1) == []


def test_a_result_outside_of_a_turn_that_was_never_announced_announces_itself():
    idle = books()

    assert idle.result("t", "x", name="Bash")[1:] == [
        LateCall(ToolCall("s", "t", "Bash", {})),
        LateCall(ToolResult("s", "t", "x")),
    ]
    assert idle.result("t", "x", name="Bash")[1:] == [LateCall(ToolResult("s", "t", "x"))]


def test_empty_text_is_no_event():
    assert running().text("") == []
    assert running().thought("") == []


def test_a_result_that_nobody_announced_announces_itself():
    assert running().result("t1", "x", name="Bash") == [
        ToolCall("s", "t1", "Bash"),
        ToolResult("s", "t1", "x"),
    ]


def test_a_call_is_told_once_and_its_result_once():
    turn = running()
    turn.call("t1", "Read")

    assert turn.call("t1", "Read") == []
    assert len(turn.result("t1")) == 1
    assert [event.code for event in turn.result("t1") if isinstance(event, Notice)] == ["late_tool_result"]


def test_a_call_without_result_is_closed_when_the_turn_ends_and_its_late_result_is_a_notice():
    turn = running()
    turn.call("t1", "Bash")
    closed = turn.end(COMPLETED)
    turn.begin()

    assert isinstance(closed[0], ToolResult)
    assert closed[0].is_error
    notice, late = turn.result("t1", "late")
    assert isinstance(notice, Notice)
    assert late == LateCall(ToolResult("s", "t1", "late"))


def test_a_kind_that_nobody_knows_is_other():
    assert running().call("t1", "x", kind="teleport") == [ToolCall("s", "t1", "x", kind="other")]


def test_a_denied_call_has_a_denied_result_even_if_the_agent_never_gives_one():
    turn = running()
    turn.call("t1", "Bash")
    (question,) = turn.ask("context", name="Bash", call_id="t1")
    assert isinstance(question, AgentPrompt)

    assert turn.take(question.tool_call_id, denied=True) == "context"
    (result, _) = turn.end(COMPLETED)
    assert isinstance(result, ToolResult)
    assert (result.denied, result.is_error) == (True, True)


def test_ids_of_questions_are_never_used_again():
    turn = running()
    seen = set()
    for _ in range(3):
        (question,) = turn.ask("same context")
        assert isinstance(question, AgentPrompt)
        seen.add(question.tool_call_id)
        turn.take(question.tool_call_id, denied=False)

    assert len(seen) == 3


def test_a_question_is_answered_once():
    turn = running()
    turn.ask("context")
    (question,) = turn.open_questions()

    assert turn.question_about("context".__eq__) == question
    assert turn.take(question, denied=False) == "context"
    assert turn.take(question, denied=False) is None
    assert turn.withdraw(question) == []


def test_a_question_whose_call_got_its_result_is_withdrawn():
    turn = running()
    turn.call("t1", "Bash")
    turn.ask("context", call_id="t1")

    assert turn.result("t1", "x")[0] == CallWithdrawn("q1")
    assert turn.open_questions() == []


def test_the_end_of_a_turn_withdraws_its_questions():
    turn = running()
    turn.ask("context")

    assert turn.end(COMPLETED) == [CallWithdrawn("q1"), TurnEnd("s", COMPLETED)]


def test_an_agent_that_ends_in_a_turn_is_an_error_unless_it_was_cancelled():
    cancelled, failed = running(), running()
    cancelled.cancelling = True

    assert cancelled.eof(0) == [TurnEnd("s", CANCELLED)]
    error, end = failed.eof(3)
    assert isinstance(error, AgentError)
    assert "status 3" in error.error.message
    assert end == TurnEnd("s", ERROR)


def test_two_turns_at_once_are_a_mistake_of_the_host():
    with pytest.raises(RuntimeError):
        running().begin()


IDS = st.sampled_from(["a", "b"])
STEPS = st.one_of(
    st.tuples(st.just("begin")),
    st.tuples(st.just("text")),
    st.tuples(st.just("call"), IDS),
    st.tuples(st.just("result"), IDS),
    st.tuples(st.just("ask"), IDS),
    st.tuples(st.just("answer"), st.booleans()),
    st.tuples(st.just("end")),
    st.tuples(st.just("eof")),
)


@given(st.lists(STEPS, max_size=40))
def test_in_any_order_of_steps_the_order_of_events_holds(steps):
    made = books()
    happened: list[object] = []
    begun = 0
    for verb, *rest in steps:
        match verb:
            case "begin" if not made.running:
                made.begin()
                begun += 1
            case "text":
                happened += made.text("x")
            case "call":
                happened += made.call(rest[0], "x")
            case "result":
                happened += made.result(rest[0])
            case "ask" if made.running:
                happened += made.ask(rest[0], call_id=rest[0])
            case "answer" if made.open_questions():
                made.take(made.open_questions()[0], denied=rest[0])
            case "end":
                happened += made.end(COMPLETED)
            case "eof":
                happened += made.eof(None)
    happened += made.eof(None)

    ends = [event for event in happened if isinstance(event, TurnEnd)]
    assert len(ends) == begun
    open_calls: set[str] = set()
    for event in happened:
        if isinstance(event, ToolCall):
            assert event.tool_call_id not in open_calls
            open_calls.add(event.tool_call_id)
        elif isinstance(event, ToolResult):
            open_calls.remove(event.tool_call_id)
        elif isinstance(event, TurnEnd):
            assert not open_calls
