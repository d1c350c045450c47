"""`operable flow authorization`: policy engines, and what one says about a task.

`providers` lists them, `schema NAME` shows one; `evaluate FILE TASK` asks the policy of a task, after its proof, identity
and trust. A denial is an answer, with exit status 0.
"""

from __future__ import annotations

from operable.cli.flow.work_events import FlowDecision, FlowProvider
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    columns=("name", "capabilities", "task_id", "decision", "allowed", "reason"),
    examples=["flow authorization", "flow authorization evaluate workflow.json deploy --output jsonl"],
)
def authorization(
    action: Literal["providers", "schema", "evaluate"] = "providers",
    name: str | None = None,
    task: str | None = None,
    *,
    workflow: str | None = None,
    allow_commands: bool = False,
    allow_network: bool = False,
) -> Iterator[FlowProvider | FlowDecision]:
    """List authorization providers, or ask the policy of a task.

    action: what to do
    name: the provider, or the manifest
    task: the task's id
    workflow: the workflow's id, when there are several
    allow_commands: run commands that the manifest names as sources of values, under the task's contract
    allow_network: ask servers that the manifest names
    """
    from operable.cli.flow import governance

    asked = governance.TaskQuestion(
        words=("authorization", action),
        file=name,
        task=task,
        workflow=workflow,
        allow_commands=allow_commands,
        allow_network=allow_network,
    )
    return governance.authorization(action, asked)


COMMAND = authorization
