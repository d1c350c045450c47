"""`operable flow compile`: a manifest as a backend wants it, in one `compiled_flow` event."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import CompiledFlow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "compile",
    limit=None,
    examples=[
        "flow compile workflow.json --output jsonl",
        "flow compile workflow.json --target openclaw-scheduler --explain",
    ],
)
def compile_(call: FlowCall) -> Iterator[CompiledFlow]:
    """Compile a manifest for a backend."""
    found = call.answer()
    yield CompiledFlow(target=found["target"], output=found["output"])


COMMAND = compile_
