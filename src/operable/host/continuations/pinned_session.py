"""The agent's process stays alive between the turns of a conversation and keeps its own context.

Which turns share a process is the manifest's `key_scope`; a process that has had nothing to do for `idle_timeout_ms` is
ended, and the next turn starts another. An agent that ended by itself is replaced in the same way. Of two turns at once in
one conversation the second is refused by the session (conflict/TURN_RUNNING), and no process is lost over it. For agents
that keep the context of a session in memory.
"""

import asyncio

from operable.host.continuation import ConversationState, Pool, Strategy, TurnRequest, as_it_is
from operable.host.session.registry import ALIVE
from operable.host.session.session import Session


async def _pinned(pool: Pool, request: TurnRequest, kept: ConversationState) -> Session:  # noqa: ARG001 - one shape for all
    _keep(kept)
    async with kept.providing:
        if kept.ending is not None:
            await kept.ending
            kept.ending = None
        if kept.session is None or kept.session.status not in ALIVE:
            kept.session = await pool.start()
        return kept.session


async def _rest(pool: Pool, request: TurnRequest, kept: ConversationState, session: Session) -> None:  # noqa: ARG001 - one shape for all
    _keep(kept)
    kept.idle = asyncio.get_running_loop().call_later(pool.idle_seconds, _evict, pool, kept)


def _keep(kept: ConversationState) -> None:
    """It is not idle now."""
    if kept.idle is not None:
        kept.idle.cancel()
        kept.idle = None


def _evict(pool: Pool, kept: ConversationState) -> None:
    session, kept.idle = kept.session, None
    if session is None:
        return
    if session.running:  # of a caller who has stopped to listen, or of one beside whom another was refused
        kept.idle = asyncio.get_running_loop().call_later(pool.idle_seconds, _evict, pool, kept)
        return
    kept.session = None
    kept.ending = asyncio.get_running_loop().create_task(session.close())


CONTINUATION = Strategy(
    "pinned-session", "One process for all turns of a conversation", _pinned, as_it_is, _rest
)
