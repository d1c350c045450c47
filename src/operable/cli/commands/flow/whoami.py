"""`operable flow whoami`: the identity a task would run as, in one `flow_identity` event. Credentials are given back.

A credential that a command of the manifest gives is obtained only with `--allow-commands`, one that a server gives only
with `--allow-network`.
"""

from __future__ import annotations

from operable.cli.flow.work_events import FlowIdentity
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    columns=("workflow_id", "task_id", "principal_used", "trust"),
    examples=["flow whoami workflow.json backup --output jsonl"],
)
def whoami(
    file: str,
    task: str,
    *,
    workflow: str | None = None,
    allow_commands: bool = False,
    allow_network: bool = False,
) -> Iterator[FlowIdentity]:
    """Show the identity a task would run as.

    file: the manifest; - is standard input
    task: the task's id
    workflow: the workflow's id, when there are several
    allow_commands: run commands that the manifest names as sources of values, under the task's contract
    allow_network: ask servers that the manifest names
    """
    from operable.cli.flow import governance

    asked = governance.TaskQuestion(
        words=("whoami",),
        file=file,
        task=task,
        workflow=workflow,
        allow_commands=allow_commands,
        allow_network=allow_network,
    )
    yield governance.whoami(asked)


COMMAND = whoami
