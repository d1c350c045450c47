"""`operable flow schema`: the JSON Schema of a manifest, or of what is made of it, in one `flow_schema` event."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import FlowSchema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "schema", limit=None, examples=["flow schema --output jsonl", "flow schema scheduler-job --legacy"]
)
def schema(call: FlowCall) -> Iterator[FlowSchema]:
    """Show a published schema."""
    found = call.answer()
    yield FlowSchema(target=call["target"], schema_format=found["schema_format"], schema=found["schema"])


COMMAND = schema
