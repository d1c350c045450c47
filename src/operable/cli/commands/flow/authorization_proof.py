"""`operable flow authorization-proof`: how an authorization is proven, and the proof of a task.

`methods` lists the ways, `schema NAME` shows one; `verify FILE TASK` checks the proof of a task now, as its execution would.
"""

from __future__ import annotations

from operable.cli.flow.work_events import FlowProof, FlowProvider
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
    allow_commands: bool = False,
    allow_network: bool = False,
) -> Iterator[FlowProvider | FlowProof]:
    """List proof methods, or verify the proof of a task.

    action: what to do
    name: the method, or the manifest
    task: the task's id
    workflow: the workflow's id, when there are several
    allow_commands: run commands that the manifest names as sources of values, under the task's contract
    allow_network: ask servers that the manifest names
    """
    from operable.cli.flow import governance

    asked = governance.TaskQuestion(
        words=("authorization-proof", action),
        file=name,
        task=task,
        workflow=workflow,
        allow_commands=allow_commands,
        allow_network=allow_network,
    )
    return governance.authorization_proof(action, asked)


COMMAND = authorization_proof
