"""When a tool waits for its reader: told by the kernel, or by time."""

import os
from pathlib import Path

import pytest

from operable.lint.evidence import Invocation, Observation
from operable.lint.lab.lab import Laboratory
from operable.lint.lab.output import FLOOD, GIVE_UP, KEPT, QUIET, Patience, Recording, SilentTerminal
from operable.lint.lab.probe import LabProbe
from operable.lint.lab.processes import Waiting
from operable.lint.profile import Profile
from operable.proc.reactor import SelectorReactor
from operable.proc.sandbox.confinement import sandbox


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


def test_a_tool_that_is_seen_writing_twice_in_a_row_waits():
    patience = Patience(0.0, 10.0)

    assert not patience.waits(10, Waiting(writing=True), 0.01)
    assert patience.waits(10, Waiting(writing=True), 0.02)


def test_a_tool_that_is_idle_for_long_enough_waits():
    patience = Patience(0.0, 10.0)

    assert not patience.waits(10, Waiting(idle=True), 1.0)
    assert not patience.waits(10, Waiting(idle=True), 1.0 + QUIET / 2)
    assert patience.waits(10, Waiting(idle=True), 1.0 + QUIET)


def test_work_and_output_begin_the_wait_anew():
    patience = Patience(0.0, 10.0)

    patience.waits(10, Waiting(idle=True), 1.0)
    assert not patience.waits(20, Waiting(idle=True), 1.0 + QUIET)
    assert not patience.waits(20, Waiting(idle=False), 1.0 + 2 * QUIET)
    assert not patience.waits(20, Waiting(idle=True), 1.0 + 2.5 * QUIET)


def test_patience_lasts_for_most_of_the_time_that_the_tool_has_and_not_longer():
    patience = Patience(1.0, 60.0)

    assert not patience.over(1.0)
    assert not patience.over(1.0 + 59.0 * GIVE_UP)
    assert patience.over(1.0 + 60.0 * GIVE_UP)


def observe(tmp_path: Path, script: str, **options) -> Observation:
    program = tmp_path / "tool"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    with Laboratory(LabProbe(str(program), "tool", sandbox("bubblewrap")), Profile()) as lab:
        return lab.observe(Invocation((), room=8, **options))


@pytest.mark.needs("bwrap")
def test_a_fast_tool_is_caught_by_a_signal_after_its_first_line(tmp_path: Path):
    seen = observe(tmp_path, "trap 'echo stopped; exit 143' TERM; echo first; echo second", signal="SIGTERM")

    assert (seen.stalled, seen.status) == (len("first\n"), 143)
    assert seen.stdout.startswith(b"first\n")
    assert seen.stdout.endswith(b"stopped\n")


@pytest.mark.needs("bwrap")
def test_a_fast_tool_is_caught_by_the_end_of_its_reader(tmp_path: Path):
    seen = observe(tmp_path, "trap '' PIPE; echo first; echo second || exit 141", reader="leaves")

    assert (seen.stalled, seen.status) == (len("first\n"), 141)


@pytest.mark.needs("bwrap")
def test_a_tool_that_does_not_fill_the_pipe_is_not_caught(tmp_path: Path):
    seen = observe(tmp_path, "echo first", signal="SIGTERM")

    assert (seen.stalled, seen.signalled, seen.status, seen.stdout) == (None, None, 0, b"first\n")


@pytest.mark.needs("bwrap")
def test_how_much_it_was_about_to_write_is_seen(tmp_path: Path):
    seen = observe(tmp_path, "echo a-line-that-does-not-fit", signal="SIGTERM")

    assert (seen.stalled, seen.pending) == (0, len("a-line-that-does-not-fit\n"))
