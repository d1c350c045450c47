"""Agents that are started for every turn: what holds for all of them."""

import pytest

from operable.host.arm import Answer, Message, Noise, Opening
from operable.host.conversation import Conversation
from operable.host.one_shot import OneShot, argument, refuse_images
from operable.kernel.errors import Fail
from operable.wire.events import CANCELLED, ERROR, AgentError, TextDelta, TurnEnd


class Mute:
    """A reading that never says how the turn went."""

    def __init__(self, books: Conversation) -> None:
        self._books = books

    def line(self, line):
        return self._books.text(line.decode())

    def end(self, exit_status):
        return []


def opened() -> OneShot:
    connection = OneShot(lambda books, _: Mute(books))
    connection.open(Opening("/work", "s1"))
    return connection


def test_a_turn_has_an_end_whatever_its_reading_says():
    connection = opened()
    for _ in range(2):
        connection.send(Message("hello"))
        assert connection.receive(b"hi") == [TextDelta("s1", "hi")]
        error, end = connection.eof(3)
        assert isinstance(error, AgentError)
        assert end == TurnEnd("s1", ERROR)
    assert connection.eof(0) == []


def test_a_cancelled_turn_is_cancelled_however_its_process_ended():
    connection = opened()
    connection.send(Message("hello"))
    connection.cancel()

    assert connection.eof(-15) == [TurnEnd("s1", CANCELLED)]
    connection.cancel()
    connection.send(Message("again"))
    assert connection.eof(1)[-1] == TurnEnd("s1", ERROR)


def test_outside_of_a_turn_lines_are_noise_and_nothing_is_ever_written():
    connection = opened()

    assert isinstance(connection.receive(b"hi")[0], Noise)
    assert connection.answer("q1", Answer(allowed=True)) == []
    assert connection.select(mode="plan") is False
    connection.reply("c1")
    connection.close()
    assert connection.outgoing() == b""


@pytest.mark.parametrize("text, code", [("a\0b", "PROMPT_HAS_NUL"), ("x" * 131_072, "PROMPT_TOO_LONG")])
def test_a_message_that_no_command_line_can_hold_is_refused(text, code):
    with pytest.raises(Fail) as caught:
        argument(text)

    assert caught.value.code == code


def test_a_message_is_never_taken_for_an_option():
    assert argument("--help") == " --help"
    assert argument("help") == "help"


def test_images_are_refused_and_not_dropped():
    refuse_images(Message("x"), "It")
    with pytest.raises(Fail, match="no images"):
        refuse_images(Message("x", images=[("image/png", "eA==")]), "It")
