"""`operable agent show`: what a manifest says about an agent, and its state.

The manifest is read and judged, and nothing of it is run: whether the program is there is looked up, not tried
(`operable agent doctor` tries). A manifest that cannot be used is an error with all of its problems.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentDetails
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    columns=("name", "version", "protocol", "trusted", "installed", "sandbox"),
    examples=["agent show claude-code", "agent show ./agents/mine/AGENT-CLI.md --output jsonl"],
)
def show(name: str, *, workspace: str = ".", context: Context) -> Iterator[AgentDetails]:
    """Show what a manifest says about an agent: modes, options, models, how it is confined.

    name: its name, its id, or the path of its manifest
    workspace DIR: the project whose own agents count, too
    """
    from operable.cli.agent.summary import choices, details

    found = details(name, workspace)
    yield found
    context.show(choices(found))


COMMAND = show
