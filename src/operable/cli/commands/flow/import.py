"""`operable flow import`: keep the manifest that a project ships.

A project says it with a file agentcli.json, or with a path in the member agentcli of its package.json.
"""  # noqa: N999 - the file is called like the word that people type

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import RegistryChange
from operable.tool import Change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@flow_command(
    "import",
    mutates=True,
    examples=["flow import ./my-project --dry-run", "flow import . --name mine --output jsonl"],
)
def import_(call: FlowCall) -> Iterator[Change[Any]]:
    """Keep the manifest that a project ships."""
    from operable.cli.flow.registry import planned_import

    yield from planned_import(call["path"], call["name"], call["home"])


@import_.apply
def keep(changes: list[Change[Any]]) -> Iterator[RegistryChange]:
    from operable.cli.flow.registry import added

    yield from map(added, changes)


COMMAND = import_
