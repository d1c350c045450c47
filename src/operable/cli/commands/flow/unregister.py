"""`operable flow unregister`: forget a manifest that is kept under a name. The file that it came from stays."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import RegistryChange
from operable.tool import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "registry-remove",
    destructive=True,
    examples=["flow unregister disk --dry-run", "flow unregister disk --confirm"],
)
def unregister(call: FlowCall) -> Iterator[Change]:
    """Forget a manifest of the registry."""
    from operable.cli.flow.registry import planned_removal

    yield planned_removal(call["name"], call["home"])


@unregister.apply
def forget(changes: list[Change]) -> Iterator[RegistryChange]:
    from operable.cli.flow.registry import removed

    yield from map(removed, changes)


COMMAND = unregister
