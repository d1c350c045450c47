"""What a continuation strategy is: the contract between `operable.host.continuation` and the entries of its catalogue.

A strategy gets one turn of one conversation: it provides the session, words the message, and says what becomes of the
session afterwards. What it remembers between turns is the `ConversationState` of the conversation's key.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from operable.host.arm import Message
from operable.host.session.session import Session
from operable.host.session.transcript import LIMIT, Said
from operable.host.start.options import StartOptions
from operable.manifest.kinds.agent_cli import AgentCli
from operable.wire.events import Notice

Key = tuple[tuple[str, str], ...]
# Characters of a conversation that are kept: what no strategy quotes has no use.
HISTORY = LIMIT


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn, before its strategy has seen it. `history` and `resume` are what the caller knows of earlier ones."""

    message: Message
    key: Key
    history: tuple[Said, ...] = ()
    resume: str | None = None


@dataclass(slots=True)
class ConversationState:
    """What is remembered of one key between turns."""

    session: Session | None = None
    agent_session_id: str | None = None
    history: list[Said] = field(default_factory=list)
    forgotten: int = 0  # turns of the history that were cut off since the last report
    in_place_of_another: bool = False  # there was no room for it, and that is not reported yet
    turns: int = 0  # that run
    idle: asyncio.TimerHandle | None = None
    ending: asyncio.Task[None] | None = None
    # Who provides the session: of two turns at once, one starts it and the other finds it.
    providing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_idle(self) -> bool:
        """No turn runs, also none of a caller who has stopped to listen."""
        return self.turns == 0 and not (self.session is not None and self.session.running)

    def remember(self, message: str, answer: str) -> None:
        """One more turn; the oldest ones go, whole, when there are more words than could ever be quoted."""
        self.history += [Said("user", message), Said("agent", answer)]
        size = sum(len(said.text) for said in self.history)
        while size > HISTORY:
            size -= len(self.history[0].text) + len(self.history[1].text)
            del self.history[:2]
            self.forgotten += 1

    def notices(self, *, quoting: bool) -> list[Notice]:
        """What was released since the last turn, each reported once."""
        found = []
        if self.in_place_of_another:
            found.append(
                Notice("conversation_let_go", "the conversation that was idle for longest was ended")
            )
            self.in_place_of_another = False
        if quoting and self.forgotten:
            text = f"the oldest turns ({self.forgotten}) are no longer quoted: there is no room for them"
            found.append(Notice("history_cut", text, data={"turns": self.forgotten}))
            self.forgotten = 0
        return found


class SessionSource(Protocol):
    """What conversations need of an agent."""

    @property
    def manifest(self) -> AgentCli: ...
    async def start(self, options: StartOptions, /) -> Session: ...


class Pool(Protocol):
    """What a strategy may ask of the conversations it serves."""

    @property
    def idle_seconds(self) -> float: ...
    async def start(self, resume: str | None = None) -> Session: ...


@dataclass(frozen=True, slots=True)
class Strategy:
    """An entry of `operable.host.continuations`."""

    name: str
    title: str
    # -> the session for this turn
    session: Callable[[Pool, TurnRequest, ConversationState], Awaitable[Session]]
    # -> the message as it goes to the agent
    message: Callable[[TurnRequest, ConversationState], Message]
    # the turn is over
    after: Callable[[Pool, TurnRequest, ConversationState, Session], Awaitable[None]]
    quotes: bool = False  # the history reaches the agent in words


async def fresh(pool: Pool, request: TurnRequest, kept: ConversationState) -> Session:  # noqa: ARG001 - one shape for all
    """A session of its own for this turn."""
    return await pool.start()


async def closed(pool: Pool, request: TurnRequest, kept: ConversationState, session: Session) -> None:  # noqa: ARG001 - one shape for all
    """The session ends with its turn."""
    await session.close()


def as_it_is(request: TurnRequest, kept: ConversationState) -> Message:  # noqa: ARG001 - one shape for all
    return request.message
