"""`operable flow whoami`: as whom a task would run, in one `flow_identity` event. Credentials are given back."""

from __future__ import annotations

from operable.cli.flow_work_events import FlowIdentity
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
    file: str, task: str, *, workflow: str | None = None, home: str | None = None
) -> Iterator[FlowIdentity]:
    """Say as whom a task would run.

    file: the manifest; - is standard input
    task: the task's id
    workflow: the workflow's id, when there are several
    home: where manifests, approvals and the audit are kept
    """
    from operable.cli import flow_governance
    from operable.cli.flow_input import read_manifest

    yield flow_governance.whoami(read_manifest(file), task, workflow, home, file)


COMMAND = whoami
