"""What an application prints, as it comes: one JSON document, kept within bounds, or a stream that is passed on at once.

The first line decides. If it is an `aoi:meta` and the caller set `on_passage`, each chunk is passed on with the events
that it completed. Nothing is kept, and the verdict follows at the end. Everything else is kept until the end
and judged then (`answers`), up to a limit. Sans-I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from operable.app.answers import Answer, judged, speaks_aoi, streamed
from operable.app.packages import Package
from operable.kernel.redact import Known, redact_text

if TYPE_CHECKING:
    from operable.run.judge import Judge
    from operable.wire.framework import Event

# A chunk of the stream and the events that it completed; False: enough, the application is to end.
OnPassage = Callable[[bytes, "list[Event]"], bool | None]


class Listener:
    """Reads the output of one application to its end."""

    def __init__(
        self,
        package: Package,
        limit: int,
        on_passage: OnPassage | None = None,
        known: Known | None = None,
    ) -> None:
        self._known = known if known is not None else Known()  # secrets that the application was given
        self._package = package
        self._limit = limit
        self._on_passage = on_passage
        self._pieces: list[bytes] = []
        self._size = 0
        self._decided = on_passage is None
        self._judge: Judge | None = None
        self._problem: Exception | None = None
        self.over = False  # it printed more than the limit
        self.enough = False  # the receiver of the passages wants no more of them

    def take(self, chunk: bytes) -> bool:
        """Take what it printed; False: it is to be ended."""
        if self._judge is not None:
            return self._pass(self._judge, chunk)
        self._pieces.append(chunk)
        self._size += len(chunk)
        if not self._decided and b"\n" in chunk:
            self._decided = True
            heard = b"".join(self._pieces)
            if speaks_aoi(heard):
                self._judge, self._pieces = _judge(), []
                return self._pass(self._judge, heard)
            self._pieces = [heard]
        if self._size > self._limit:
            self.over, self._pieces = True, []
        return not self.over

    def answer(self, status: int | None, stderr: str) -> Answer:
        """The answer, once it has ended."""
        judge = self._judge
        if judge is None:
            return judged(self._package, b"".join(self._pieces), status, stderr, self._known)
        from operable.proc.child import ChildEnd
        from operable.proc.excerpt import Excerpt

        if not self.enough and self._problem is None:
            self._give(b"", judge.deliver(judge.close()))
        if self._problem is not None:
            raise self._problem
        end = ChildEnd(status=status, cause=None, elapsed=0.0, stderr=Excerpt())
        told = streamed(judge.conclude(end, unread=self.enough), status, redact_text(stderr, self._known))
        return replace(told, message=self._known.text(told.message))

    def _pass(self, judge: Judge, chunk: bytes) -> bool:
        return self._give(chunk, judge.deliver(judge.read(chunk)))

    def _give(self, chunk: bytes, events: list[Any]) -> bool:
        if self.enough or self._problem is not None or self._on_passage is None:
            return False
        try:
            self.enough = self._on_passage(chunk, events) is False
        except Exception as problem:  # noqa: BLE001 - raised again when the application has ended, in any kind of loop
            self._problem = problem
        return not self.enough and self._problem is None


def _judge() -> Judge:
    from operable.run.judge import Judge
    from operable.run.options import Options

    return Judge(Options())
