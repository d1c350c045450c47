"""`operable agent list`: the agents that can be driven from here, those of the project, the user's own, the bundled ones.

If two have the same name, the first of these places wins. A manifest that came with a project never replaces a trusted
one before a user has approved it. Manifests that cannot be read are listed with their problem. Nothing is run.
"""

from __future__ import annotations

from operable.cli.agent.events import Agent
from operable.tool import Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    cursor=("name", "path"),
    columns=("name", "health", "description", "origin", "trusted", "protocol", "version"),
    examples=["agent list", "agent list --origin project --output jsonl"],
)
def list_(
    *, workspace: str = ".", origin: Literal["project", "user", "bundled"] | None = None, page: Page
) -> Iterator[Agent]:
    """List the agents that can be driven from here.

    workspace DIR: the project whose own agents are listed, too
    origin: only those of this place
    """
    from operable.cli.agent.manifests import discovery
    from operable.serve.catalog import catalog

    found = sorted(discovery(workspace).all(), key=lambda each: (each.name, each.path))
    health = {each.place: each.health for each in catalog(workspace, only=("agent",))}
    for each in found:
        behind = page.after is None or [each.name, each.path] > list(page.after)
        if not behind or (origin is not None and each.origin != origin):
            continue
        yield Agent(
            name=each.name,
            id=each.id,
            version=each.version,
            protocol=each.protocol,
            origin=each.origin,  # type: ignore[arg-type]  # one of the three
            trusted=each.trusted,
            path=each.path,
            description=each.description,
            shadowed_by=each.shadowed_by,
            problem=each.problem,
            health=health.get(each.path),  # type: ignore[arg-type]  # one of the four
        )


COMMAND = list_
