"""The programs that a profile puts beside the tool: a server, a peer. Each lives in its room until that is left.

Theory of operation. A companion is confined like the tool, in namespaces of its own except for two things that it shares
with the calls of its room: the folders (work dir and HOME), and a network with only loopback. So the same port serves in
all rooms at once, nothing outside is reached, and a search for the tool's processes does not find it.

A thread per companion reads what it prints and throws it away; the first line says that it is ready. The limits of the
tool also apply to it: processes, memory, output. One that is not ready in time, or that fails later, makes the
experiment void: that says nothing about the tool, so it is raised as `Fail`. One that ends with status 0 has done its part.

Only in a sandbox: without one two rooms would fight for a port, and talk with each other's servers.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Iterable
from dataclasses import replace

from operable.kernel.errors import Fail
from operable.lint.lab.custody import Custody
from operable.lint.lab.output import FLOOD, LOOK, QUIET
from operable.lint.lab.probe import LabProbe, ProbeFolders
from operable.proc.child import Child, ChildEnd
from operable.proc.reactor import Attendant
from operable.proc.tree.escalation import Graces

_AT_ONCE = Graces(interrupt=0.0, terminate=0.0, kill=2.0, drain=0.5)
_SOON = 0.001
_WATCH = 0.25
# The longest wait until the companions are idle.
_SETTLING = 5.0
_DYING = 15.0
_QUOTED = 500
NOT_READY = "COMPANION_NOT_READY"


class Companion:
    """One program, from its start to its end."""

    def __init__(self, probe: LabProbe, words: tuple[str, ...], place: ProbeFolders) -> None:
        self._shown = shlex.join(words)
        self._abandoned = probe.abandoned
        self._custody = Custody(probe.sandbox, network=True)
        self._ready = threading.Event()
        self._spoken = False
        self._size = 0
        self._excess: str | None = None
        self._ended: ChildEnd | None = None
        self._crash: BaseException | None = None
        self._attendant = Attendant()
        try:
            self._child = Child(
                self._attendant.reactor,
                probe.companion(words, place, self._custody.theirs),
                on_stdout=self._took,
                on_end=self._has_ended,
                graces=_AT_ONCE,
            )
        except BaseException:
            self._custody.close()
            self._attendant.reactor.close()
            raise
        self._custody.handed_over()
        self._admit()
        self._attendant.start(lambda: self._ended is not None, self._has_crashed)

    def await_ready(self, timeout: float) -> None:
        """Fail when it does not say a line in time, or has come to grief."""
        self._ready.wait(timeout)
        self.demand()
        if self._spoken:
            return
        if self._ended is not None:
            raise self._failure("ended, and was not ready")
        raise self._failure(f"printed no line within {timeout:g} s, and was not ready", code=NOT_READY)

    def demand(self) -> None:
        """Fail when it has come to grief."""
        if self._crash is not None:
            raise self._crash
        if self._excess is not None:
            raise self._failure(f"was stopped: {self._excess}")
        if self._ended is not None and self._ended.status:
            raise self._failure(f"ended with status {self._ended.status}")

    def idle(self) -> bool:
        """Whether it waits for something, or has ended."""
        return self._ended is not None or self._custody.waiting().idle

    def end(self) -> None:
        """Kill it and everything that it has started."""
        self._attendant.reactor.call_soon_threadsafe(lambda: self._child.kill("left"))
        self._attendant.join(_DYING)
        deadline = time.monotonic() + _DYING
        self._custody.kill()
        while not self._custody.ended() and time.monotonic() < deadline:
            time.sleep(LOOK)
        self._custody.close()

    def _admit(self) -> None:
        if self._ended is not None:
            return
        if not self._custody.known(self._child.pid):
            self._attendant.reactor.call_later(_SOON, self._admit)
            return
        self._custody.open()
        self._watch()

    def _watch(self) -> None:
        if self._ended is not None or self._excess is not None:
            return
        excess = "the linter is being ended" if self._abandoned.is_set() else self._custody.excess()
        if excess is not None:
            self._stop(excess)
        else:
            self._attendant.reactor.call_later(_WATCH, self._watch)

    def _took(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if b"\n" in chunk:
            self._spoken = True
            self._ready.set()
        if self._size > FLOOD:
            self._stop("it printed without end")

    def _stop(self, why: str) -> None:
        self._excess = self._excess or why
        self._child.kill("limit")
        self._custody.kill()

    def _has_ended(self, end: ChildEnd) -> None:
        self._custody.kill()  # who is left of it
        self._ended = end
        self._ready.set()

    def _has_crashed(self, error: BaseException) -> None:
        self._crash = error
        self._child.abort()
        self._ready.set()

    def _failure(self, how: str, *, code: str = "COMPANION_FAILED") -> Fail:
        said = self._child.stderr.text().strip()[-_QUOTED:]
        message = f"`{self._shown}`, which is to run beside it, {how}" + (f": {said}" if said else "")
        return Fail("temporary", code, message, target=self._shown)


class Companions:
    """Those of one room. All methods belong to the thread that uses the room."""

    def __init__(self, probe: LabProbe, place: ProbeFolders, hopeless: dict[tuple[str, ...], Fail]) -> None:
        """`hopeless`: those that did not get ready in another room of the lab; they are not waited for again."""
        self._probe = probe
        self._hopeless = hopeless
        self.place = place  # with their network, once there is one
        self._living: dict[tuple[str, ...], Companion] = {}

    @property
    def programs(self) -> tuple[tuple[str, ...], ...]:
        return tuple(self._living)

    def attend(self, programs: Iterable[tuple[str, ...]]) -> None:
        """See to it that these run and are ready; Fail when one does not."""
        for words in programs:
            if words in self._hopeless:
                raise self._hopeless[words]
            if words not in self._living:
                self._join_network()
                self._living[words] = Companion(self._probe, words, self.place)
            try:
                self._living[words].await_ready(self._probe.timeout)
            except Fail as problem:
                if problem.code == NOT_READY:
                    self._hopeless[words] = problem
                raise

    def demand(self) -> None:
        """Fail when one of them has come to grief."""
        for companion in self._living.values():
            companion.demand()

    def settle(self) -> None:
        """Wait until they have done what they were asked for: no process has run for a while. Bounded."""
        now = time.monotonic()
        deadline, since = now + _SETTLING, now
        while self._living and now - since < QUIET and now < deadline and not self._probe.abandoned.is_set():
            time.sleep(LOOK)
            now = time.monotonic()
            if not all(companion.idle() for companion in self._living.values()):
                since = now

    def leave(self) -> None:
        for companion in self._living.values():
            companion.end()
        self._living.clear()
        if self.place.loopback is not None:
            self.place.loopback.close()

    def _join_network(self) -> None:
        if self.place.loopback is not None:
            return
        sandbox = self._probe.sandbox
        if sandbox is None or sandbox.loopback is None:
            raise Fail(
                "config",
                "COMPANION_UNCONFINED",
                "programs beside the tool are started in a sandbox only: without one, rooms would share their ports",
            )
        self.place = replace(self.place, loopback=sandbox.loopback())
