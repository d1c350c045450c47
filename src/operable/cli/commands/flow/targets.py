"""`operable flow targets`: the backends that manifests are compiled for, one `flow_target` event each."""

from __future__ import annotations

from operable.cli.flow.backend_events import FlowTarget
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None, columns=("name", "description", "capabilities"), examples=["flow targets --output jsonl"]
)
def targets() -> Iterator[FlowTarget]:
    """List the backends, what they can do and what they enforce."""
    from operable.cli.flow.input import answer

    for target in answer("targets", "targets")["targets"]:
        yield FlowTarget(**target)


COMMAND = targets
