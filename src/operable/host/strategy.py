"""What a continuation strategy is: the contract between `operable.host.continuation` and the entries of its catalogue.

A strategy gets one turn of one conversation: it provides the session, words the message, and says what becomes of the
session afterwards. What it remembers between turns is the `Kept` of the conversation's key.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from operable.host.arm import Message
from operable.host.session import Session
from operable.host.spoken import Said

Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn, before its strategy has seen it. `history` and `resume` are what the caller knows of earlier ones."""

    message: Message
    key: Key
    history: tuple[Said, ...] = ()
    resume: str | None = None


@dataclass(slots=True)
class Kept:
    """What is remembered of one key between turns."""

    session: Session | None = None
    agent_session_id: str | None = None
    history: list[Said] = field(default_factory=list)
    idle: asyncio.TimerHandle | None = None
    ending: asyncio.Task[None] | None = None
    # Who provides the session: of two turns at once, one starts it and the other finds it.
    providing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Pool(Protocol):
    """What a strategy may ask of the conversations it serves."""

    @property
    def idle_seconds(self) -> float: ...
    async def start(self, **options: Any) -> Session: ...


@dataclass(frozen=True, slots=True)
class Strategy:
    """An entry of `operable.host.continuations`."""

    name: str
    title: str
    # -> the session for this turn
    session: Callable[[Pool, TurnRequest, Kept], Awaitable[Session]]
    # -> the message as it goes to the agent
    message: Callable[[TurnRequest, Kept], Message]
    # the turn is over
    after: Callable[[Pool, TurnRequest, Kept, Session], Awaitable[None]]


async def fresh(pool: Pool, request: TurnRequest, kept: Kept) -> Session:  # noqa: ARG001 - one shape for all
    """A session of its own for this turn."""
    return await pool.start()


async def closed(pool: Pool, request: TurnRequest, kept: Kept, session: Session) -> None:  # noqa: ARG001 - one shape for all
    """The session ends with its turn."""
    await session.close()


def as_it_is(request: TurnRequest, kept: Kept) -> Message:  # noqa: ARG001 - one shape for all
    return request.message
