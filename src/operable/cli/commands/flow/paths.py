"""`operable flow paths`: where manifests, the registry, approvals and the audit are kept, one `flow_path` event each."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import FlowPath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command("paths", limit=None, examples=["flow paths", "flow paths --home ./flows --output jsonl"])
def paths(call: FlowCall) -> Iterator[FlowPath]:
    """Show where things are kept."""
    for name, path in call.answer(call["home"] or "home")["paths"].items():
        yield FlowPath(name=name, path=path)


COMMAND = paths
