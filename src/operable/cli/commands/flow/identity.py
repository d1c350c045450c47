"""`operable flow identity`: identity providers, and the identity of a task.

`providers` lists them, `schema NAME` shows one; `resolve FILE TASK` shows the identity that a task
would run as. `validate-delegation FILE TASK` says whether the delegation chain of that identity is valid. Credentials
are obtained for that, never shown, and given back.
"""

from __future__ import annotations

from operable.cli.flow.work_events import FlowDelegation, FlowIdentity, FlowProvider
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    columns=("name", "capabilities", "task_id", "principal_used", "trust", "delegation"),
    examples=[
        "flow identity",
        "flow identity schema env-bearer",
        "flow identity resolve workflow.json backup --output jsonl",
    ],
)
def identity(
    action: Literal["providers", "schema", "resolve", "validate-delegation"] = "providers",
    name: str | None = None,
    task: str | None = None,
    *,
    workflow: str | None = None,
    allow_commands: bool = False,
    allow_network: bool = False,
) -> Iterator[FlowProvider | FlowIdentity | FlowDelegation]:
    """List identity providers, or show the identity a task would run as.

    action: what to do
    name: the provider, or the manifest
    task: the task's id
    workflow: the workflow's id, when there are several
    allow_commands: run commands that the manifest names as sources of values, under the task's contract
    allow_network: ask servers that the manifest names
    """
    from operable.cli.flow import governance

    asked = governance.TaskQuestion(
        words=("identity", action),
        file=name,
        task=task,
        workflow=workflow,
        allow_commands=allow_commands,
        allow_network=allow_network,
    )
    return governance.identity(action, asked)


COMMAND = identity
