"""`operable flow authorization`: policy engines, and what one says about a task.

`providers` lists them, `schema NAME` shows one; `evaluate FILE TASK` asks the policy of a task, after its proof, identity
and trust. A denial is an answer, with exit status 0.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowDecision, FlowProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "authorization-providers",
    "authorization-schema",
    "authorization-evaluate",
    limit=None,
    columns=("name", "capabilities", "task_id", "decision", "allowed", "reason"),
    examples=["flow authorization", "flow authorization evaluate workflow.json deploy --output jsonl"],
)
def authorization(call: FlowCall) -> Iterator[FlowProvider | FlowDecision]:
    """List authorization providers, or ask the policy of a task.

    name: the provider, or the manifest
    """
    from operable.cli.flow import governance

    return governance.authorization(call)


COMMAND = authorization
