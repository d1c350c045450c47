"""`operable flow run`: run a workflow here, from its scheduled roots along its triggers, one task after the other.

Every task passes its own gates as with `operable flow exec`. Gives one `flow_task` for each task as it ends, and counts them
in the summary. Exit status 65 when a task failed, also when its failure handler succeeded. `--dry-run` lists what could run.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowTask
from operable.tool import Change, Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@flow_command(
    "run",
    mutates=True,
    timeout=None,
    columns=("task_id", "status", "reason", "execution_id"),
    examples=[
        "flow run workflow.json --dry-run",
        "flow run workflow.json --root backup --output jsonl",
        "flow run workflow.json --all-roots --prompts --policy rules.toml",
    ],
)
def run(call: FlowCall) -> Iterator[Change[Any]]:
    """Run a workflow from its roots.

    task_timeout_ms: milliseconds for each task, in place of its own limit
    signer: who signs attestations
    evidence_provider: who signs evidence, in place of the profiles'
    require_evidence: fail tasks without evidence that can be verified
    require_authorization: refuse tasks that ask no policy
    identity_debug: show sessions without their secrets
    agent AGENT: the agent that runs prompts, in place of those that the tasks name
    policy FILE: a file with rules for agents
    """
    from operable.cli.flow.executions import planned_run

    return planned_run(call)  # type: ignore[return-value]  # and warnings


@run.apply
def go(changes: list[Change[Any]], context: Context) -> Iterator[FlowTask]:
    from operable.cli.flow.executions import ran

    yield from ran(changes, context)  # type: ignore[misc]  # and warnings


COMMAND = run
