"""`operable flow skill-path`: where an agent reads how manifests are written, one `flow_path` event each."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import FlowPath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command("skill-path", limit=None, examples=["flow skill-path", "flow skill-path --output jsonl"])
def skill_path(call: FlowCall) -> Iterator[FlowPath]:
    """Show where the skill on writing manifests is: ours, and the place for your own."""
    found = call.answer(call["home"] or "home")
    for name in ("skill_path", "home_skill_path"):
        yield FlowPath(name=name, path=found[name])


COMMAND = skill_path
