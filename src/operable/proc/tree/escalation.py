"""How a process group is brought to its end: a state machine without clock, process or pipe.

Theory of operation. The driver reports facts (`cancel`, `leader_exited`, `outputs_closed`, `looked`) and calls `step` when
`due` has come; `step` answers with orders: a signal for the whole group, REAP the leader, LOOK whether members of the
group are left.

    RUNNING   the leader lives. A cancel, or the deadline, starts the ladder: SIGINT, SIGTERM, SIGKILL, a grace between.
    DRAINING  the leader has ended but is not reaped: as long as its pid is a zombie, the kernel cannot give the group
              id to another process, so signals to the group are safe. What it left in the pipes is being read, for
              `drain` seconds at most: a grandchild that keeps a pipe open must not hold the caller.
    SWEEPING  SIGTERM went to the processes that are left, the leader is reaped, the driver looks whether the group is
              empty; SIGKILL after the grace.
    ENDED no process is left, or SIGKILL itself did not help within its grace (`gave_up`).

In SWEEPING the group id is held by its living members only. It is looked at every LOOK_INTERVAL: for another process
to get the id in between, the kernel's pid counter would have to go once round (32,768 forks at least) within that interval.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal, NamedTuple

    Order = int | Literal["reap", "look"]  # int: a signal
    Phase = Literal["running", "draining", "sweeping", "ended"]
else:
    from operable.kernel.named_tuple import NamedTuple

# A tool that handles SIGINT writes its summary within milliseconds; 2 s leave room for a loaded machine and a network
# call that has to be rolled back, and keep the worst case of a cancel (2 + 2 + 2 s) below the patience of a person.
INTERRUPT_GRACE = 2.0
TERMINATE_GRACE = 2.0
# Only uninterruptible sleep (a dead network file system) survives SIGKILL; waiting longer would not help.
KILL_GRACE = 2.0
# The leader's own output is in the pipe when it exits; this is for a `tee` or a `sed` behind it that still empties itself.
DRAIN_GRACE = 1.0
# Short against the graces, and cheap: one system call per look.
LOOK_INTERVAL = 0.02

# Plain numbers, the same on every POSIX system: importing `signal` costs a short call a millisecond.
SIGINT, SIGTERM, SIGKILL = 2, 15, 9
# Why we ended a command: its time was up, or its caller gave up. Callers have other words as well.
DEADLINE = "deadline"
CANCELLED = "cancelled"
REAP: Final = "reap"
LOOK: Final = "look"


class Graces(NamedTuple):
    """Seconds between the rungs; the defaults are explained beside the constants."""

    interrupt: float = INTERRUPT_GRACE
    terminate: float = TERMINATE_GRACE
    kill: float = KILL_GRACE
    drain: float = DRAIN_GRACE


class Ladder:
    """The end of one process group. Times are seconds of the driver's monotonic clock."""

    def __init__(self, now: float, *, timeout: float | None = None, graces: Graces | None = None) -> None:
        graces = graces or Graces()
        self.phase: Phase = "running"
        self.cause: str | None = (
            None  # why we ended it ("deadline" or the caller's word); None: it ended by itself
        )
        self.gave_up = False
        self.swept = False  # a process was left in the group after its leader, and had to be ended
        self._rungs = [
            (SIGINT, graces.interrupt),
            (SIGTERM, graces.terminate),
            (SIGKILL, graces.kill),
        ]
        self._next = 0
        self._climb_at: float | None = None
        self._deadline = None if timeout is None else now + timeout
        self._drain = graces.drain
        self._drained_at: float | None = None
        self._look_at: float | None = None

    @property
    def due(self) -> float | None:
        """When `step` has something to do again; None: only a fact can change anything."""
        if self.phase == "ended":
            return None
        times = (self._deadline, self._climb_at, self._drained_at, self._look_at)
        return min((time for time in times if time is not None), default=None)

    def cancel(self, now: float, cause: str) -> None:
        """Start the ladder. The first cause stays; a leader that has ended by itself is past being cancelled."""
        if self.phase == "running" and self.cause is None:
            self.cause = cause
            self._deadline = None
            self._climb_at = now

    def terminate(self, now: float, cause: str) -> None:
        """Start the ladder at SIGTERM; one that is being climbed already skips to it."""
        self.cancel(now, cause)
        if self.phase == "running" and self._next < 1:
            self._next = 1
            self._climb_at = now

    def kill(self, now: float, cause: str) -> None:
        """Skip the polite rungs: SIGKILL at the next step."""
        self.cancel(now, cause)
        if self.phase != "ended" and self._next < 2:
            self._next = 2
            self._climb_at = now

    def leader_exited(self, now: float) -> None:
        if self.phase == "running":
            self.phase = "draining"
            self._deadline = None  # the tool was in time; a slow reader of its output is not its fault
            self._drained_at = now + self._drain

    def outputs_closed(self, now: float) -> None:
        """No process has the child's pipes open any more (or the driver has given them up)."""
        if self.phase == "draining":
            self._drained_at = now

    def looked(self, *, alive: bool) -> None:
        """The answer to LOOK: whether any member of the group still runs."""
        self.swept = self.swept or alive
        if self.phase == "sweeping" and not alive:
            self.phase = "ended"

    def step(self, now: float) -> list[Order]:
        """What to do now, in this order."""
        orders: list[Order] = []
        if self._deadline is not None and now >= self._deadline:
            self.cancel(now, DEADLINE)
        if self._drained_at is not None and now >= self._drained_at:
            orders += self._sweep(now)
        if self._climb_at is not None and now >= self._climb_at:
            orders += self._climb(now)
        if self._look_at is not None and now >= self._look_at:
            self._look_at = now + LOOK_INTERVAL
            if self.phase == "sweeping":
                orders.append(LOOK)
        return orders

    def _climb(self, now: float) -> list[Order]:
        if self._next == len(self._rungs):
            self.phase = "ended"
            self.gave_up = True
            return []
        number, grace = self._rungs[self._next]
        self._next += 1
        self._climb_at = now + grace
        return [number]

    def _sweep(self, now: float) -> list[Order]:
        self._drained_at = None
        orders: list[Order] = []
        if self._next < 2:
            self._next = 1
            orders += self._climb(now)
        # Only now may the leader's id be freed; each remaining process got its signal while the id was still ours.
        self.phase = "sweeping"
        self._look_at = now
        return [*orders, REAP]
