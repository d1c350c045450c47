"""`operable agent interrupt`: end the running turn of a session, whichever process runs it. The session goes on.

The turn ends as `cancelled` for all who follow it. Without a running turn nothing happens.
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
    examples=["agent interrupt ses_0f2c", "agent interrupt ses_0f2c --output jsonl"],
)
def interrupt(session: str) -> Iterator[Change]:
    """End the running turn of a session.

    session: its id, or the unique beginning of one
    """
    from operable.cli.agent.session_control import planned_request

    change = planned_request(session, "interrupt")
    if change is not None:
        yield change


@interrupt.apply
def ask(changes: list[Change]) -> Iterator[AgentStopped]:
    from operable.cli.agent.session_control import requested

    for change in changes:
        yield requested(change, "interrupt")


COMMAND = interrupt
