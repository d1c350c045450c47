"""`operable agent install`: install the program of an agent, by the first method of its manifest that fits and works here.

Nothing is done when the program is there in a version that fits. Hashes that the manifest gives are enforced; a script or
download without one is refused unless `--allow-unpinned`. A failure is reported with every method's reason
(`install_failed`, `version_mismatch`).
"""

from __future__ import annotations

from operable.cli.agent.events import AgentInstalled
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    timeout=3600.0,  # a compiler on a slow machine
    examples=["agent install claude-code --dry-run", "agent install goose --output jsonl"],
)
def install(
    name: str, *, again: bool = False, allow_unpinned: bool = False, workspace: str = "."
) -> Iterator[Change]:
    """Install the program of an agent.

    name: its name, its id, or the path of its manifest
    again: also when it is there and fits
    allow_unpinned: also scripts and downloads that have no checksum
    workspace DIR: the project whose own agents count, too
    """
    from operable.cli.agent.readiness import planned_install

    change = planned_install(name, workspace, again=again, unpinned=allow_unpinned)
    if change is not None:
        yield change


@install.apply
def do(changes: list[Change]) -> Iterator[AgentInstalled]:
    from operable.cli.agent.readiness import installed

    for change in changes:
        yield from installed(change)  # type: ignore[misc]  # progress travels with the events


COMMAND = install
