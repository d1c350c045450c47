import fcntl
import os
import struct
import termios
import threading

import pytest

from operable.proc.spawn import prepare
from operable.proc.terminal import Terminal, converse
from tests.proc.drive import python


@pytest.fixture
def person():
    """The two ends of a person's terminal: what they see and type, and what we are given."""
    master, slave = os.openpty()
    yield master, Terminal(slave, slave)
    os.close(master)
    os.close(slave)


def seen(master):
    os.set_blocking(master, False)
    pieces = []
    while True:
        try:
            pieces.append(os.read(master, 65536))
        except BlockingIOError:
            return b"".join(pieces).decode()


def test_the_program_has_a_terminal_of_its_own_that_it_controls(person):
    master, terminal = person
    code = "import os; print(all(map(os.isatty, (0, 1, 2))), os.tcgetpgrp(0) == os.getpgrp()); open('/dev/tty', 'w').write('hello')"
    end = converse(prepare(python(code)), terminal, timeout=200)
    assert (end.status, end.cause) == (0, None)
    assert "True True" in seen(master)


def test_what_the_person_types_reaches_the_program(person):
    master, terminal = person
    os.write(master, b"blue\r")
    end = converse(prepare(python("print('you said', input('colour? '))")), terminal, timeout=200)
    assert end.status == 0
    assert "you said blue" in seen(master)


def test_interrupting_is_typing(person):
    master, terminal = person
    answered = threading.Event()

    def interrupt():
        os.read(master, 100)
        os.write(master, b"\x03")
        answered.set()

    threading.Thread(target=interrupt, daemon=True).start()
    end = converse(prepare(["/bin/sh", "-c", "echo ready; exec sleep 600"]), terminal, timeout=200)
    assert answered.wait(200)
    assert (end.status, end.cause) == (-2, None)


def test_the_size_of_the_window_is_the_persons(person):
    master, terminal = person
    fcntl.ioctl(terminal.output, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    converse(prepare(python("import os; print(os.get_terminal_size())")), terminal, timeout=200)
    assert "columns=111, lines=33" in seen(master)


def test_the_persons_terminal_is_as_before_afterwards(person):
    _, terminal = person
    before = termios.tcgetattr(terminal.input)
    converse(prepare(["/bin/true"]), terminal, timeout=200)
    assert termios.tcgetattr(terminal.input) == before


def test_everything_that_was_drawn_is_seen(person):
    master, terminal = person
    collected = bytearray()

    def look():
        while not collected.endswith(b"END"):
            collected.extend(os.read(master, 65536))

    reader = threading.Thread(target=look, daemon=True)
    reader.start()
    converse(prepare(python("print('x' * 300_000 + 'END', end='')")), terminal, timeout=200)
    reader.join(20)
    assert len(collected) == 300_003


def test_a_person_who_looks_at_nothing_does_not_hold_the_deadline(person):
    _, terminal = person
    end = converse(prepare(python("while True: print('x' * 1000)")), terminal, timeout=0.3)
    assert end.cause == "deadline"


def test_it_can_be_stopped_from_elsewhere(person):
    _, terminal = person
    stop = threading.Event()
    stop.set()
    assert converse(prepare(["/bin/sleep", "600"]), terminal, timeout=200, stop=stop).cause == "stopped"


def test_somebody_else_may_type_once(person):
    master, terminal = person
    answers = iter([None, None, b"pasted\r"])
    code = "print('got', input())"
    end = converse(prepare(python(code)), terminal, timeout=200, feed=lambda: next(answers))
    assert end.status == 0
    assert "got pasted" in seen(master)


@pytest.mark.parametrize("kind", ["pipe", "null", "file"])
def test_an_input_that_is_no_terminal_ends_the_input(person, kind, tmp_path):
    _, terminal = person
    if kind == "pipe":
        reading, writing = os.pipe()
        os.close(writing)
    else:
        (tmp_path / "empty").touch()
        reading = os.open(os.devnull if kind == "null" else tmp_path / "empty", os.O_RDONLY)
    try:
        end = converse(prepare(["/bin/cat"]), Terminal(reading, terminal.output), timeout=200)
    finally:
        os.close(reading)
    assert (end.status, end.cause) == (0, None)


def test_the_output_may_be_a_file(tmp_path):
    with open(tmp_path / "out", "wb") as out, open(os.devnull, "rb") as none:
        converse(prepare(["/bin/echo", "drawn"]), Terminal(none.fileno(), out.fileno()), timeout=200)
    assert (tmp_path / "out").read_bytes() == b"drawn\r\n"


def test_no_descriptor_is_left(person):
    _, terminal = person
    converse(prepare(["/bin/true"]), terminal, timeout=200)
    before = len(os.listdir("/proc/self/fd"))
    converse(prepare(["/bin/true"]), terminal, timeout=200)
    assert len(os.listdir("/proc/self/fd")) == before
