"""The tools that a conversation offers: built-in abilities, and the tools and applications of the command line."""

from collections.abc import Iterator, Mapping
from typing import Any

from operable.agent import abilities
from operable.agent.tool.ability import Ability
from operable.kernel import catalogue
from operable.kernel.errors import Fail


def tools(options: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Ability]:
    """Name -> tool: the built-in ones in the order of their names, then those of `--tool` and `--app`."""
    found: dict[str, Ability] = {}
    for directory in abilities.__path__:
        for name in catalogue.names(directory):
            ability: Ability = catalogue.load("operable.agent.abilities", name, "ABILITY", kind="tool")
            found[ability.name] = ability
    for ability in _declared(options, environment):
        if ability.name in found:
            raise Fail("config", "TOOL_TWICE", f"There are two tools with the name {ability.name}")
        found[ability.name] = ability
    return found


def _declared(options: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[Ability]:
    workspace = options["workspace"]
    if lines := options.get("tools"):
        from operable.agent.secrecy import without_secrets
        from operable.agent.tool.offers import operable_tools

        yield from operable_tools(lines, workspace, without_secrets(environment))
    if names := options.get("apps"):
        from operable.agent.tool.offers import app_tools

        yield from app_tools(names, workspace)
