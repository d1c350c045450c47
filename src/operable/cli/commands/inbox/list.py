"""`operable inbox list`: every question that waits for a person, of every session, call and run.

Questions of agents in sessions, of calls that a rule leaves to people (MCP, agents, flows), and approvals of runs of the
engine. The one that waits longest is in front. `operable inbox watch` goes on and shows what comes,
`operable inbox answer` answers them, from any terminal; the first answer counts.
"""

from __future__ import annotations

from operable.cli.gate.events import InboxItem
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    has_results=False,  # never cut short: a question that is not shown would be denied unseen
    limit=None,
    columns=("id", "age", "agent", "folder", "tool", "text", "command"),
    examples=["inbox list", "inbox list --output jsonl"],
)
def list_(*, context: Context) -> Iterator[InboxItem]:
    """List every question that waits for a person."""
    from operable.cli.gate.inbox import waiting

    return waiting(watch=False, rows=not context.machine)


COMMAND = list_
