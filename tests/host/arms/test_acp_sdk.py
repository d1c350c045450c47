"""The ACP arm with a real process at the other end, written on the official SDK."""

import sys
from pathlib import Path

import pytest

from operable.host.arm import Answer, ClientCall, Message, Opened
from operable.host.arms.acp import ARM
from operable.wire.events import AgentError, ModeChange, Notice, TextDelta, ToolCall, ToolResult, TurnEnd
from tests.host.arms.driving import Agent, check_order, of_type, opened, text_of
from tests.requirement import requirement

COMMAND = [sys.executable, str(Path(__file__).with_name("sdk_agent.py"))]


@pytest.fixture
def started():
    agents = []

    def start(**options):
        agent = Agent(opened(ARM, **options), COMMAND)
        agents.append(agent)
        agent.until(lambda event: isinstance(event, Opened))
        return agent

    yield start
    for agent in agents:
        agent.close()


def test_text_is_streamed_turn_after_turn(started):
    agent = started()

    first, second = agent.turn("hello"), agent.turn("again")

    assert (text_of(first), text_of(second)) == ("hello", "again")
    assert len(of_type(first, TextDelta)) == 5
    assert first[-1] == TurnEnd("s1", "completed")


@requirement("aip45:conformance:acp-server")
@pytest.mark.parametrize("allowed, status", [(True, "yes"), (False, "no")])
def test_a_tool_call_is_allowed_or_denied(started, allowed, status):
    agent = started(mode="plan")

    happened = agent.turn("ask", lambda _: Answer(allowed))

    check_order(happened, turns=1)
    assert of_type(happened, ToolCall)[0].arguments == {"command": "rm x"}
    (result,) = of_type(happened, ToolResult)
    assert (result.result, result.denied) == (status, not allowed)
    assert text_of(happened) == f"{status} in plan"


def test_a_turn_is_cancelled_and_the_session_goes_on(started):
    agent = started()
    agent.connection.send(Message("wait"))
    agent.until(lambda event: isinstance(event, TextDelta))

    agent.connection.cancel()
    happened = agent.until(lambda event: isinstance(event, TurnEnd))

    assert happened[-1] == TurnEnd("s1", "cancelled")
    assert text_of(agent.turn("hello")) == "hello"


def test_a_file_is_read_by_the_host(started):
    agent = started(fs_read=True)
    agent.connection.send(Message("read"))
    (call,) = of_type(agent.until(lambda event: isinstance(event, ClientCall)), ClientCall)

    agent.connection.reply(call.call_id, {"content": "inside"})
    happened = agent.until(lambda event: isinstance(event, TurnEnd))

    assert (call.method, call.params["path"]) == ("fs/read_text_file", "/work/a.txt")
    assert text_of(happened) == "inside"


def test_a_failure_has_a_code_of_ours(started):
    happened = started().turn("fail")

    assert of_type(happened, AgentError)[0].error.code == "auth_required"
    assert happened[-1].reason == "error"


def test_an_earlier_session_is_taken_up_and_its_history_marked(started):
    agent = started(resume="sdk-1")

    replayed = [notice.message for notice in of_type(agent.seen, Notice) if notice.code == "replayed"]
    assert replayed == ["before", "said before"]
    assert text_of(agent.turn("hello")) == "hello"


def test_the_mode_is_changed_between_turns(started):
    agent = started()

    assert agent.connection.select(mode="plan")
    (changed,) = agent.until(lambda event: isinstance(event, ModeChange))

    assert changed.mode == "plan"
