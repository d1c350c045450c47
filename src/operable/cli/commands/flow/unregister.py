"""`operable flow unregister`: forget a manifest that is kept under a name. The file that it came from stays."""

from __future__ import annotations

from operable.cli.flow.backend_events import RegistryChange
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(destructive=True, examples=["flow unregister disk --dry-run", "flow unregister disk --confirm"])
def unregister(name: str, *, home: str | None = None) -> Iterator[Change]:
    """Forget a manifest of the registry.

    name: what it is called
    home: another home than AGENTCLI_HOME or ~/.agentcli
    """
    from operable.cli.flow.registry import planned_removal

    yield planned_removal(name, home)


@unregister.apply
def forget(changes: list[Change]) -> Iterator[RegistryChange]:
    from operable.cli.flow.registry import removed

    yield from map(removed, changes)


COMMAND = unregister
