"""`operable flow schema`: the JSON Schema of a manifest, or of what is made of it, in one `flow_schema` event."""

from __future__ import annotations

from operable.cli.flow.events import FlowSchema
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow schema --output jsonl", "flow schema scheduler-job --legacy"])
def schema(target: str = "manifest", *, legacy: bool = False) -> Iterator[FlowSchema]:
    """Show a published schema.

    target: manifest, workflow, task, scheduler-job, standalone-plan, handoff-v4, rpc-request or rpc-response
    legacy: the older descriptor form
    """
    from operable.cli.flow.input import answer

    found = answer("schema", target, target=target, legacy=legacy)
    yield FlowSchema(target=target, schema_format=found["schema_format"], schema=found["schema"])


COMMAND = schema
