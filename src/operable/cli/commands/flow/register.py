"""`operable flow register`: keep a manifest under a name."""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import RegistryChange
from operable.tool import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@flow_command(
    "registry-add",
    mutates=True,
    examples=["flow register disk.json", "flow register - --name disk --output jsonl"],
)
def register(call: FlowCall) -> Iterator[Change[Any]]:
    """Keep a manifest under a name, in the place of one that has it."""
    from operable.cli.flow.registry import planned_addition

    yield from planned_addition(call["manifest"], call["name"], call["home"])


@register.apply
def keep(changes: list[Change[Any]]) -> Iterator[RegistryChange]:
    from operable.cli.flow.registry import added

    yield from map(added, changes)


COMMAND = register
