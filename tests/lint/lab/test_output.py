import os

from operable.lint.lab.output import FLOOD, KEPT, Recording, SilentTerminal
from operable.proc.reactor import SelectorReactor


def test_what_we_filled_in_ourselves_is_not_the_tools():
    recording = Recording()
    recording.filled = 5

    assert recording.take(b"xxx", 0.1) == b""
    assert recording.take(b"xxone", 0.2) == b"one"
    assert recording.take(b"two", 0.3) == b"two"

    assert recording.stdout() == b"onetwo"
    assert recording.first == 0.2
    assert recording.arrivals == [(0.2, 3), (0.3, 6)]


def test_a_flood_is_noticed_and_little_of_it_kept():
    recording = Recording()
    piece = b"x" * (FLOOD // 4)

    told = []
    for _ in range(6):
        recording.take(piece, 0.0)
        told.append(recording.floods)

    assert told == [False] * 4 + [True] * 2
    assert len(recording.stdout()) == KEPT


def test_what_is_said_on_a_terminal_is_kept_until_nobody_holds_it():
    reactor = SelectorReactor()
    terminal = SilentTerminal(reactor)
    try:
        os.write(terminal.theirs, b"name? ")
        reactor.run(lambda: bool(terminal.output))
        terminal.handed_over()
        over: list[bool] = []
        reactor.call_later(0.0, lambda: over.append(True))
        reactor.run(lambda: bool(over))
    finally:
        terminal.close()
        reactor.close()

    assert bytes(terminal.output) == b"name? "
