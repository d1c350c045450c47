"""How a running command is stopped: signals, deadlines and closed pipes, all the same way.

Theory of operation. A stop is a `StopReason` value: why, and with which exit code. The first one raises `Interrupted` in
the main thread, wherever the author's code is, so that its `finally` and `with` blocks run. Inside a shield (a block
being written, an effect being applied) it is only noted and raised at the end of the shield. Code that swallows it
gets it again when it yields. A stop that does not get through within its grace (the reader does not read, C code does not
return) is carried out by the supervisor's thread, with a last word if the reader takes one. A second signal ends the
process at once: a user who presses Ctrl-C twice means it.

Python runs a signal handler only when the main thread gets back to Python code. The interpreter's wake-up descriptor
informs the supervisor of signals that arrived meanwhile (`unheard`). The supervisor reaches the main thread by SIGURG:
no other code uses it, and by default it is ignored (Go's runtime chose it for the same reasons).

What breaks while a command unwinds (a thread whose pipe is gone, a task that is no longer awaited, a destructor) is
not news, and a stack trace is not a good last message: from then on the interpreter, `threading`, `asyncio` and
`warnings` are kept from printing one by themselves. What the author's own code says on stderr stays.

Signals come through `_signal`, the C module behind `signal`, because the latter imports `enum`.
"""

import os
import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Iterable
    from types import FrameType, TracebackType
    from typing import Any
else:
    try:
        import _signal
    except ImportError:  # not CPython
        import signal as _signal

SIGINT, SIGTERM = 2, 15
INTERRUPTED, TIMEOUT, OUTPUT_LOST = "interrupted", "timeout", "output_lost"
# A stop is given this long to unwind and say its last message before the process ends regardless.
GRACE = 2.0
# An effect in progress is finished rather than torn, but not forever.
APPLY_GRACE = 5.0
_IMPORT = "<frozen importlib._bootstrap>"


class StopReason:
    """Why a command has to end before it is done."""

    __slots__ = ("exit_code", "reason")

    def __init__(self, reason: str, exit_code: int) -> None:
        self.reason = reason
        self.exit_code = exit_code


class Interrupted(KeyboardInterrupt):
    """Raised in the author's code; a KeyboardInterrupt, so that libraries treat it as one."""


class Interrupts:
    """The one place that knows whether and why this process should stop. As a context manager it is the shield."""

    def __init__(self) -> None:
        self.stop: StopReason | None = None
        self.applying = False  # an effect is in progress: finish it, up to APPLY_GRACE
        self.exit_code: int | None = None  # once the last word has been said: what it said
        self.supervised = False  # does a thread carry out what does not get through?
        self.raised = False
        self._held = True  # before the command begins and after it has ended, a stop is only noted
        self._shields = 0
        self._main = get_ident()
        self._receivers: dict[int, Callable[[int, FrameType | None], None]] = {}
        self._before: dict[int, Any] = {}  # how signals were taken before us
        self._mask: Iterable[int] = ()
        self._arrivals = -1
        self._unheard: StopReason | None = None
        self._unraisable = sys.unraisablehook
        self._lost = False
        self._floor: FrameType | None = None  # where the command was begun

    def install(self) -> None:
        """Take SIGINT and SIGTERM; ignored ones stay ignored (nohup, background jobs)."""
        for number in (SIGINT, SIGTERM):
            before = _signal.getsignal(number)
            if before != _signal.SIG_IGN:
                self._receivers[number] = self._receiver(128 + number)
                _signal.signal(number, self._receivers[number])
                self._before[number] = before
        self._before[_signal.SIGURG] = _signal.signal(_signal.SIGURG, self._on_poke)
        self._arrivals, wake_up = os.pipe()
        os.set_blocking(self._arrivals, False)
        os.set_blocking(wake_up, False)
        _signal.set_wakeup_fd(wake_up, warn_on_full_buffer=False)
        self._unraisable, sys.unraisablehook = sys.unraisablehook, self._raise_elsewhere
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before_fork, after_in_parent=self._after_fork, after_in_child=self._let_go
            )

    # A forked child (multiprocessing) is not ours to stop: it gets its signals back as they were. They are blocked while
    # it is made, because Python forgets what arrives before the child has come round to its handlers, and a parent
    # that sends SIGTERM to a child and waits for its end (as multiprocessing does) would wait forever.

    def _before_fork(self) -> None:
        self._mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, self._before)

    def _after_fork(self) -> None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, self._mask)

    def _let_go(self) -> None:
        _signal.set_wakeup_fd(-1)
        sys.unraisablehook = self._unraisable
        for number, before in self._before.items():
            if number not in self._receivers or _signal.getsignal(number) is self._receivers[number]:
                _signal.signal(number, _signal.SIG_DFL if before is None else before)
        self._after_fork()

    def begin(self) -> None:
        """From here on a stop is raised."""
        self._held = False
        self._floor = sys._getframe(1)  # noqa: SLF001 - `inspect` is too expensive to import here
        self.raise_if_stopped()

    def unheard(self) -> "StopReason | None":
        """A signal that has arrived and that the main thread has not come round to, for the supervisor's thread."""
        try:
            numbers = os.read(self._arrivals, 64)
        except OSError:  # nothing there
            numbers = b""
        for number in numbers:
            receiver = self._receivers.get(number)
            # Another handler: the author has taken the signal over.
            if receiver is not None and _signal.getsignal(number) is receiver:
                self._unheard = StopReason(INTERRUPTED, 128 + number)
        return self._unheard

    def request(self, stop: "StopReason") -> None:
        """Ask the main thread to stop, from another thread."""
        if self.stop is None:
            self.stop = stop
        self.poke()

    def told(self, exit_code: int) -> None:
        """The main thread has found out itself that its output is lost: it unwinds, and is not to be disturbed."""
        if self.stop is None:
            self.stop = StopReason(OUTPUT_LOST, exit_code)
        self.raised = True
        self._hush()

    def poke(self) -> None:
        """Make the main thread look again, also out of a blocking system call."""
        _signal.pthread_kill(self._main, _signal.SIGURG)

    def __enter__(self) -> None:
        self._shields += 1

    def __exit__(
        self, kind: "type[BaseException] | None", error: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self._shields -= 1
        if self.stop is not None and error is None:
            self.raise_if_stopped(again=True)

    def raise_if_stopped(self, *, again: bool = False) -> None:
        """Raise the pending stop unless something shields it; once, or again where it is known not to be on its way."""
        if self.stop is None or self._held or self._shields or self.applying:
            return
        if again or not self.raised:
            self.raised = True
            self._hush()
            raise Interrupted

    def catch_up(self) -> None:
        """Before an effect and after the work: what an import has held back is raised now."""
        if self._lost:
            self._lost = False
            self.raise_if_stopped(again=True)

    def settle(self) -> None:
        """From here on nothing is raised any more: the command has ended and only its last words remain."""
        self._held = True
        if self.stop is not None:
            self._hush()  # what was loaded meanwhile

    def _hush(self) -> None:
        """Nothing is imported here, and no lock taken: this may be a signal handler, anywhere."""
        threads: Any = sys.modules.get("threading")
        if threads is not None:
            threads.excepthook = _say_nothing
        # If no code has set up `logging`.
        last_resort = getattr(sys.modules.get("logging"), "lastResort", None)
        if last_resort is not None:
            last_resort.addFilter(_without_trace)
        ignore = getattr(sys.modules.get("warnings"), "simplefilter", None)
        if ignore is not None:
            ignore("ignore", RuntimeWarning)  # a coroutine was never awaited

    def _receiver(self, exit_code: int) -> "Callable[[int, FrameType | None], None]":
        def received(_number: int, frame: "FrameType | None") -> None:
            if self.stop is not None or (self._shields and not self.supervised):
                os._exit(exit_code)
            self.stop = StopReason(INTERRUPTED, exit_code)
            self._raise_in(frame)

        return received

    def _raise_in(self, frame: "FrameType | None") -> None:
        """Not in the middle of an import: modules in C need not survive that. The supervisor raises it again soon.

        msgspec goes on when its import of `datetime` is broken into, and crashes the interpreter at its first use; or the
        stop is gone with the error that it forgets.
        """
        waits = self.raised or self._held or self._shields or self.applying
        if self.supervised and not waits and self._importing(frame):
            self._lost = True
        else:
            self.raise_if_stopped()

    def _importing(self, frame: "FrameType | None") -> bool:
        """Whether the command, not its starter, is importing something."""
        while frame is not None and frame is not self._floor:
            if frame.f_code.co_filename == _IMPORT:
                return True
            frame = frame.f_back
        return False

    def _raise_elsewhere(self, lost: "sys.UnraisableHookArgs") -> None:
        """A stop that was raised where nothing can be raised (a destructor, a callback from C) is to be raised again."""
        if isinstance(lost.exc_value, Interrupted):
            self._lost = True
        elif self.stop is None:
            self._unraisable(lost)

    def repeat(self) -> None:
        """Raise again what was lost, from the supervisor's thread: by then the main thread is somewhere else."""
        if self._lost:
            self._lost = self.raised = False
            self.poke()

    def _on_poke(self, _number: int, frame: "FrameType | None") -> None:
        self._raise_in(frame)


def _say_nothing(_about: object) -> None:
    """In place of a hook that prints."""


def _without_trace(record: "Any") -> bool:
    """What is said in words stays, except for what event loops and executors say when something is taken away from them."""
    record.exc_info = record.exc_text = record.stack_info = None
    return record.name not in ("asyncio", "concurrent.futures")
