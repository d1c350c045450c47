"""`operable agent approvals`: the questions of running agents that wait for an answer.

A question is named by its session and its own id: ids are unique within a session only. `operable agent answer` answers one,
from any terminal; the first answer counts, and without one it is denied after the time limit (`expires_at`).
"""

from __future__ import annotations

from operable.cli.agent.events import AgentQuestion
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    has_results=False,  # never cut short: a question that is not shown would be denied unseen
    limit=None,
    columns=("session", "question", "kind", "tool", "text", "arguments"),
    examples=["agent approvals", "agent approvals --session ses_0f2c --output jsonl"],
)
def approvals(*, session: str | None = None) -> Iterator[AgentQuestion]:
    """List the questions that wait for an answer.

    session SESSION: only those of this session
    """
    from operable.cli.agent.approvals import questions

    return questions(session)


COMMAND = approvals
