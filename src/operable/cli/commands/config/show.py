"""`operable config show`: what is configured for agents in a workspace, and which file says each thing.

The files are `operable.toml` of the user and of the project, `.mcp.json`, and the folders of commands and skills. What gives
a right, starts a program or chooses a model counts only when the user has approved the project's files as they are now
(`operable config approve`); the column `why` says what waits.
"""

from __future__ import annotations

from operable.cli.config.events import ConfigValue
from operable.tool import Warn, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    columns=("key", "value", "source", "why"),
    examples=["config show", "config show --workspace . --output jsonl"],
)
def show(*, workspace: str = ".") -> Iterator[ConfigValue | Warn]:
    """Show what is configured here, and where.

    workspace DIR: the folder that an agent would work in
    """
    from operable.cli.config.project import shown

    yield from shown(workspace)


COMMAND = show
