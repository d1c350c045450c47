"""`operable flow capabilities`: what a scheduler enforces, and whether that is enough for a manifest.

Asks openclaw-scheduler and writes nothing. Exit status 65 when the manifest needs something that it does not enforce.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import BackendCapabilities
from operable.tool import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "apply",
    without=(
        "target",
        "adoptBy",
        "home",
        "database",
        "allowProofCommand",
        "allowNetwork",
    ),
    limit=None,
    columns=("compatible", "source", "handoff_version", "errors", "problem"),
    examples=["flow capabilities workflow.json --scheduler-bin openclaw-scheduler --output jsonl"],
)
def capabilities(call: FlowCall, context: Context) -> Iterator[BackendCapabilities]:
    """Ask a scheduler what it enforces.

    db FILE: the database of the scheduler
    """
    from operable.cli.flow.backends import negotiated

    found = negotiated(call)
    if not found.compatible:
        context.conclude(exit_code=65)
    yield found


COMMAND = capabilities
