"""How a running command is stopped: signals, deadlines and closed pipes, all the same way.

Theory of operation. A stop is a `Stop` value: why, and with which exit code. The first one raises `Interrupted` in
the main thread, wherever the author's code is, so that its `finally` and `with` blocks run. Inside a shield (a block
being written, an effect being applied) it is only noted and raised at the end of the shield. A stop that does not get
through within its grace (the reader does not read, C code does not return) ends the process at once: exiting promptly
is then more important than a last word, and the missing summary tells the reader. A second signal does the same:
whoever presses Ctrl-C twice means it.

Signals come through `_signal`, the C module behind `signal`, because the latter imports `enum`.
"""

from __future__ import annotations

import os
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from types import FrameType, TracebackType
else:
    try:
        import _signal
    except ImportError:  # not CPython
        import signal as _signal

SIGINT, SIGTERM, SIGALRM = 2, 15, 14
INTERRUPTED, TIMEOUT, OUTPUT_LOST = "interrupted", "timeout", "output_lost"
# A stop is given this long to unwind and say its last word before the process ends regardless.
GRACE = 2.0
# An effect in progress is finished rather than torn, but not for ever.
APPLY_GRACE = 5.0


class Stop:
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
        self.stop: Stop | None = None
        self.applying = False  # an effect is in progress: finish it, up to APPLY_GRACE
        self._shields = 0
        self._raised = False
        self._main = get_ident()

    def install(self) -> None:
        """Take SIGINT and SIGTERM; ignored ones stay ignored (nohup, background jobs)."""
        for number, exit_code in ((SIGINT, 130), (SIGTERM, 143)):
            if _signal.getsignal(number) != _signal.SIG_IGN:
                _signal.signal(number, self._receiver(exit_code))
        _signal.signal(SIGALRM, self._on_poke)

    def request(self, stop: Stop) -> None:
        """Ask the main thread to stop, from another thread."""
        if self.stop is None:
            self.stop = stop
        self.poke()

    def poke(self) -> None:
        """Make the main thread look again, also out of a blocking system call."""
        _signal.pthread_kill(self._main, SIGALRM)

    def __enter__(self) -> None:
        self._shields += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shields -= 1
        if self.stop is not None and error is None:
            self.raise_if_stopped()

    def raise_if_stopped(self) -> None:
        """Raise the pending stop, once, unless something shields it."""
        if self.stop is not None and not self._shields and not self.applying and not self._raised:
            self._raised = True
            raise Interrupted

    def settle(self) -> None:
        """From here on nothing is raised any more: the command has ended and only its last words remain."""
        self._raised = True

    def _receiver(self, exit_code: int) -> Callable[[int, FrameType | None], None]:
        def received(_number: int, _frame: FrameType | None) -> None:
            if self.stop is not None:
                os._exit(exit_code)
            self.stop = Stop(INTERRUPTED, exit_code)
            self.raise_if_stopped()

        return received

    def _on_poke(self, _number: int, _frame: FrameType | None) -> None:
        self.raise_if_stopped()
