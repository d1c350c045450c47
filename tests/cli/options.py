"""A table of the options of commands: what each of them changes, and which test sees it.

The options are read from the commands. An option without an entry fails, and so does an entry without its option. An entry
is a check, which is run, or the name of a test elsewhere that uses the option on this command.
"""

import ast
import functools
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from operable.kernel import catalogue
from operable.tool.signature import Param

P = TypeVar("P")
_ROOT = Path(__file__).parents[2]


class Table(Generic[P]):
    """The entries by (command, option); `P` is what a check gets."""

    def __init__(self, commands: Mapping[str, Any]) -> None:
        self.declared = {
            (name, _spelled(param))
            for name, command in commands.items()
            for param in command.params
            if not param.operand
        }
        self.checks: dict[tuple[str, str], Callable[[P], None]] = {}
        self.elsewhere: dict[tuple[str, str], str] = {}

    def effect(self, commands: str, *options: str) -> Callable[[Callable[[P], None]], Callable[[P], None]]:
        """The decorated check sees these options of each of these commands."""

        def keep(check: Callable[[P], None]) -> Callable[[P], None]:
            for key in self._keys(commands, options):
                self.checks[key] = check
            return check

        return keep

    def seen(self, commands: str, *options: str, by: str) -> None:
        """The test `FILE::NAME` (below tests/) sees them."""
        for key in self._keys(commands, options):
            self.elsewhere[key] = by

    def parameters(self) -> list[Any]:
        """Each check once, for `parametrize`, under the name of the first option that it sees."""
        found: dict[Callable[[P], None], str] = {}
        for (command, option), check in self.checks.items():
            found.setdefault(check, f"{command} {option}")
        return [pytest.param(check, id=name) for check, name in found.items()]

    def gaps(self) -> list[str]:
        known = {*self.checks, *self.elsewhere}
        return [
            *(
                f"{command} {option}: nothing sees its effect"
                for command, option in sorted(self.declared - known)
            ),
            *(
                f"{command} {option}: there is no such option"
                for command, option in sorted(known - self.declared)
            ),
            *(
                f"{command} {option}: {by} does not use it"
                for (command, option), by in sorted(self.elsewhere.items())
                if option not in _words(by)
            ),
        ]

    def _keys(self, commands: str, options: tuple[str, ...]) -> list[tuple[str, str]]:
        found = [(command, option) for command in commands.split(",") for option in options]
        for key in found:
            assert key not in self.checks, key
            assert key not in self.elsewhere, key
        return found


def commands(package: str, prefix: str = "") -> dict[str, Any]:
    """Every command of a folder of commands and of the folders in it, by its words."""
    found: dict[str, Any] = {}
    for folder in importlib.import_module(package).__path__:
        for name in catalogue.names(folder):
            module = importlib.import_module(f"{package}.{name.replace('-', '_')}")
            if hasattr(module, "__path__"):
                found |= commands(module.__name__, f"{prefix}{name} ")
            else:
                found[f"{prefix}{name}"] = module.COMMAND
    return found


def _spelled(param: Param) -> str:
    return f"--{'no-' if param.default is True else ''}{param.flag}"


@functools.cache
def _words(test: str) -> frozenset[str]:
    """Every text in a test and its decorators."""
    file, _, name = test.partition("::")
    for node in _parsed(file).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return frozenset(
                each.value
                for each in ast.walk(node)
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            )
    return frozenset()


@functools.cache
def _parsed(file: str) -> ast.Module:
    return ast.parse((_ROOT / "tests" / file).read_text())
