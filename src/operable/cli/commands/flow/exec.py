"""`operable flow exec`: run one task of a manifest here and now, with everything that it declares.

First its approval, proof, identity, trust and authorization are checked. The system enforces its contract while it runs.
Then it is verified, signed and recorded; docs/guides/run-a-workflow.md has the whole story. A prompt runs on an agent, which
may do nothing that it has to ask for unless `--policy` allows it. `--dry-run` shows what would run and asks no person.

Gives one `flow_execution`. Exit status 65 when the task failed; a gate that refuses is an error with its own status.
"""

from __future__ import annotations

from operable.cli.flow.work_events import FlowExecution
from operable.tool import Change, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal


@command(
    mutates=True,
    timeout=None,
    columns=("task_id", "ok", "exit_code", "execution_id"),
    examples=[
        "flow exec workflow.json backup --dry-run",
        "flow exec workflow.json backup --require-evidence --output jsonl",
        "flow exec workflow.json ask --agent claude-code --policy rules.toml",
    ],
)
def exec_(
    file: str,
    task: str,
    *,
    workflow: str | None = None,
    task_timeout_ms: int | None = None,
    signer: Literal["ssh", "none"] | None = None,
    signing_key: str | None = None,
    evidence_provider: str | None = None,
    instance_id: str | None = None,
    require_evidence: bool = False,
    require_authorization: bool = False,
    identity_debug: bool = False,
    presentation_debug: bool = False,
    approval_id: str | None = None,
    agent: str | None = None,
    policy: str | None = None,
    home: str | None = None,
) -> Iterator[Change[Any]]:
    """Run one task of a manifest.

    file: the manifest; - is standard input
    task: the task's id
    workflow: the workflow's id, when there are several
    task_timeout_ms: milliseconds for the task, in place of its own limit
    signer: who signs the attestation
    signing_key: the private key to sign with
    evidence_provider: who signs the evidence, in place of the profile's
    instance_id: which instance this is; part of what an approval is for
    require_evidence: fail when there is no evidence that can be verified
    require_authorization: refuse a task that asks no policy
    identity_debug: show the session without its secrets
    presentation_debug: show how credentials were presented
    approval_id: use this approval
    agent: the agent that runs a prompt, in place of the one that the task names
    policy: a file with rules for the agent
    home: where approvals and the audit are kept
    """
    from operable.cli.flow import work
    from operable.cli.flow.executions import planned_execution
    from operable.cli.flow.input import read_manifest
    from operable.flow.run.executor import ExecOptions

    options = ExecOptions(
        workflow_id=workflow,
        timeout_ms=work.positive("--task-timeout-ms", task_timeout_ms),
        signer=signer,
        signing_key=signing_key,
        evidence_provider=evidence_provider,
        instance_id=instance_id,
        require_evidence=require_evidence,
        require_authorization=require_authorization,
        identity_debug=identity_debug,
        presentation_debug=presentation_debug,
        approval_id=approval_id,
        agent=agent,
        policy=work.policy(policy),
    )
    yield planned_execution(read_manifest(file), task, work.caller(home), options, file)


@exec_.apply
def run(changes: list[Change[Any]], context: Context) -> Iterator[FlowExecution]:
    from operable.cli.flow.executions import executed

    yield from executed(changes, context)  # type: ignore[misc]  # and warnings


COMMAND = exec_
