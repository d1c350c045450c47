"""The tools that a conversation offers: built-in abilities, and agent-operable tools from the command line."""

from collections.abc import Mapping
from typing import Any

from operable.agent import abilities
from operable.agent.ability import Ability
from operable.kernel import catalogue


def builtin_tools(_options: Mapping[str, Any], _environment: Mapping[str, str]) -> dict[str, Ability]:
    """Name -> tool, in the order of their names."""
    found: dict[str, Ability] = {}
    for directory in abilities.__path__:
        for name in catalogue.names(directory):
            ability: Ability = catalogue.load("operable.agent.abilities", name, "ABILITY", kind="tool")
            found[ability.name] = ability
    return found
