"""`operable flow evidence`: who can sign what happened, one `flow_provider` event each; or one of them."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "evidence-providers",
    "evidence-schema",
    limit=None,
    columns=("name", "capabilities"),
    examples=["flow evidence", "flow evidence schema in-toto --output jsonl"],
)
def evidence(call: FlowCall) -> Iterator[FlowProvider]:
    """List evidence providers, or show one."""
    from operable.cli.flow import governance

    return governance.evidence(call)


COMMAND = evidence
