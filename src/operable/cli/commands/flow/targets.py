"""`operable flow targets`: the backends that manifests are compiled for, one `flow_target` event each."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import FlowTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "targets",
    limit=None,
    columns=("name", "description", "capabilities"),
    examples=["flow targets --output jsonl"],
)
def targets(call: FlowCall) -> Iterator[FlowTarget]:
    """List the backends, what they can do and what they enforce."""
    for target in call.answer()["targets"]:
        yield FlowTarget(**target)


COMMAND = targets
