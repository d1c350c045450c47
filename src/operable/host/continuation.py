"""How earlier turns reach an agent: conversations by key, and the contract of the strategies in `host/continuations`.

    talks = agent.conversations(workspace=".")
    async for event in talks.turn("And then?", conversation="c1", operator="o1"):
        ...

A turn names its key (conversation, operator, user, guild, workspace); which parts of it count is the manifest's
`key_scope`. What a strategy does with a turn is its own: get a session, word the message, and say what happens to the
session afterwards. The choice is made per turn and refused outside `supported`.

What is remembered is bounded, since a host may live for months and meet a new key with every caller. Of the words of a
conversation the newest whole turns are kept, no more than could ever be quoted; a caller that quotes less than was said
gets a notice. If a new conversation finds no room, the one without a turn for longest is ended, its process with it. A
notice also says that; when all of them have a turn that runs, the new one is refused.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import field, replace
from types import TracebackType
from typing import Protocol, Self

from operable.host.arm import Message
from operable.host.session.session import Session
from operable.host.session.transcript import LIMIT, Said
from operable.host.start.options import StartOptions
from operable.kernel.catalogue import load, to_name
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.patches import strategy_for
from operable.manifest.rules.agent_blocks import PinnedSession
from operable.wire.events import AnyEvent, Notice, TextDelta

Key = tuple[tuple[str, str], ...]
# Characters of a conversation that are kept: what no strategy quotes has no use.
HISTORY = LIMIT
KEY_PARTS = ("conversation", "operator", "user", "guild", "workspace")


# What a continuation strategy is: the contract between `operable.host.continuation` and the entries of its catalogue.
# A strategy gets one turn of one conversation: it provides the session, words the message, and says what becomes of the
# session afterwards. What it remembers between turns is the `ConversationState` of the conversation's key.
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


class Conversations:
    """The conversations with one agent. Close it, or use `async with`: what it keeps alive ends with it."""

    def __init__(self, agent: SessionSource, options: StartOptions, *, at_most: int) -> None:
        if at_most < 1:
            raise ValueError("at_most must be 1 or more")
        self._agent = agent
        self._options = replace(options, limits=replace(options.limits, idle=float("inf")))
        self._at_most = at_most
        self._kept: dict[Key, ConversationState] = {}  # the one with the latest turn is the last
        self._leaving: set[asyncio.Task[None]] = set()
        found = agent.manifest.continuation
        self._pinned = found.pinned_session if found is not None else PinnedSession()

    @property
    def idle_seconds(self) -> float:
        """After how long without a turn a pinned process is ended."""
        return self._pinned.idle_timeout_ms / 1000

    async def turn(
        self,
        message: str | Message,
        *,
        continuation: str | None = None,
        history: tuple[Said, ...] = (),
        resume: str | None = None,
        **key: str,
    ) -> AsyncIterator[AnyEvent]:
        """One turn in the conversation with this key; Fail usage/CONTINUATION_UNSUPPORTED before anything starts."""
        strategy = strategy_named(strategy_for(self._agent.manifest, continuation))
        request = TurnRequest(
            Message(message) if isinstance(message, str) else message, self.key(key), history, resume
        )
        kept = self._place_for(request.key)
        kept.turns += 1
        try:
            if self._leaving:  # one process goes before another comes
                await asyncio.wait(list(self._leaving))
            session = await strategy.session(self, request, kept)
            heard: list[str] = []
            try:
                for notice in kept.notices(quoting=strategy.quotes and not request.history):
                    yield notice
                async for event in session.send(strategy.message(request, kept)):
                    if isinstance(event, TextDelta):
                        heard.append(event.text)
                    yield event
            finally:
                kept.remember(request.message.text, "".join(heard))
                kept.agent_session_id = session.agent_session_id or kept.agent_session_id
                await strategy.after(self, request, kept, session)
        finally:
            kept.turns -= 1

    def key(self, given: Mapping[str, str]) -> Key:
        """The parts of a key that the manifest's `key_scope` names."""
        surplus = sorted(set(given) - set(KEY_PARTS))
        if surplus:
            raise TypeError(f"a conversation has no {', '.join(surplus)}; it has {', '.join(KEY_PARTS)}")
        return tuple((part, given.get(part, "")) for part in self._pinned.key_scope)

    async def start(self, resume: str | None = None) -> Session:
        """A new session with the options of these conversations; how long it may be idle is for its strategy to say."""
        options = self._options if resume is None else replace(self._options, resume=resume)
        return await self._agent.start(options)

    def _place_for(self, key: Key) -> ConversationState:
        """What is kept of this key, as the latest; of a new one when all are taken, in the place of the longest idle."""
        found = self._kept.pop(key, None)
        if found is None:
            found = ConversationState()
            if len(self._kept) >= self._at_most:
                self._let_go()
                found.in_place_of_another = True
        self._kept[key] = found
        return found

    def _let_go(self) -> None:
        oldest = next((key for key, kept in self._kept.items() if kept.is_idle), None)
        if oldest is None:
            text = f"all {self._at_most} conversations have a turn that runs"
            raise Fail("temporary", "TOO_MANY_CONVERSATIONS", text, hint="try again when one has ended")
        task = asyncio.get_running_loop().create_task(_end(self._kept.pop(oldest)))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """End every session that is kept."""
        kept, self._kept = list(self._kept.values()), {}
        for each in kept:
            await _end(each)
        await asyncio.gather(*self._leaving)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _end(kept: ConversationState) -> None:
    async with kept.providing:  # a session that is being started also counts
        if kept.idle is not None:
            kept.idle.cancel()
        if kept.ending is not None:
            await kept.ending
        if kept.session is not None:
            await kept.session.close()


def strategy_named(name: str) -> Strategy:
    found: Strategy = load("operable.host.continuations", to_name(name), "CONTINUATION", kind="continuation")
    return found
