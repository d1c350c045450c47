"""`operable flow plan`: what applying a manifest would change, field by field, one `planned_job` event a job.

Nothing is written. The backend is read, its capabilities are negotiated and proofs are verified, as applying would.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import PlannedJob
from operable.tool import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "plan",
    limit=None,
    examples=["flow plan workflow.json", "flow plan workflow.json --prune --output jsonl"],
)
def plan(call: FlowCall, context: Context) -> Iterator[PlannedJob]:
    """Show what applying a manifest would change."""
    from operable.cli.flow.backends import application, views

    return views(application(call, network=call["allowNetwork"]), context)  # type: ignore[return-value]  # and warnings


COMMAND = plan
