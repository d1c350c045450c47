"""`operable catalog`: every operable thing on this machine.

Native agent-operable tools (those that you declared, or that come with an installed distribution that depends on
operable), wrapped command-line tools, application packages, agents and jobs of applied flows, each with its commands, their
risk, whether it needs a login and has one, and its health. No program is run that was not declared to speak AOI.
"""

from __future__ import annotations

from operable.cli.catalog.events import OperableCommand, OperableEvent
from operable.tool import Page, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    cursor=("kind", "name"),
    columns=("kind", "name", "health", "description", "risk", "auth", "version", "problem"),
    examples=["catalog", "catalog notes --kind tool --kind app", "catalog --healthy --output jsonl"],
)
def catalog(
    *words: str,
    kind: list[Literal["agent", "app", "flow", "mcp", "tool", "wrap"]] | None = None,
    healthy: bool = False,
    workspace: str = ".",
    page: Page,
) -> Iterator[OperableEvent]:
    """Show every operable thing on this machine.

    words: only those that have all of these in their names, descriptions or commands
    kind: only things of this kind
    healthy: only those that can be used now
    workspace DIR: the project whose own things are shown, too
    """
    from operable.serve.catalog import catalog as everything

    for each in everything(workspace, only=kind or (), search=" ".join(words)):
        behind = page.after is None or [each.kind, each.name] > list(page.after)
        if not behind or (healthy and each.health not in ("ok", "unknown")):
            continue
        yield OperableEvent(
            kind=each.kind,  # type: ignore[arg-type]  # one of the six
            name=each.name,
            version=each.version,
            description=each.description,
            place=each.place,
            commands=[
                OperableCommand(
                    name=action.name,
                    summary=action.summary,
                    read_only=action.read_only,
                    destructive=action.destructive,
                    confirm=action.confirm,
                    idempotent=action.idempotent,
                    unbounded=action.unbounded,
                    enforced_by=action.enforced_by,
                    needs=dict(action.needs),
                    project_code=action.project_code,
                )
                for action in each.actions
            ],
            capabilities=list(each.capabilities),
            risk=each.risk,
            auth=each.auth,
            health=each.health,
            problem=each.problem,
        )


COMMAND = catalog
