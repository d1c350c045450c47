"""`operable flow convert`: a 0.1 manifest in the words of 0.2, in one `converted_flow` event."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import ConvertedFlow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command("convert", limit=None, examples=["flow convert old.json --output jsonl"])
def convert(call: FlowCall) -> Iterator[ConvertedFlow]:
    """Convert a 0.1 manifest to 0.2."""
    yield ConvertedFlow(manifest=call.answer()["manifest"])


COMMAND = convert
