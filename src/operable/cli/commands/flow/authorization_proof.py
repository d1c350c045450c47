"""`operable flow authorization-proof`: how an authorization is proven, and the proof of a task.

`methods` lists the ways, `schema NAME` shows one; `verify FILE TASK` checks the proof of a task now, as its execution would.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowProof, FlowProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "authorization-proof-methods",
    "authorization-proof-schema",
    "authorization-proof-verify",
    limit=None,
    columns=("name", "capabilities", "task_id", "authorization_proof"),
    examples=[
        "flow authorization-proof",
        "flow authorization-proof verify workflow.json deploy --output jsonl",
    ],
)
def authorization_proof(call: FlowCall) -> Iterator[FlowProvider | FlowProof]:
    """List proof methods, or verify the proof of a task.

    name: the method, or the manifest
    """
    from operable.cli.flow import governance

    return governance.authorization_proof(call)


COMMAND = authorization_proof
