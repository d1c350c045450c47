"""`operable flow whoami`: the identity a task would run as, in one `flow_identity` event. Credentials are given back.

A credential that a command of the manifest gives is obtained only with `--allow-commands`, one that a server gives only
with `--allow-network`.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowIdentity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "whoami",
    limit=None,
    columns=("workflow_id", "task_id", "principal_used", "trust"),
    examples=["flow whoami workflow.json backup --output jsonl"],
)
def whoami(call: FlowCall) -> Iterator[FlowIdentity]:
    """Show the identity a task would run as."""
    from operable.cli.flow import governance

    yield governance.whoami(governance.TaskQuestion(call))


COMMAND = whoami
