"""`operable agent kill`: end a running session, whichever process runs it: its turn, its agent, and all of its processes.

The process that runs the session does it, so that its log and its audit chain are closed; the command waits for that. A
session that has ended stays as it is.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentStopped
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    timeout=120.0,  # an agent that ignores its signals is ended within one minute
    examples=["agent kill ses_0f2c", "agent kill ses_0f2c --output jsonl"],
)
def kill(session: str) -> Iterator[Change]:
    """End a running session.

    session: its id, or the unique beginning of one
    """
    from operable.cli.agent.session_control import planned_request

    change = planned_request(session, "kill")
    if change is not None:
        yield change


@kill.apply
def ask(changes: list[Change]) -> Iterator[AgentStopped]:
    from operable.cli.agent.session_control import requested

    for change in changes:
        yield requested(change, "kill")


COMMAND = kill
