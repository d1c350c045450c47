"""`operable agent sessions`: the sessions of this user, newest first, running or ended, whichever process runs them.

A session whose host has died is marked as such before it is shown: nothing stays "running" forever. The log of one is
read with `operable agent logs`.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentSession
from operable.tool import Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    cursor=("started_at", "id"),
    columns=("id", "agent", "status", "started_at", "turns", "workspace"),
    examples=["agent sessions", "agent sessions --alive --workspace . --output jsonl"],
)
def sessions(
    *, workspace: str | None = None, agent: str | None = None, alive: bool = False, page: Page
) -> Iterator[AgentSession]:
    """List sessions, newest first.

    workspace DIR: only those of this folder
    agent AGENT: only those of the agent with this id
    alive: only those that run
    """
    from operable.cli.agent.logs import listed

    return listed(page.after, workspace=workspace, agent=agent, alive=alive)


COMMAND = sessions
