"""`operable flow describe`: what the control plane can do, by topic, in one `flow_description` event."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import FlowDescription

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command("describe", limit=None, examples=["flow describe rpc --output jsonl"])
def describe(call: FlowCall) -> Iterator[FlowDescription]:
    """Describe a topic."""
    yield FlowDescription(topic=call["target"], description=call.answer()["description"])


COMMAND = describe
