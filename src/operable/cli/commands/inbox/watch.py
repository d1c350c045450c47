"""`operable inbox watch`: the questions that wait for a person, and those that come, until it is stopped.

The same questions as `operable inbox list` shows, each once. In machine mode it is a stream with heartbeats.
"""

from __future__ import annotations

from operable.cli.gate.events import InboxItem
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    unbounded=True,
    heartbeat=2.0,
    columns=("id", "age", "agent", "folder", "tool", "text", "command"),
    examples=["inbox watch", "inbox watch --timeout 3600 --output jsonl"],
)
def watch(*, context: Context) -> Iterator[InboxItem]:
    """Watch for questions that wait for a person."""
    from operable.cli.gate.inbox import waiting

    return waiting(watch=True, rows=not context.machine)


COMMAND = watch
