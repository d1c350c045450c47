"""Run a command on a terminal of its own, joined to a person's: for programs that draw, ask for passwords, or log in.

Theory of operation. A pseudo-terminal is made; /bin/sh, which `spawn.launch` starts as the leader of a new session, opens
its slave by name, so that it becomes the controlling terminal, and executes the command on it (no code of ours runs between
fork and exec). What the person types goes to the master, what the program draws goes to the person; the person's terminal
is raw meanwhile and is restored whatever happens. `Child` supervises as always: a deadline, the ladder, no orphans.

Writing to the person happens in small pieces and only when the terminal takes them: a stopped terminal (Ctrl-S) holds the
program, as it would without us, but not the deadline.
"""

import fcntl
import os
import struct
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from operable.kernel.data_class import dataclass
from operable.proc.child import Child, ChildEnd
from operable.proc.command import PreparedCommand
from operable.proc.pipes import Inlet
from operable.proc.reactor import SelectorReactor

# "$0" is the slave's name. Its first opening by a session leader makes it the controlling terminal.
_SCRIPT = 'exec "$@" <>"$0" >&0 2>&0'
_END_OF_INPUT = b"\x04"
_CHUNK = 4096
# A terminal that says it is writable has room for at least this much (Linux: WAKEUP_CHARS).
_PIECE = 256
# What the person has not seen yet; beyond it the program is no longer read.
_BACKLOG = 64 * 1024
# How often the window's size and the stop are looked at. A resize is seen at once enough, and needs no signal handler.
_LOOK_INTERVAL = 0.1
# How long the last screen may take to reach the person.
_LAST_WORDS = 2.0


# Asked regularly; what it answers is typed for the person, once. None: nothing yet.
Feed = Callable[[], bytes | None]


@dataclass(frozen=True, slots=True)
class Terminal:
    """The person's side: two descriptors, usually 0 and 1; not necessarily terminals."""

    input: int
    output: int


def converse(
    command: PreparedCommand,
    terminal: Terminal,
    *,
    timeout: float,
    stop: threading.Event | None = None,
    feed: Feed | None = None,
) -> ChildEnd:
    """Run to the end. `cause` of the End is "deadline" or "stopped" when it did not end by itself."""
    master, slave = os.openpty()
    try:
        name = os.ttyname(slave)
        argv = ("sh", "-c", _SCRIPT, name, command.executable, *command.argv[1:])
        started = command._replace(argv=argv, executable="/bin/sh")
        with _raw(terminal.input):
            return _Conversation(master, terminal, stop, feed).run(started, timeout)
    finally:
        # Ours stays open until now: a slave that no process has open would hang up the master before the child opens it.
        os.close(slave)
        os.close(master)


class _Conversation:
    def __init__(
        self, master: int, terminal: Terminal, stop: threading.Event | None, feed: Feed | None
    ) -> None:
        os.set_blocking(master, False)
        self._master = master
        self._terminal = terminal
        self._stop = stop
        self._feed = feed
        self._reactor = SelectorReactor()
        self._typed = Inlet(self._reactor, os.dup(master))
        self._drawn = bytearray()
        self._ends: list[ChildEnd] = []
        self._reading = False

    def run(self, command: PreparedCommand, timeout: float) -> ChildEnd:
        copy_size(self._terminal.output, self._master)
        try:
            self._child = Child(
                self._reactor,
                command,
                on_stdout=self._draw,  # only what sh itself says before it executes the command
                on_stderr=self._draw,
                on_end=self._ends.append,
                timeout=timeout,
            )
            self._listen()
            self._look()
            self._read_master(True)
            try:
                self._reactor.run(lambda: bool(self._ends))
            except BaseException:
                self._child.kill()
                self._reactor.run(lambda: bool(self._ends))
                raise
            self._last_words()
        finally:
            self._typed.close()
            self._reactor.close()
        return self._ends[0]

    def _listen(self) -> None:
        try:
            self._reactor.add_reader(self._terminal.input, self._take_typed)
        except (PermissionError, ValueError):
            # A regular file or a closed descriptor: nothing to wait for, and no user types.
            self._typed.write(_END_OF_INPUT)

    def _take_typed(self) -> None:
        try:
            typed = os.read(self._terminal.input, _CHUNK)
        except OSError:
            typed = b""  # the person's terminal is gone
        if not typed:
            self._reactor.remove_reader(self._terminal.input)
        self._typed.write(typed or _END_OF_INPUT)

    def _read_master(self, wanted: bool) -> None:
        if wanted != self._reading:
            self._reading = wanted
            if wanted:
                self._reactor.add_reader(self._master, self._take_drawn)
            else:
                self._reactor.remove_reader(self._master)

    def _take_drawn(self) -> bool:
        try:
            drawn = os.read(self._master, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            drawn = b""  # EIO: no process has the slave open any more
        if drawn:
            self._draw(drawn)
        else:
            self._read_master(False)
        return bool(drawn)

    def _draw(self, drawn: bytes) -> None:
        if not self._drawn:
            try:
                self._reactor.add_writer(self._terminal.output, self._show)
            except PermissionError:
                os.write(self._terminal.output, drawn)  # a regular file never blocks
                return
        self._drawn += drawn
        self._read_master(len(self._drawn) < _BACKLOG)

    def _show(self) -> None:
        try:
            written = os.write(self._terminal.output, self._drawn[:_PIECE])
        except BlockingIOError:
            return
        except OSError:
            written = len(self._drawn)  # no user looks any more
        del self._drawn[:written]
        if not self._drawn:
            self._reactor.remove_writer(self._terminal.output)
        self._read_master(len(self._drawn) < _BACKLOG and not self._ends)

    def _look(self) -> None:
        copy_size(self._terminal.output, self._master)
        given = self._feed() if self._feed is not None else None
        if given is not None:
            self._typed.write(given)
            self._feed = None
        if self._stop is not None and self._stop.is_set():
            self._child.cancel("stopped")
        elif not self._ends:
            self._reactor.call_later(_LOOK_INTERVAL, self._look)

    def _last_words(self) -> None:
        """What the program drew before it ended is still in the terminal's buffer."""
        deadline = time.monotonic() + _LAST_WORDS
        self._read_master(False)
        late = False

        def is_late() -> None:
            nonlocal late
            late = True

        self._reactor.call_later(_LAST_WORDS, is_late)
        while time.monotonic() < deadline and len(self._drawn) < 2 * _BACKLOG and self._take_drawn():
            self._read_master(False)
        self._reactor.run(lambda: not self._drawn or late)
        if self._drawn:
            self._reactor.remove_writer(self._terminal.output)


def copy_size(source: int, target: int) -> None:
    """Give a terminal the size of another; nothing happens where the source is none."""
    try:
        size = fcntl.ioctl(source, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
        if fcntl.ioctl(target, termios.TIOCGWINSZ, bytes(8)) != size:
            fcntl.ioctl(target, termios.TIOCSWINSZ, size)
    except OSError:
        return


@contextmanager
def _raw(fd: int) -> Iterator[None]:
    """The person's keys go through as they are; if the input is not a terminal, nothing changes."""
    try:
        before = termios.tcgetattr(fd)
    except (termios.error, ValueError):
        yield
        return
    tty.setraw(fd, termios.TCSANOW)  # neither waits for a stopped terminal nor drops what was typed ahead
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)
