"""Programs that print an answer."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.arm import Message
from operable.host.arms.print import ARM
from operable.kernel.errors import Fail
from operable.wire.events import COMPLETED, ERROR, AgentError, TurnEnd
from tests.host.arms.driving import Agent, of_type, opened, survives, text_of


def talking():
    connection = opened(ARM)
    connection.send(Message("hello"))
    return connection


@pytest.mark.parametrize(
    "quirks, arguments, stdin",
    [
        ({}, (), b"-hi"),
        ({"turn_args": ["--quiet"]}, ("--quiet",), b"-hi"),
        ({"prompt": "argument"}, (" -hi",), None),
        ({"prompt": "argument", "turn_args": ["-p", "{prompt}", "--quiet"]}, ("-p", " -hi", "--quiet"), None),
        ({"turn_args": ["--prompt={prompt}"]}, ("--prompt=-hi",), None),
    ],
)
def test_the_manifest_says_how_the_message_is_passed(quirks, arguments, stdin):
    command = ARM.turn_command(Message("-hi"), None, quirks)

    assert (command.arguments, command.stdin) == (arguments, stdin)


def test_a_turn_is_continued_where_the_manifest_says_how():
    quirks = {"resume_args": ["--resume", "{resume}"]}

    assert ARM.turn_command(Message("x"), "id-1", quirks).arguments == ("--resume", "id-1")
    assert ARM.turn_command(Message("x"), None, quirks).arguments == ()


@pytest.mark.parametrize(
    "resume, quirks, code",
    [
        ("id-1", {}, "RESUME_UNSUPPORTED"),
        ("-x", {"resume_args": ["{resume}"]}, "BAD_SESSION_ID"),
        (None, {"turn_args": "-p"}, "BAD_QUIRK"),
    ],
)
def test_what_cannot_be_done_is_refused(resume, quirks, code):
    with pytest.raises(Fail) as caught:
        ARM.turn_command(Message("x"), resume, quirks)

    assert caught.value.code == code


def test_lines_are_the_text_without_the_last_line_end():
    connection = talking()
    happened = [event for line in (b"a", b"", b"b") for event in connection.receive(line)]

    assert text_of(happened) == "a\n\nb"
    assert connection.eof(0) == [TurnEnd("s1", COMPLETED)]


def test_colours_bells_and_bad_bytes_do_not_reach_the_text():
    happened = talking().receive(b"\x1b[1;31mred\x1b[0m\x07 \x1b]0;title\x07ok\r\xff\ttab")

    assert text_of(happened) == "red ok\ufffd\ttab"


def test_a_bad_status_is_an_error():
    happened = talking().eof(2)

    assert "status 2" in of_type(happened, AgentError)[0].error.message
    assert happened[-1] == TurnEnd("s1", ERROR)


@given(st.lists(st.binary(max_size=30), max_size=20), st.booleans())
def test_no_output_breaks_the_promises(lines, cancels):
    survives(talking(), lines, cancels=cancels)


def test_a_real_program_answers():
    connection = talking()
    agent = Agent(connection, [sys.executable, "-c", "print('one'); print('twö')"])
    happened = agent.until(lambda event: isinstance(event, TurnEnd))
    agent.close()

    assert text_of(happened) == "one\ntwö"
    assert happened[-1] == TurnEnd("s1", COMPLETED)
