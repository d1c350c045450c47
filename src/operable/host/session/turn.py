"""One turn as its sender sees it: an asynchronous iterator over the events, read from the session's log.

Reading is never in the way of the agent: a caller that iterates slowly, stops, or goes away leaves the turn running and
the log growing. `async with` ends a turn that is still running when the block is left.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, Final, Protocol, Self

from operable.host.session.log import LogReader, SessionLog
from operable.kernel.data_class import dataclass
from operable.wire.events import (
    COMPLETED,
    AgentError,
    AgentPrompt,
    AnyEvent,
    Failure,
    Notice,
    TextDelta,
    Thought,
    ToolCall,
    TurnEnd,
    Usage,
)

# What a reader still gets of a turn that it is too late to read: the reason of its end is among these.
_LAST = 100
UNNUMBERED: Final = "unnumbered"
_SAYS: Final = (AgentPrompt, Thought, ToolCall)
_QUOTED: Final = 500


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A whole turn in one value. `first_id` and `last_id` are its place in the log."""

    reason: str
    text: str
    usage: Usage | None
    errors: tuple[Failure, ...]
    tool_calls: int
    first_id: int
    last_id: int

    @property
    def ok(self) -> bool:
        return self.reason == "completed"


class TurnContent:
    """Whether a turn that ended as completed has an answer in it: half of all agents end it so when their model is dead.

    Kept is the last piece of text, which the session sets (the shortest way for most of everything), and whether anything
    else came. A turn without a word, a thought or a call is an `empty_turn`. Which text is an error and not an answer only
    the manifest can say (`metadata.operable.model_error_text`): patterns of such a piece of text, or `unnumbered`, for an
    agent that numbers the messages of its model and no other text. Then the notice is `model_error`.
    """

    def __init__(self, quirks: Mapping[str, Any]) -> None:
        self.text: TextDelta | None = None
        self._marks = quirks.get("model_error_text")
        self._is_empty = True

    def add(self, event: AnyEvent) -> None:
        """An event other than text."""
        if isinstance(event, _SAYS):
            self._is_empty = False

    def doubt(self, end: TurnEnd) -> Notice | None:
        """What to say beside the end of the turn; None: nothing is doubtful."""
        if end.reason != COMPLETED:
            return None
        if self.text is None:
            text = "the turn was completed without a word: its model may have failed"
            return Notice("empty_turn", text, end.session_id) if self._is_empty else None
        if not self._is_error(self.text):
            return None
        said = " ".join(self.text.text.split())[:_QUOTED]
        text = f"the agent reports an error of its model as an answer: {said}"
        return Notice("model_error", text, end.session_id)

    def _is_error(self, text: TextDelta) -> bool:
        if self._marks == UNNUMBERED:
            return text.message_id is None
        marks = self._marks if isinstance(self._marks, (list, tuple)) else ()
        said = text.text.strip()
        return any(fnmatchcase(said, mark) for mark in marks if isinstance(mark, str))


class TurnOwner(Protocol):
    """What a turn needs of its session."""

    @property
    def log(self) -> SessionLog: ...
    async def cancel(self) -> bool: ...
    def raise_failure(self) -> None: ...


class Turn:
    """The events of one turn, each durable before it is here; ends after its turn-end."""

    def __init__(self, session: TurnOwner, reader: LogReader, text: str, limit: float | None = None) -> None:
        self.text = text  # what was sent
        self.limit = limit  # seconds that it may take
        self.end: TurnEnd | None = None
        self.over = asyncio.Event()  # the turn-end is in the log
        self._session = session
        self._reader = reader
        self._ready: deque[AnyEvent] = deque()
        self.first_id = reader.position + 1

    def __aiter__(self) -> AsyncIterator[AnyEvent]:
        return self

    async def __anext__(self) -> AnyEvent:
        while not self._ready:
            batch = await self._next()
            if not batch:
                raise StopAsyncIteration
            self._ready.extend(batch)
        return self._ready.popleft()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.over.is_set():
            await self._session.cancel()

    def detach(self) -> None:
        """The sender does not read the turn: nothing is kept in memory for it."""
        self._session.log.release(self._reader)

    def skip(self) -> int:
        """Go on with the last events of a turn that is over, for a reader that is behind; how many it leaves out."""
        if not self.over.is_set() or self.end is not None:
            return 0
        return self._reader.skip(_LAST)

    async def batches(self) -> AsyncIterator[list[AnyEvent]]:
        """The events in the lists in which they arrived: for a consumer that is fast."""
        while batch := await self._next():
            yield batch

    async def result(self) -> TurnResult:
        """Run to the end; what came of it. Events that were taken before are not part of it."""
        texts: list[str] = []
        errors: list[Failure] = []
        calls = 0
        async for event in self:
            match event:
                case TextDelta(text=text):
                    texts.append(text)
                case AgentError(error=error):
                    errors.append(error)
                case ToolCall():
                    calls += 1
        end = self.end
        return TurnResult(
            end.reason if end is not None else "error",
            "".join(texts),
            end.usage if end is not None else None,
            tuple(errors),
            calls,
            self.first_id,
            self._reader.position,
        )

    async def _next(self) -> list[AnyEvent]:
        """The next events, at least one; [] after the end."""
        if self.end is not None:
            return []
        while not (records := self._reader.take()):
            self._session.raise_failure()
            if self._session.log.closed:
                return []
            await self._session.log.changed()
        events = [record.event for record in records]
        for place, event in enumerate(events, 1):
            if type(event) is TurnEnd:
                self.end = event
                return events[:place]
        return events
