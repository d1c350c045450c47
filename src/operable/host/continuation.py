"""How earlier turns reach an agent: conversations by key, in one of the strategies of `operable.host.continuations`.

    talks = agent.conversations(workspace=".")
    async for event in talks.turn("And then?", conversation="c1", operator="o1"):
        ...

A turn names its key (conversation, operator, user, guild, workspace); which parts of it count is the manifest's
`key_scope`. What a strategy does with a turn is its own: get a session, word the message, and say what happens to the
session afterwards. The choice is made per turn and refused outside `supported`.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from operable.host.arm import Message
from operable.host.session import Session
from operable.host.spoken import Said
from operable.host.strategy import Kept, Key, Strategy, TurnRequest
from operable.host.works import Limits
from operable.kernel.catalogue import load, to_name
from operable.manifest.agent_blocks import PinnedSession
from operable.manifest.patches import strategy_for
from operable.wire.events import AnyEvent, TextDelta

if TYPE_CHECKING:
    from operable.host.agent_cli import AgentCliHandle

KEY_PARTS = ("conversation", "operator", "user", "guild", "workspace")


class Conversations:
    """The conversations with one agent. Close it, or use `async with`: what it keeps alive ends with it."""

    def __init__(self, agent: "AgentCliHandle", options: Mapping[str, Any]) -> None:
        self._agent = agent
        self._options = dict(options)
        self._kept: dict[Key, Kept] = {}
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
        kept = self._kept.setdefault(request.key, Kept())
        session = await strategy.session(self, request, kept)
        texts: list[str] = []
        try:
            async for event in session.send(strategy.message(request, kept)):
                if isinstance(event, TextDelta):
                    texts.append(event.text)
                yield event
        finally:
            kept.history += [Said("user", request.message.text), Said("agent", "".join(texts))]
            kept.agent_session_id = session.agent_session_id or kept.agent_session_id
            await strategy.after(self, request, kept, session)

    def key(self, given: Mapping[str, str]) -> Key:
        """The parts of a key that the manifest's `key_scope` names."""
        surplus = sorted(set(given) - set(KEY_PARTS))
        if surplus:
            raise TypeError(f"a conversation has no {', '.join(surplus)}; it has {', '.join(KEY_PARTS)}")
        return tuple((part, given.get(part, "")) for part in self._pinned.key_scope)

    async def start(self, **more: Any) -> Session:
        """A new session with the options of these conversations; how long it may be idle is for its strategy to say."""
        limits = replace(self._options.get("limits", Limits()), idle=float("inf"))
        return await self._agent.start(**{**self._options, "limits": limits, **more})

    async def close(self) -> None:
        """End every session that is kept."""
        kept, self._kept = list(self._kept.values()), {}
        for each in kept:
            async with each.providing:  # a session that is being started is one, too
                if each.idle is not None:
                    each.idle.cancel()
                if each.ending is not None:
                    await each.ending
                if each.session is not None:
                    await each.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def strategy_named(name: str) -> Strategy:
    found: Strategy = load("operable.host.continuations", to_name(name), "CONTINUATION", kind="continuation")
    return found
