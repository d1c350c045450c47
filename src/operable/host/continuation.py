"""How earlier turns reach an agent: conversations by key, in one of the strategies of `operable.host.continuations`.

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
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from operable.host.arm import Message
from operable.host.session.session import Session
from operable.host.session.transcript import Said
from operable.host.start.options import StartOptions
from operable.host.strategy import ConversationState, Key, SessionSource, Strategy, TurnRequest
from operable.kernel.catalogue import load, to_name
from operable.kernel.errors import Fail
from operable.manifest.patches import strategy_for
from operable.manifest.rules.agent_blocks import PinnedSession
from operable.wire.events import AnyEvent, TextDelta

KEY_PARTS = ("conversation", "operator", "user", "guild", "workspace")


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
