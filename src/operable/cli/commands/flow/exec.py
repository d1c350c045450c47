"""`operable flow exec`: run one task of a manifest here and now, with everything that it declares.

First its approval, proof, identity, trust and authorization are checked. The system enforces its contract while it runs.
Then it is verified, signed and recorded; docs/guides/run-a-workflow.md has the whole story. A prompt runs on an agent, which
may do nothing that it has to ask for unless `--policy` allows it. `--dry-run` shows what would run and asks no person.

Gives one `flow_execution`. Exit status 65 when the task failed; a gate that refuses is an error with its own status.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowExecution
from operable.tool import Change, Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@flow_command(
    "exec",
    mutates=True,
    timeout=None,
    columns=("task_id", "ok", "exit_code", "execution_id"),
    examples=[
        "flow exec workflow.json backup --dry-run",
        "flow exec workflow.json backup --require-evidence --output jsonl",
        "flow exec workflow.json ask --agent claude-code --policy rules.toml",
    ],
)
def exec_(call: FlowCall, context: Context) -> Iterator[Change[Any]]:
    """Run one task of a manifest."""
    from operable.cli.flow.executions import planned_execution

    yield planned_execution(call, context)


@exec_.apply
def run(changes: list[Change[Any]], context: Context) -> Iterator[FlowExecution]:
    from operable.cli.flow.executions import executed

    yield from executed(changes, context)  # type: ignore[misc]  # and warnings


COMMAND = exec_
