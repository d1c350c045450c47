"""What a tool gets to work with, made by hand."""

from pathlib import Path

from operable.agent.loop.cancellation import Cancellation
from operable.agent.tool.ability import AbilityOutcome, Scene
from operable.kernel import catalogue


def scene(workspace: Path, **fields: object) -> Scene:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", **fields.pop("environment", {})}  # type: ignore[dict-item]
    return Scene(str(workspace.resolve()), Cancellation(), environment, **fields)  # type: ignore[arg-type]


def use(tool: str, given: Scene, **arguments: object) -> AbilityOutcome:
    """Run a built-in tool."""
    outcome: AbilityOutcome = catalogue.load("operable.agent.abilities", tool, "ABILITY").run(
        arguments, given
    )
    return outcome
