"""`operable flow register`: keep a manifest under a name."""

from __future__ import annotations

from operable.cli.flow.backend_events import RegistryChange
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@command(mutates=True, examples=["flow register disk.json", "flow register - --name disk --output jsonl"])
def register(file: str, *, name: str | None = None, home: str | None = None) -> Iterator[Change[Any]]:
    """Keep a manifest under a name, in the place of one that has it.

    file: the manifest; - is standard input
    name: what it is called; by default the file's name without its ending
    home: another home than AGENTCLI_HOME or ~/.agentcli
    """
    from operable.cli.flow.registry import planned_addition

    yield from planned_addition(file, name, home)


@register.apply
def keep(changes: list[Change[Any]]) -> Iterator[RegistryChange]:
    from operable.cli.flow.registry import added

    yield from map(added, changes)


COMMAND = register
