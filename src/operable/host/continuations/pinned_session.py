"""The agent's process stays alive between the turns of a conversation and keeps its own context.

Which turns share a process is the manifest's `key_scope`; a process that has had nothing to do for `idle_timeout_ms` is
ended, and the next turn starts another. An agent that ended by itself is replaced in the same way. For agents that keep
the context of a session in memory.
"""

import asyncio

from operable.host.registry import ALIVE
from operable.host.session import Session
from operable.host.strategy import Kept, Pool, Strategy, TurnRequest, as_it_is


async def _pinned(pool: Pool, request: TurnRequest, kept: Kept) -> Session:  # noqa: ARG001 - one shape for all
    if kept.idle is not None:
        kept.idle.cancel()
        kept.idle = None
    if kept.ending is not None:
        await kept.ending
        kept.ending = None
    if kept.session is None or kept.session.status not in ALIVE:
        kept.session = await pool.start()
    return kept.session


async def _rest(pool: Pool, request: TurnRequest, kept: Kept, session: Session) -> None:  # noqa: ARG001 - one shape for all
    loop = asyncio.get_running_loop()
    kept.idle = loop.call_later(pool.idle_seconds, _evict, kept)


def _evict(kept: Kept) -> None:
    session, kept.session, kept.idle = kept.session, None, None
    if session is not None and not session.running:
        kept.ending = asyncio.get_running_loop().create_task(session.close())


CONTINUATION = Strategy(
    "pinned-session", "One process for all turns of a conversation", _pinned, as_it_is, _rest
)
