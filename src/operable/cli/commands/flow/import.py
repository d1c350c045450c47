"""`operable flow import`: keep the manifest that a project ships.

A project says it with a file agentcli.json, or with a path in the member agentcli of its package.json.
"""  # noqa: N999 - the file is called like the word that people type

from __future__ import annotations

from operable.cli.flow.backend_events import RegistryChange
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@command(
    mutates=True, examples=["flow import ./my-project --dry-run", "flow import . --name mine --output jsonl"]
)
def import_(folder: str, *, name: str | None = None, home: str | None = None) -> Iterator[Change[Any]]:
    """Keep the manifest that a project ships.

    folder: the project
    name: what it is called; by default like the folder
    home: another home than AGENTCLI_HOME or ~/.agentcli
    """
    from operable.cli.flow.registry import planned_import

    yield from planned_import(folder, name, home)


@import_.apply
def keep(changes: list[Change[Any]]) -> Iterator[RegistryChange]:
    from operable.cli.flow.registry import added

    yield from map(added, changes)


COMMAND = import_
