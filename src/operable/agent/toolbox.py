"""The tools that a conversation offers: built-in abilities, and agent-operable tools from the command line."""

from collections.abc import Mapping
from typing import Any

from operable.agent import abilities
from operable.agent.ability import Ability
from operable.kernel import catalogue
from operable.kernel.errors import Fail


def tools(options: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Ability]:
    """Name -> tool: the built-in ones in the order of their names, then those of `--tool` in theirs."""
    found: dict[str, Ability] = {}
    for directory in abilities.__path__:
        for name in catalogue.names(directory):
            ability: Ability = catalogue.load("operable.agent.abilities", name, "ABILITY", kind="tool")
            found[ability.name] = ability
    if lines := options.get("tools"):
        from operable.agent.operable_tools import operable_tools
        from operable.agent.secrecy import without_secrets

        for ability in operable_tools(lines, options["workspace"], without_secrets(environment)):
            if ability.name in found:
                raise Fail("config", "TOOL_TWICE", f"There are two tools with the name {ability.name}")
            found[ability.name] = ability
    return found
