"""`operable flow describe`: what the control plane can do, by topic, in one `flow_description` event."""

from __future__ import annotations

from operable.cli.flow.backend_events import FlowDescription
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow describe rpc --output jsonl"])
def describe(topic: str = "commands") -> Iterator[FlowDescription]:
    """Describe a topic.

    topic: manifest, workflow, task, targets, commands or rpc
    """
    from operable.cli.flow.input import answer

    yield FlowDescription(topic=topic, description=answer("describe", topic, target=topic)["description"])


COMMAND = describe
