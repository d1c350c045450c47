"""`operable flow approve`: approve one execution of a task, exactly as it is now.

The approval is bound to the manifest, the command, the folder and every variable that the task would get; after a change of
any of them it is void, and the refusal says which. It is signed with your SSH key; `--signer none` makes an unsigned one.
It is used once, by `operable flow exec` or `run`, within its time.
"""

from __future__ import annotations

from operable.cli.flow.work_events import FlowApproval
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal


@command(
    mutates=True,
    columns=("approval_id", "task_id", "approver", "approver_from", "expires_at"),
    examples=[
        "flow approve workflow.json deploy --reason 'release 7' --dry-run",
        "flow approve workflow.json deploy --by me@example.com --ttl-s 600 --output jsonl",
    ],
)
def approve(
    file: str,
    task: str,
    *,
    workflow: str | None = None,
    by: str | None = None,
    reason: str | None = None,
    ttl_s: int | None = None,
    task_timeout_ms: int | None = None,
    instance_id: str | None = None,
    signer: Literal["ssh", "none"] | None = None,
    signing_key: str | None = None,
    home: str | None = None,
) -> Iterator[Change]:
    """Approve one execution of a task.

    file: the manifest; - is standard input
    task: the task's id
    workflow: the workflow's id, when there are several
    by: who approves; by default your account on this machine, whatever USER and HOSTNAME say
    reason: why
    ttl_s: seconds until it expires; at most what the task allows
    task_timeout_ms: the limit that the execution will be given
    instance_id: the instance that the execution will be given
    signer: who signs it
    signing_key: the private key to sign with
    home: where approvals are kept
    """
    from operable.cli.flow import work
    from operable.cli.flow.approvals import planned_grant
    from operable.cli.flow.input import read_manifest

    return planned_grant(  # type: ignore[return-value]  # and warnings
        read_manifest(file),
        task,
        work.caller(home),
        source=file,
        workflow=workflow,
        by=by,
        reason=reason,
        ttl=work.positive("--ttl-s", ttl_s),
        timeout_ms=work.positive("--task-timeout-ms", task_timeout_ms),
        instance_id=instance_id,
        signer=signer,
        key=signing_key,
    )


@approve.apply
def grant(changes: list[Change[Callable[[], FlowApproval]]]) -> Iterator[FlowApproval]:
    for change in changes:
        yield change.payload()


COMMAND = approve
