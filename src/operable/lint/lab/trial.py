"""Runs one invocation for real, bounded in everything, and records what happened.

Theory of operation. One reactor per run. A confined tool waits behind a gate until it is in `custody` and its pipe is
prepared, if its reader is to stall. Then everything that it can do to its caller has a bound: time (deadline, then SIGKILL
for the whole tree), output (beyond `FLOOD` it is killed), processes and memory (watched from outside, besides what the
kernel enforces). A signal is sent when the stream has begun and been silent for `settle` seconds, or when the tool waits
for a reader that stalls. What is left in the namespace when the tool has ended are its orphans; they are named, then killed.

It decides nothing: no verdict is formed here.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Literal

from operable.kernel.errors import Fail
from operable.lint.evidence import Invocation, Observation
from operable.lint.lab.custody import Custody
from operable.lint.lab.output import HEAD_START, LOOK, Patience, Recording, SilentTerminal, fill
from operable.lint.lab.probe import LabProbe, ProbeFolders, place_file
from operable.lint.lab.processes import Waiting
from operable.proc.child import OPEN, Child, ChildEnd, Stdin
from operable.proc.reactor import SelectorReactor, Timer
from operable.proc.run import require_started
from operable.proc.tree.escalation import Graces

# After a signal or a lost reader a tool has so long to end. "Promptly" for a person. On a loaded machine it may get little
# of the processor in that time: a process that wants to run, and has had less than half of it, gets more, up to `PATIENT`.
PROMPT = 4.0
PATIENT = 30.0
_AGAIN = 0.5
# What a sample call took is a guess at what another one may take.
_SLOWER = 3.0
# What is killed at the deadline had its chance: no polite signals that would look like ours.
_GRACES = Graces(interrupt=0.0, terminate=0.0, kill=2.0, drain=0.5)
# Hundreds of processes take their time to die.
_DYING = 15.0
# How long descendants may take to follow their leader before they count as orphans.
_ORPHAN_GRACE = 0.5
_WATCH = 0.05
_SOON = 0.001
# A stream that has not begun after so many seconds is signalled nevertheless.
_SILENCE = 3.0


def run(probe: LabProbe, invocation: Invocation, place: ProbeFolders) -> Observation:
    """Place the files of an invocation, run it and observe. Raises Fail if the linter is being ended."""
    if probe.abandoned.is_set():
        raise Fail("cancelled", "LINT_ABANDONED", "the linter is being ended")
    for path, content in invocation.files:
        place_file(place.home, path, content)
    return Trial(probe, invocation, place).observe()


class Trial:
    """One invocation, from start to observation."""

    def __init__(self, probe: LabProbe, invocation: Invocation, place: ProbeFolders) -> None:
        self.probe = probe
        self.invocation = invocation
        self.place = place
        self.reactor = SelectorReactor()
        self.started = self.reactor.time()
        self.recording = Recording()
        self.signalled: float | None = None
        self.due: tuple[float, float] | None = None  # since when it has to end, and what it had used by then
        self.stalled: int | None = None
        self.pending: int | None = None
        self.ended: ChildEnd | None = None
        self.stopped: Literal["flood", "excess"] | None = None
        self.notes: tuple[str, ...] = ()
        self.custody = Custody(probe.sandbox, network=probe.has_network(invocation, place))
        self.orphans: tuple[str, ...] = ()
        self.terminal: SilentTerminal | None = None
        self.timer: Timer | None = None
        self.child: Child | None = None

    def observe(self) -> Observation:
        try:
            stdin: Stdin = self.invocation.stdin
            if self.invocation.terminal:
                self.terminal = SilentTerminal(self.reactor)
                stdin = self.terminal.theirs
            elif self.invocation.hold_stdin:
                stdin = OPEN
            self.child = self._start(stdin)
            if self.terminal is not None:
                self.terminal.handed_over()
            self._begin(self.child)
            self.reactor.run(lambda: self.ended is not None)
            if self.ended is not None:
                require_started(self.ended)
            self._see_orphans()
            if self.terminal is not None:
                self.terminal.drain()
            return self._observation()
        finally:
            self._clean()

    @property
    def _looked_at(self) -> bool:
        """Whether it is seen from outside when the signal may come; other streams show it by their own silence."""
        held = self.invocation.hold_stdin and self.invocation.signal
        return bool(self.invocation.room or held) and self.probe.sandbox is not None

    @property
    def _timeout(self) -> float:
        """Its deadline. Without a reader it is allowed to run as long as with one, and to end then."""
        whole = self.invocation.timeout or self.probe.timeout
        return (
            whole if self.invocation.reader == "patient" else whole + _SLOWER * self.invocation.lead + PROMPT
        )

    def _patience(self) -> Patience:
        now = self.reactor.time()
        return Patience(now, max(0.0, self.started + self._timeout - now))

    def _start(self, stdin: Stdin) -> Child:
        child = Child(
            self.reactor,
            self.probe.command(self.invocation, self.place, self.custody.theirs),
            on_stdout=self._took,
            on_end=self._has_ended,
            stdin=stdin,
            timeout=self._timeout,
            graces=_GRACES,
        )
        self.custody.handed_over()
        return child

    def _begin(self, child: Child) -> None:
        if self.invocation.hold_stdin and child.stdin is not None and self.invocation.stdin:
            child.stdin.write(self.invocation.stdin)
        if self.invocation.reader == "gone":
            child.stdout.close()
            self._expect_end(_SLOWER * self.invocation.lead)
        if self.invocation.signal and not self._looked_at:
            self._arm(_SILENCE)
        self._admit(child)

    def _admit(self, child: Child) -> None:
        """Let it in, once it is known where everything of it will be."""
        if self.ended is not None:
            return
        if not self.custody.known(child.pid):
            self.reactor.call_later(_SOON, lambda: self._admit(child))
            return
        if self.invocation.room:
            self._stall(child)
        elif self._looked_at:
            self._look(child, self._patience())
        self.custody.open()
        self._learn_leader(child)
        self.reactor.call_later(_WATCH, self._watch)

    def _learn_leader(self, child: Child) -> None:
        """Whom to signal: to be asked while it lives."""
        if self.ended is None and not self.custody.led(child.pid):
            self.reactor.call_later(_SOON, lambda: self._learn_leader(child))

    def _watch(self) -> None:
        if self.ended is not None or self.stopped is not None:
            return
        if self.probe.abandoned.is_set():
            self._kill()
            return
        excess = self.custody.excess()
        if excess is not None:
            self._stop("excess", excess)
        else:
            self.reactor.call_later(_WATCH, self._watch)

    def _stall(self, child: Child) -> None:
        child.stdout.pause()
        self.recording.filled = fill(child.pid, self.invocation.room)
        self._look(child, self._patience())

    def _look(self, child: Child, patience: Patience) -> None:
        """Wait until the tool waits for us: for its reader, or for more of its input."""
        if self.ended is not None or self.signalled is not None:
            return
        now, held = self.reactor.time(), child.stdout.waiting
        found = self.custody.waiting() if self.custody.led(child.pid) else Waiting()
        if self.custody.gone() or patience.over(now):
            child.stdout.resume()
        elif patience.waits(held, found, now):
            self.stalled, self.pending = max(0, held - self.recording.filled), found.pending
            self._caught(child, certain=found.writing)
        else:
            self.reactor.call_later(LOOK, lambda: self._look(child, patience))

    def _caught(self, child: Child, *, certain: bool) -> None:
        """It waits for its reader: now happens what was to happen in the middle of the stream."""
        if self.invocation.hold_stdin:
            self._signal()
        elif self.invocation.signal:
            self._signal()
            self.reactor.call_later(HEAD_START, child.stdout.resume)
        else:
            child.stdout.close()
            # In its write it learns at once; while it does something else, when it writes next.
            self._expect_end(0.0 if certain else _SLOWER * self.invocation.lead)

    def _took(self, chunk: bytes) -> None:
        begun = self.recording.first is not None
        chunk = self.recording.take(chunk, self.reactor.time() - self.started)
        if not chunk:
            return
        if not begun and self.invocation.watch:
            self._arm(self.invocation.watch)
        if self.recording.floods:
            self._stop("flood", "it printed without end")
            return
        if self.invocation.reader == "leaves" and b"\n" in chunk and self.child is not None:
            self.child.stdout.close()
            self._expect_end(_SLOWER * self.invocation.lead)
        waiting = self.invocation.signal and self.signalled is None
        if waiting and not self.invocation.watch and not self._looked_at:
            self._arm(self.invocation.settle)

    def _arm(self, delay: float) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = self.reactor.call_later(delay, self._signal)

    def _signal(self) -> None:
        if self.ended is not None or self.child is None or self.signalled is not None:
            return
        # None: it was faster.
        if self.custody.signal(self.child.pid, signal.Signals[self.invocation.signal]):
            self.signalled = self.reactor.time() - self.started
        self._expect_end()

    def _expect_end(self, lead: float = 0.0) -> None:
        """From now on it has to end: promptly, once the `lead` is over."""
        self.due = self.reactor.time() + lead, self.custody.used()
        self.reactor.call_later(lead + PROMPT, self._too_late)

    def _too_late(self) -> None:
        if self.ended is not None or self.child is None or self.due is None:
            return
        since, used = self.due
        if self._starved(used, PROMPT / 2) and self.reactor.time() - since < PATIENT:
            self.reactor.call_later(_AGAIN, self._too_late)
            return
        self.child.kill("deadline")
        self._kill()

    def _starved(self, used: float, share: float) -> bool:
        """Whether a process of the tree wants to run, and the machine has not given it so many seconds since `used`."""
        return not self.custody.waiting().idle and self.custody.used() - used < share

    def _stop(self, why: Literal["flood", "excess"], note: str) -> None:
        self.stopped, self.notes = why, (note,)
        self._kill()

    def _kill(self) -> None:
        if self.child is not None:
            self.child.kill("limit")
        self.custody.kill()

    def _has_ended(self, end: ChildEnd) -> None:
        self.ended = end

    def _see_orphans(self) -> None:
        """The processes that are left in the sandbox although the tool has ended by itself."""
        if self.ended is None or self.ended.cause is not None:
            self.custody.kill()
            self._until(self.custody.ended, _DYING)
            return
        used = self.custody.used()
        self._until(self.custody.ended, _ORPHAN_GRACE)
        # On a machine that does much else, who is about to end may not have come to it yet.
        self._until(lambda: self.custody.ended() or not self._starved(used, _ORPHAN_GRACE), PATIENT)
        self.orphans = self.custody.orphans()
        if self.orphans:
            self.custody.kill()
            self._until(self.custody.ended, _GRACES.kill)

    def _until(self, true: Callable[[], bool], limit: float) -> None:
        deadline, pause = self.reactor.time() + limit, _SOON
        while not true() and self.reactor.time() < deadline:
            over: list[bool] = []
            self.reactor.call_later(pause, lambda over=over: over.append(True))  # type: ignore[misc]
            self.reactor.run(lambda over=over: bool(over))  # type: ignore[misc]
            # What ends at all ends mostly within a millisecond or two: a namespace after its last process.
            pause = min(2 * pause, LOOK)

    def _clean(self) -> None:
        self.custody.kill()
        if self.child is not None and self.ended is None:
            self.child.abort()
        if self.terminal is not None:
            self.terminal.close()
        self.custody.close()
        self.reactor.close()

    def _observation(self) -> Observation:
        end = self.ended
        assert end is not None  # noqa: S101 - the reactor ran until then
        late = end.cause == "deadline"
        shown = b"" if self.terminal is None else bytes(self.terminal.output)
        stdout = self.recording.stdout()
        if self.invocation.output == "terminal":
            # A terminal makes two characters of a line end.
            stdout, shown = shown.replace(b"\r\n", b"\n"), b""
        return Observation(
            invocation=self.invocation,
            program=self.probe.shown,
            stdout=stdout,
            stderr=end.stderr.text(),
            status=end.status,
            elapsed=self.reactor.time() - self.started,
            ended=self.stopped or ("deadline" if late else "itself"),
            first_output=self.recording.first,
            arrivals=tuple(self.recording.arrivals),
            signalled=self.signalled,
            stalled=self.stalled,
            pending=self.pending,
            outgoing=self.custody.outgoing(),
            terminal_output=shown,
            orphans=self.orphans or (("a process of its group",) if end.leftovers and not late else ()),
            notes=self.notes,
        )
