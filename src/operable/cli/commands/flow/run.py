"""`operable flow run`: run a workflow here, from its scheduled roots along its triggers, one task after the other.

Every task passes its own gates as with `operable flow exec`. Gives one `flow_task` for each task as it ends, and counts them
in the summary. Exit status 65 when a task failed, also when its failure handler succeeded. `--dry-run` lists what could run.
"""

from __future__ import annotations

from operable.cli.flow.work_events import FlowTask
from operable.tool import Change, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal


@command(
    mutates=True,
    timeout=None,
    columns=("task_id", "status", "reason", "execution_id"),
    examples=[
        "flow run workflow.json --dry-run",
        "flow run workflow.json --root backup --output jsonl",
        "flow run workflow.json --all-roots --prompts --policy rules.toml",
    ],
)
def run(
    file: str,
    *,
    workflow: str | None = None,
    root: str | None = None,
    all_roots: bool = False,
    prompts: bool = False,
    retry: bool = False,
    task_timeout_ms: int | None = None,
    signer: Literal["ssh", "none"] | None = None,
    signing_key: str | None = None,
    evidence_provider: str | None = None,
    instance_id: str | None = None,
    require_evidence: bool = False,
    require_authorization: bool = False,
    identity_debug: bool = False,
    presentation_debug: bool = False,
    agent: str | None = None,
    policy: str | None = None,
    home: str | None = None,
) -> Iterator[Change[Any]]:
    """Run a workflow from its roots.

    file: the manifest; - is standard input
    workflow: the workflow's id, when there are several
    root: begin at this scheduled task
    all_roots: begin at all scheduled tasks
    prompts: run prompt tasks on agents; without it a workflow that reaches some is refused
    retry: try failed tasks again, as often as they declare
    task_timeout_ms: milliseconds for each task, in place of its own limit
    signer: who signs attestations
    signing_key: the private key to sign with
    evidence_provider: who signs evidence, in place of the profiles'
    instance_id: which instance this is; part of what an approval is for
    require_evidence: fail tasks without evidence that can be verified
    require_authorization: refuse tasks that ask no policy
    identity_debug: show sessions without their secrets
    presentation_debug: show how credentials were presented
    agent: the agent that runs prompts, in place of those that the tasks name
    policy: a file with rules for agents
    home: where approvals and the audit are kept
    """
    from operable.cli.flow import work
    from operable.cli.flow.executions import planned_run
    from operable.cli.flow.input import read_manifest
    from operable.flow.run.executor import ExecOptions
    from operable.flow.run.workflow import RunOptions

    each = ExecOptions(
        timeout_ms=work.positive("--task-timeout-ms", task_timeout_ms),
        signer=signer,
        signing_key=signing_key,
        evidence_provider=evidence_provider,
        instance_id=instance_id,
        require_evidence=require_evidence,
        require_authorization=require_authorization,
        identity_debug=identity_debug,
        presentation_debug=presentation_debug,
        agent=agent,
        policy=work.policy(policy),
    )
    options = RunOptions(
        workflow_id=workflow, root=root, all_roots=all_roots, prompts=prompts, retry=retry, each=each
    )
    return planned_run(read_manifest(file), work.caller(home), options, file)  # type: ignore[return-value]  # and warnings


@run.apply
def go(changes: list[Change[Any]], context: Context) -> Iterator[FlowTask]:
    from operable.cli.flow.executions import ran

    yield from ran(changes, context)  # type: ignore[misc]  # and warnings


COMMAND = run
