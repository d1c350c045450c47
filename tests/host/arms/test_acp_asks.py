"""The ACP arm and questions: permission, cancel, what the host serves, input."""

import pytest

from operable.host.arm import (
    Answer,
    CallWithdrawn,
    ClientCall,
)
from operable.kernel.errors import Fail
from operable.wire.events import (
    AgentError,
    AgentPrompt,
    Notice,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from tests.host.arms.acp_talk import CALL, FORM, OPTIONS, Talk, talking
from tests.host.arms.driving import of_type
from tests.requirement import requirement

# --- questions -----------------------------------------------------------------------------------------------------------


@requirement("aip45:events:agent-prompt")
def test_a_question_comes_after_the_call_that_it_is_about():
    call, ask = talking().ask(CALL, request_id="uuid")

    assert call == ToolCall("s1", "t1", "rm x", {"command": "rm x"}, "execute", "rm x", unnamed=True)
    assert (ask.tool_name, ask.arguments, ask.kind, ask.call_id) == (
        "rm x",
        {"command": "rm x"},
        "execute",
        "t1",
    )
    assert [(option.id, option.name, option.kind) for option in ask.options] == [
        ("always", "Always", "allow_always"),
        ("once", "Yes", "allow_once"),
        ("no", "No", "reject_once"),
    ]


def _answered(answer, options=OPTIONS, request_id=0):
    talk = talking()
    ask = talk.ask(CALL, request_id, options)[-1]
    notices = talk.connection.answer(ask.tool_call_id, answer)
    return talk, talk.one(), notices


@pytest.mark.parametrize("request_id", [0, "uuid", None])
def test_yes_is_the_option_that_says_once(request_id):
    _, message, notices = _answered(Answer(True), request_id=request_id)

    assert message["id"] == request_id
    assert message["result"] == {"outcome": {"outcome": "selected", "optionId": "once"}}
    assert notices == []


def test_no_is_a_real_denial_and_says_why():
    talk, message, _ = _answered(Answer(False, reason="not in this repository"))

    assert message["result"] == {
        "outcome": {"outcome": "selected", "optionId": "no"},
        "_meta": {"reason": "not in this repository"},
    }
    (result,) = talk.update("tool_call_update", toolCallId="t1", status="failed")
    assert (result.is_error, result.denied) == (True, True)
    talk.say("I will not do it then.")
    assert talk.stop() == [TurnEnd("s1", "completed")]


def test_a_denied_call_that_the_agent_says_nothing_more_about_is_closed_as_denied():
    talk, _, _ = _answered(Answer(False))

    result, _ = talk.stop()

    assert (result.result, result.is_error, result.denied) == ("The call was denied.", True, True)


def test_a_call_that_ran_although_it_was_denied_is_not_hidden():
    talk, _, _ = _answered(Answer(False))

    (result,) = talk.update("tool_call_update", toolCallId="t1", status="completed", rawOutput="ran")

    assert (result.is_error, result.denied) == (False, False)


def test_an_option_is_sent_when_it_is_named():
    _, message, _ = _answered(Answer(True, option_id="always"))

    assert message["result"]["outcome"]["optionId"] == "always"


@pytest.mark.parametrize(
    "answer, code",
    [
        (Answer(True, option_id="nope"), "UNKNOWN_OPTION"),
        (Answer(False, option_id="once"), "OPTION_CONTRADICTS"),
        (Answer(True, option_id="no"), "OPTION_CONTRADICTS"),
    ],
)
def test_an_option_that_was_not_offered_or_says_the_opposite_is_never_sent(answer, code):
    talk = talking()
    ask = talk.ask(CALL)[-1]

    with pytest.raises(Fail) as raised:
        talk.connection.answer(ask.tool_call_id, answer)

    assert raised.value.code == code
    assert talk.written() == []
    talk.connection.answer(ask.tool_call_id, Answer(False))
    assert talk.one()["result"]["outcome"]["optionId"] == "no"


@pytest.mark.parametrize(
    "options, chosen",
    [
        ([OPTIONS[0], OPTIONS[2]], "no"),  # only one that lasts
        ([{"optionId": "x", "name": "Sure", "kind": "teleport"}, OPTIONS[2]], "no"),  # an unknown kind
        (
            [
                {"optionId": "risk_based", "name": "Trust the agent", "kind": "allow_once"},
                {"optionId": "accept", "name": "Accept", "kind": "allow_once"},
                OPTIONS[2],
            ],
            "accept",
        ),  # openhands
        (
            [{"optionId": "a", "kind": "allow_once"}, {"optionId": "b", "kind": "allow_once"}, OPTIONS[2]],
            "no",
        ),
    ],
)
def test_what_is_not_plainly_one_time_is_never_picked(options, chosen):
    _, message, notices = _answered(Answer(True), options)

    assert message["result"]["outcome"]["optionId"] == chosen
    assert bool(notices) == (chosen == "no")


def test_where_the_agent_offers_no_way_to_say_no_it_is_told_cancelled():
    talk, message, notices = _answered(Answer(False), [OPTIONS[1]])

    assert message["result"] == {"outcome": {"outcome": "cancelled"}}
    assert [notice.code for notice in notices] == ["no_reject_option"]
    assert talk.stop()[0].denied


def test_a_question_without_options_can_be_denied_only():
    _, message, _ = _answered(Answer(True), "nonsense")

    assert message["result"] == {"outcome": {"outcome": "cancelled"}}


def test_a_question_is_answered_once():
    talk, _, _ = _answered(Answer(True))

    (notice,) = talk.connection.answer("ask-1", Answer(True))

    assert notice.code == "stale_answer"
    assert talk.written() == []


def test_a_question_under_an_id_of_its_own_is_about_the_open_call():
    talk = talking()
    talk.update("tool_call", toolCallId="tc-1", title="terminal: rm x", kind="execute")

    call, ask = talk.ask({**CALL, "toolCallId": "perm-check-1", "title": "Dangerous: rm x"})
    result = talk.update("tool_call_update", toolCallId="tc-1", status="completed")

    assert (call.tool_call_id, call.arguments) == ("tc-1", {"command": "rm x"})
    assert (ask.call_id, ask.text) == ("tc-1", "Dangerous: rm x")
    assert result == [ToolResult("s1", "tc-1")]


def test_a_question_is_the_first_word_about_a_call_where_it_has_no_other():
    talk = talking()
    talk.update("tool_call", toolCallId="t0", title="echo one", kind="execute", status="in_progress")
    gemini = {
        "toolCallId": "run__1",
        "title": "rm x",
        "kind": "execute",
        "content": [{"type": "content", "content": {"type": "text", "text": "[in /work]"}}],
    }

    call, ask = talk.ask(gemini)

    assert (call.tool_call_id, ask.call_id) == ("run__1", "run__1")
    assert call.arguments == {"title": "rm x", "text": "[in /work]"}


def test_a_malformed_question_is_refused_and_the_turn_goes_on():
    talk = talking()

    (notice,) = talk.call("session/request_permission", {"sessionId": "agent-1", "options": OPTIONS})

    assert notice.code == "malformed_request"
    assert talk.one()["error"]["code"] == -32602
    assert talk.stop() == [TurnEnd("s1", "completed")]


# --- cancel --------------------------------------------------------------------------------------------------------------


def test_open_questions_are_cancelled_before_the_turn_is():
    talk = talking()
    ask = talk.ask(CALL)[-1]

    assert talk.connection.cancel() == [CallWithdrawn(ask.tool_call_id)]
    answer, cancel = talk.written()

    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    assert cancel == {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "agent-1"}}


def test_no_approval_follows_a_cancel():
    talk = talking()
    ask = talk.ask(CALL)[-1]
    talk.connection.cancel()
    talk.written()

    talk.connection.answer(ask.tool_call_id, Answer(True))
    assert talk.written() == []
    happened = talk.ask({**CALL, "toolCallId": "t2"}, request_id=1)

    assert not of_type(happened, AgentPrompt)
    assert talk.one()["result"] == {"outcome": {"outcome": "cancelled"}}


def test_nothing_is_cancelled_while_nothing_runs():
    talk = Talk()
    talk.ready()

    assert talk.connection.cancel() == []
    assert talk.written() == []


def test_a_turn_is_cancelled_once():
    talk = talking()
    talk.connection.cancel()
    talk.written()

    assert talk.connection.cancel() == []
    assert talk.written() == []


def test_a_cancelled_turn_ends_as_cancelled_whatever_the_agent_calls_it():
    talk = talking()
    talk.connection.cancel()

    assert talk.stop("end_turn") == [TurnEnd("s1", "cancelled", "end_turn")]


def test_a_cancelled_turn_may_end_as_a_cancelled_request():
    talk = talking()
    talk.connection.cancel()

    assert talk.fail(-32800, "Request cancelled") == [TurnEnd("s1", "cancelled", "-32800")]


def test_a_turn_that_breaks_while_it_is_cancelled_says_so():
    talk = talking()
    talk.connection.cancel()

    error, end = talk.fail(-32603, "'NoneType' object has no attribute 'startswith'")  # hermes

    assert (type(error), end) == (AgentError, TurnEnd("s1", "error"))


def test_a_question_that_the_agent_takes_back_is_withdrawn():
    talk = talking()
    ask = talk.ask(CALL, request_id=7)[-1]

    assert talk.notify("$/cancel_request", {"requestId": 7}) == [CallWithdrawn(ask.tool_call_id)]
    assert talk.one()["result"] == {"outcome": {"outcome": "cancelled"}}
    assert talk.notify("$/cancel_request", {"requestId": 7}) == []
    assert talk.notify("$/cancel_request", {}) == []


def test_questions_are_over_with_their_turn():
    talk = talking()
    ask = talk.ask(CALL)[-1]

    happened = talk.stop()
    talk.connection.answer(ask.tool_call_id, Answer(True))

    assert happened[0] == CallWithdrawn(ask.tool_call_id)
    assert talk.one()["result"] == {"outcome": {"outcome": "cancelled"}}


def test_a_question_outside_of_a_turn_is_told_cancelled():
    talk = Talk()
    talk.ready()

    (notice,) = talk.ask(CALL)

    assert notice.code == "late_ask"
    assert talk.one()["result"] == {"outcome": {"outcome": "cancelled"}}


# --- what the host serves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method, grant",
    [
        ("fs/read_text_file", "fs_read"),
        ("fs/write_text_file", "fs_write"),
        ("terminal/create", "terminal"),
        ("terminal/output", "terminal"),
        ("terminal/wait_for_exit", "terminal"),
        ("terminal/kill", "terminal"),
        ("terminal/release", "terminal"),
    ],
)
def test_files_and_terminals_are_served_only_when_granted(method, grant):
    refused, granted = talking(), talking(**{grant: True})
    params = {"sessionId": "agent-1", "path": "/work/a"}

    assert refused.call(method, params) == []
    assert refused.one()["error"]["code"] == -32601
    assert granted.call(method, params, request_id="u") == [ClientCall("call-1", method, params)]
    granted.connection.reply("call-1", {"content": "x"})
    assert granted.one() == {"jsonrpc": "2.0", "id": "u", "result": {"content": "x"}}


def test_what_the_host_could_not_do_is_told_as_an_error():
    talk = talking(fs_write=True)
    talk.call("fs/write_text_file", {"sessionId": "agent-1", "path": "/etc/passwd"})
    talk.connection.reply(
        "call-1", error={"code": -32602, "message": "outside", "data": {"path": "/etc/passwd"}}
    )

    assert talk.one()["error"] == {"code": -32602, "message": "outside", "data": {"path": "/etc/passwd"}}
    talk.connection.reply("call-1", {})
    talk.connection.reply("never", {})
    assert talk.written() == []


def test_an_empty_result_is_an_empty_object():
    talk = talking(fs_write=True)
    talk.call("fs/write_text_file", {"sessionId": "agent-1", "path": "a"})
    talk.connection.reply("call-1")

    assert talk.one()["result"] == {}


def test_a_call_that_the_agent_takes_back_is_withdrawn_and_not_answered_twice():
    talk = talking(terminal=True)
    talk.call("terminal/wait_for_exit", {"sessionId": "agent-1", "terminalId": "1"}, request_id="g")

    assert talk.notify("$/cancel_request", {"requestId": "g"}) == [CallWithdrawn("call-1")]
    assert talk.one()["error"]["code"] == -32800
    talk.connection.reply("call-1", {"exitCode": 0})
    assert talk.written() == []


@pytest.mark.parametrize(
    "method", ["_vendor/thing", "craft/drainMidTurnQueue", "session/prompt", "elicitation/create"]
)
def test_methods_that_nobody_has_are_refused_politely(method):
    talk = talking()

    assert talk.call(method, {}) == []
    assert talk.one()["error"]["code"] == -32601


@pytest.mark.parametrize(
    "method", ["_auth/status_update", "qwen/notify/session/mode-update", "_session/retrying"]
)
def test_notifications_that_nobody_has_are_noticed(method):
    assert talking().notify(method, {"x": 1}) == [Notice("extension", method, "s1")]


def test_an_agent_that_asks_without_end_is_refused():
    talk = talking(terminal=True)
    for number in range(1024):
        talk.call("terminal/wait_for_exit", {"sessionId": "agent-1", "terminalId": "1"}, request_id=number)

    (notice,) = talk.call(
        "terminal/wait_for_exit", {"sessionId": "agent-1", "terminalId": "1"}, request_id=5000
    )

    assert notice.code == "too_many_requests"
    assert [message["id"] for message in talk.written()] == [5000]


def test_parameters_without_names_are_refused():
    talk = talking(fs_read=True)

    talk.call("fs/read_text_file", ["/etc/passwd"])

    assert talk.one()["error"]["code"] == -32602


# --- input ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer, result",
    [
        (Answer(True, content={"branch": "main"}), {"action": "accept", "content": {"branch": "main"}}),
        (Answer(True, content="main"), {"action": "accept", "content": {"branch": "main"}}),
        (Answer(True), {"action": "accept", "content": {}}),
        (Answer(False), {"action": "decline"}),
        (Answer(False, cancelled=True), {"action": "cancel"}),
    ],
)
def test_a_form_is_asked_with_its_schema(answer, result):
    talk = talking(elicitation=True)
    params = {"mode": "form", "sessionId": "agent-1", "message": "Which branch?", "requestedSchema": FORM}

    (ask,) = talk.call("elicitation/create", params)
    talk.connection.answer(ask.tool_call_id, answer)

    assert (ask.text, ask.schema, ask.url) == ("Which branch?", FORM, None)
    assert talk.one()["result"] == result


def test_an_address_is_asked_with_its_url():
    talk = talking(elicitation=True)
    params = {
        "mode": "url",
        "sessionId": "agent-1",
        "message": "Log in",
        "url": "https://x.example",
        "elicitationId": "e",
    }

    (ask,) = talk.call("elicitation/create", params)
    talk.connection.answer(ask.tool_call_id, Answer(True))

    assert (ask.text, ask.schema, ask.url) == ("Log in", None, "https://x.example")
    assert talk.one()["result"] == {"action": "accept"}
    (notice,) = talk.notify("elicitation/complete", {"elicitationId": "e"})
    assert notice.code == "input_complete"


def test_input_may_be_asked_for_while_the_session_opens_and_is_cancelled_with_the_turn():
    talk = Talk(elicitation=True)
    talk.initialized()
    assert of_type(talk.call("elicitation/create", {"message": "code?", "requestId": 1}), AgentPrompt)

    running = talking(elicitation=True)
    (ask,) = running.call("elicitation/create", {"message": "?"})
    assert running.connection.cancel() == [CallWithdrawn(ask.tool_call_id)]
    assert running.written()[0]["result"] == {"action": "cancel"}
