"""Processes in a row on one reactor: each one's stdout is read here, looked at, and passed on to the next one's stdin.

Theory of operation. A call is a chain of one. Between two stages the host is a tee: the original bytes go on as they came,
so streaming is kept. The next stage's backlog pauses the stage before, so memory is bounded at any speed.
Stages are started from the last to the first: when one cannot be started, those that run are waiting for input and have
done nothing. When a stage goes away, the pipe of the stage before is closed, which that one learns the usual way
(SIGPIPE); one that is silent, and would learn it never, is ended after a grace.

What the bytes mean is for `watch` to say; the last stage's bytes go to `sink`, who pauses the chain by `pause`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from operable.kernel.errors import Fail
from operable.proc.child import OPEN, Child, ChildEnd, Stdin
from operable.proc.command import PreparedCommand
from operable.proc.reactor import Reactor
from operable.proc.tree.escalation import Graces
from operable.run.judge import CANCELLED, DOWNSTREAM

# A stage is paused when the next one has this much still to read: four pipes full, to keep both sides busy.
HIGH_WATER = 256 * 1024
# How long a stage whose reader is gone may take to notice; a source that is about to write notices at once.
DOWNSTREAM_GRACE = 2.0


class Sink(Protocol):
    """Receives the bytes of the last stage. `put` is called in the reactor's thread."""

    def put(self, chunk: bytes) -> None: ...
    def finish(self) -> None: ...


class Chain:
    """Running stages. All methods belong to the reactor's thread."""

    def __init__(
        self,
        reactor: Reactor,
        commands: Sequence[PreparedCommand],
        sink: Sink,
        *,
        stdin: Stdin = None,
        timeout: float | None = None,
        graces: Graces | None = None,
        watch: Callable[[int, bytes], object] = lambda _stage, _chunk: None,
        on_stderr: Callable[[bytes], object] | None = None,
    ) -> None:
        self._reactor = reactor
        self._sink = sink
        self._watch = watch
        self.ends: list[ChildEnd | None] = [None] * len(commands)
        self.cut: list[bool] = [False] * len(commands)  # its reader went away before it had ended
        self.failure: Fail | None = None
        self._children: list[Child | None] = [None] * len(commands)
        last = len(commands) - 1
        try:
            for stage in range(last, -1, -1):
                self._children[stage] = Child(
                    reactor,
                    commands[stage],
                    stdin=stdin if stage == 0 else OPEN,
                    on_stdout=sink.put if stage == last else partial(self._pass_on, stage),
                    on_stdout_end=None if stage == last else partial(self._stdout_ended, stage),
                    on_end=partial(self._ended, stage),
                    on_stderr=on_stderr,
                    timeout=timeout,
                    graces=graces,
                )
                if stage < last:
                    self._connect(stage)
        except Fail as failure:
            self.failure = failure
            self.kill(CANCELLED)

    @property
    def done(self) -> bool:
        return all(child is None or child.ended is not None for child in self._children)

    @property
    def pids(self) -> list[int]:
        """The groups that are still running."""
        return [child.pid for child in self._children if child is not None and child.ended is None]

    def cancel(self, cause: str = CANCELLED) -> None:
        """SIGINT, SIGTERM, SIGKILL to every stage's group, with the graces between."""
        for child in self._children:
            if child is not None:
                child.cancel(cause)

    def kill(self, cause: str = CANCELLED) -> None:
        for child in self._children:
            if child is not None:
                child.kill(cause)

    def abort(self) -> None:
        """End everything without the reactor, which has crashed."""
        for stage, child in enumerate(self._children):
            if child is not None:
                child.abort()
                self.ends[stage] = child.ended

    def pause(self) -> None:
        child = self._children[-1]
        if child is not None:
            child.stdout.pause()

    def resume(self) -> None:
        child = self._children[-1]
        if child is not None:
            child.stdout.resume()

    def _connect(self, stage: int) -> None:
        source, target = self._children[stage], self._children[stage + 1]
        if source is not None and target is not None and target.stdin is not None:
            target.stdin.on_drain = source.stdout.resume
            target.stdin.on_break = partial(self._reader_gone, stage)

    def _pass_on(self, stage: int, chunk: bytes) -> None:
        self._watch(stage, chunk)
        source, target = self._children[stage], self._children[stage + 1]
        if source is None or target is None or target.stdin is None:
            return
        target.stdin.write(chunk)
        if target.stdin.backlog >= HIGH_WATER:
            source.stdout.pause()

    def _stdout_ended(self, stage: int) -> None:
        target = self._children[stage + 1]
        if target is not None and target.stdin is not None:
            target.stdin.finish()

    def _reader_gone(self, stage: int) -> None:
        source = self._children[stage]
        if source is None or source.stdout.closed:
            return  # it had written everything; what became of that is not its concern
        self.cut[stage] = True
        source.stdout.close()
        self._reactor.call_later(DOWNSTREAM_GRACE, partial(source.cancel, DOWNSTREAM))

    def _ended(self, stage: int, end: ChildEnd) -> None:
        self.ends[stage] = end
        if self.done:
            self._sink.finish()
