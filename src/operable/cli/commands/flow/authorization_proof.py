"""`operable flow authorization-proof`: how an authorization is proven, and the proof of a task.

`methods` lists the ways, `schema NAME` shows one; `verify FILE TASK` checks the proof of a task now, as its execution would.
"""

from __future__ import annotations

from operable.cli.flow_work_events import FlowProof, FlowProvider
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    columns=("name", "capabilities", "task_id", "authorization_proof"),
    examples=[
        "flow authorization-proof",
        "flow authorization-proof verify workflow.json deploy --output jsonl",
    ],
)
def authorization_proof(
    action: Literal["methods", "schema", "verify"] = "methods",
    name: str | None = None,
    task: str | None = None,
    *,
    workflow: str | None = None,
    home: str | None = None,
) -> Iterator[FlowProvider | FlowProof]:
    """List proof methods, or verify the proof of a task.

    action: what to do
    name: the method, or the manifest
    task: the task's id
    workflow: the workflow's id, when there are several
    home: where manifests, approvals and the audit are kept
    """
    from operable.cli import flow_governance

    return flow_governance.authorization_proof(action, name, task, workflow, home)


COMMAND = authorization_proof
