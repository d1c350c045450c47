"""One supervised process on a reactor: started, fed, read, watched, and ended in bounded time whatever it does.

Theory of operation. `Child` joins the pipes, the leader (a `group.Group`, or a `keeper.Tree` for a command with `tree`) and
the `Ladder`; every event changes a fact, then `_advance` carries out the ladder's orders and sets one timer for the next.
`on_end` reports the end once, when the group or tree is gone and the output is read: to end of file, or, if another
process keeps the pipe open, up to the last byte that was in it when the leader exited. The kernel gives that number. So a
slow consumer never loses what the tool wrote, and a grandchild that floods or hangs never blocks the caller.

It does not interpret bytes, and it does not decide when to cancel: the deadline is a number given to it.
"""

from __future__ import annotations

import io
import os

from operable.proc.excerpt import Excerpt
from operable.proc.pipes import Inlet, PipeReader
from operable.proc.spawn import launch
from operable.proc.tree.escalation import CANCELLED, LOOK, REAP, Ladder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from operable.proc.command import PreparedCommand
    from operable.proc.reactor import Reactor, Timer
    from operable.proc.sandbox.leader import LeaderWatch
    from operable.proc.spawn import Launched
    from operable.proc.tree.escalation import Graces, Order
else:
    from operable.kernel.named_tuple import NamedTuple


class OpenInput:
    """The type of OPEN: standard input is a pipe that stays open until `child.stdin.finish()`."""


OPEN = OpenInput()
# Why a command was ended that had ended inside its enclosure, where a program kept that from being reported.
FROZEN = "frozen"
# What bubblewrap reports when the command was executed and has ended; its whole report has a few lines.
_EXIT, _REPORT_LIMIT = b'"exit-code"', 4096
# None: /dev/null. Bytes: given to the child, then closed. A descriptor or an open file: inherited by the child as it is.
Stdin = bytes | int | io.IOBase | OpenInput | None


class ChildEnd(NamedTuple):
    """How a child ended. `status` follows subprocess (negative: killed by that signal); None: it could not be learnt."""

    status: int | None
    cause: (
        str | None
    )  # None: by itself. Else why we ended it: "deadline", "frozen", or the word given to `cancel`
    elapsed: float
    stderr: Excerpt
    leftovers: bool = False  # descendants outlived the leader and were ended with the group (or tree)
    held_open: bool = False  # a process outside the group kept the output open; it was left at that
    gave_up: bool = False  # SIGKILL did not end it in time
    stdin_unread: bool = False  # the child did not read all of its input
    unstarted: bool = False  # its sandbox was not put up, and says why on stderr: the status is the sandbox's


class Child:
    """A running command. All methods belong to the reactor's thread."""

    def __init__(
        self,
        reactor: Reactor,
        command: PreparedCommand,
        *,
        on_stdout: Callable[[bytes], object],
        on_end: Callable[[ChildEnd], object],
        on_stderr: Callable[[bytes], object] | None = None,
        on_stdout_end: Callable[[], object] | None = None,
        stdin: Stdin = None,
        timeout: float | None = None,
        graces: Graces | None = None,
    ) -> None:
        feed = isinstance(stdin, (bytes, OpenInput))
        launched = launch(command, stdin=None if feed else _descriptor(stdin), pipe_stdin=feed)
        self.pid = launched.leader.pid
        self.ended: ChildEnd | None = None
        self.stderr = Excerpt()
        self._reactor = reactor
        self._leader = launched.leader
        self._report = launched.report
        self._on_end = on_end
        self._left_at_exit: int | None = None
        self._held_open = False
        self._advancing = False
        self._timer: Timer | None = None
        self._inner: LeaderWatch | None = None
        self._started = reactor.time()
        self._ladder = Ladder(self._started, timeout=timeout, graces=graces)
        self._on_stderr = on_stderr
        self._on_stdout = on_stdout
        self._on_stdout_end = on_stdout_end
        try:
            self.stdin = self._open_stdin(launched, stdin)
            self.stdout = PipeReader(reactor, launched.stdout, self._took_stdout, self._stdout_ended)
            self._err = PipeReader(reactor, launched.stderr, self._took_stderr, self._advance)
            self._leader.watch(reactor, self._exit_noticed)
            self._inner = _inner_watch(reactor, command, self.pid, lambda: self.kill(FROZEN))
            self._advance()
        except BaseException:
            self._leader.abort()  # interrupted: no caller has this child yet that could end it
            self._close_report()
            raise

    def cancel(self, cause: str = CANCELLED) -> None:
        """Ask the group to end: SIGINT, SIGTERM, SIGKILL, with the graces between. Go on reading: a tool that is
        interrupted still has its summary to write.
        """
        self._ladder.cancel(self._reactor.time(), cause)
        self._advance()

    def terminate(self, cause: str = "closed") -> None:
        """Ask it to end as a service is asked: SIGTERM, then SIGKILL, with the grace between."""
        self._ladder.terminate(self._reactor.time(), cause)
        self._advance()

    def kill(self, cause: str = CANCELLED) -> None:
        """End the group with SIGKILL now."""
        self._ladder.kill(self._reactor.time(), cause)
        self._advance()

    def abort(self) -> None:
        """Kill and reap without the reactor, which has crashed. `on_end` is not called."""
        if self.ended is not None:
            return
        if self._inner is not None:
            self._inner.close()
        self._leader.abort()
        self._close_report()
        self.ended = ChildEnd(status=self._leader.status, cause=None, elapsed=0.0, stderr=self.stderr)

    def _open_stdin(self, launched: Launched, stdin: Stdin) -> Inlet | None:
        if launched.stdin is None:
            return None
        inlet = Inlet(self._reactor, launched.stdin)
        if isinstance(stdin, bytes):
            inlet.write(stdin)
            inlet.finish()
        return inlet

    def _took_stdout(self, chunk: bytes) -> None:
        self._on_stdout(chunk)
        if self._ladder.phase == "ended":
            self._advance()  # that may have been the last byte of a pipe that will never see its end of file

    def _stdout_ended(self) -> None:
        if self._on_stdout_end is not None:
            self._on_stdout_end()
        self._advance()

    def _took_stderr(self, chunk: bytes) -> None:
        self.stderr.feed(chunk)
        if self._on_stderr is not None:
            self._on_stderr(chunk)

    def _exit_noticed(self) -> None:
        if self._ladder.phase != "running":
            return
        self._left_at_exit = self.stdout.total + self.stdout.waiting
        if self.stdin is not None:
            self.stdin.abandon()
        self._ladder.leader_exited(self._reactor.time())
        self._advance()

    def _advance(self) -> None:
        # Closing a pipe below comes back here: the outer call is about to look at that anyway.
        if self.ended is not None or self._advancing:
            return
        self._advancing = True
        try:
            if self.stdout.closed and self._err.closed:
                self._ladder.outputs_closed(self._reactor.time())
            for order in self._ladder.step(self._reactor.time()):
                self._carry_out(order)
            if self._ladder.phase == "ended":
                self._give_up_pipes()
        finally:
            self._advancing = False
        if self._ladder.phase == "ended" and self.stdout.closed:
            self._finish()
        else:
            self._schedule()

    def _carry_out(self, order: Order) -> None:
        if order == REAP:
            self._leader.reap()
        elif order == LOOK:
            self._ladder.looked(alive=self._leader.alive())
        else:
            self._leader.signal(order)

    def _give_up_pipes(self) -> None:
        """The group is gone. A process that still has a pipe open has left the group; what the leader wrote is still to
        be read.
        """
        self._held_open = self._held_open or not self._err.closed
        self._err.close()
        if self._left_at_exit is None or self.stdout.total >= self._left_at_exit:
            self._held_open = self._held_open or not self.stdout.closed
            self.stdout.close()

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._ladder.due
        if due is not None:
            self._timer = self._reactor.call_later(max(0.0, due - self._reactor.time()), self._advance)

    def _finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._inner is not None:
            self._inner.close()
        if self.stdin is not None:
            self.stdin.close()
        if self._ladder.gave_up:
            self._leader.abandon()
        else:
            self._leader.release()
        self.ended = ChildEnd(
            status=self._leader.status,
            cause=self._ladder.cause,
            elapsed=self._reactor.time() - self._started,
            stderr=self.stderr,
            leftovers=self._ladder.swept,
            held_open=self._held_open,
            gave_up=self._ladder.gave_up,
            stdin_unread=self.stdin is not None and self.stdin.backlog > 0,
            unstarted=self._is_unstarted(),
        )
        self._on_end(self.ended)

    def _is_unstarted(self) -> bool:
        """Whether a sandbox ended by itself and did not report the status of the command."""
        if self._report is None:
            return False
        said = os.pread(self._report, _REPORT_LIMIT, 0)
        self._close_report()
        return self._ladder.cause is None and (self._leader.status or 0) > 0 and _EXIT not in said

    def _close_report(self) -> None:
        if self._report is not None:
            os.close(self._report)
            self._report = None


def _inner_watch(
    reactor: Reactor, command: PreparedCommand, pid: int, on_frozen: Callable[[], object]
) -> LeaderWatch | None:
    if command.entry is None or not command.enclosure:
        return None
    from operable.proc.sandbox.leader import LeaderWatch

    return LeaderWatch(reactor, pid, on_frozen)


def _descriptor(stdin: Stdin) -> int | None:
    if stdin is None or isinstance(stdin, (int, bytes, OpenInput)):
        return stdin if isinstance(stdin, int) else None
    return stdin.fileno()
