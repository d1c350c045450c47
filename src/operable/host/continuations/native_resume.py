"""A fresh process for every turn that resumes the agent's own stored session.

The id is the one that the agent reported in the turn before, or the caller's `resume`; the first turn of a conversation has
none. Needs `capabilities.resumable`; how the id reaches the agent (a message of its protocol, an argument) is the arm's.
"""

from operable.host.continuation import ConversationState, Pool, Strategy, TurnRequest, as_it_is, closed
from operable.host.session.session import Session


async def _resumed(pool: Pool, request: TurnRequest, kept: ConversationState) -> Session:
    return await pool.start(resume=request.resume or kept.agent_session_id)


CONTINUATION = Strategy(
    "native-resume", "The agent resumes its own stored session", _resumed, as_it_is, closed
)
