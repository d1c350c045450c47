"""What is beside a command line and decides what it does: variables, another shell, standard input.

A rule that allows `ls *` was written for that command in the environment of the agent. The context of a command is
therefore written into the line that rules compare, as a shell would be given it: `LD_PRELOAD=./x.so ls`, `./evil -c 'ls'`,
`sh <<< 'rm -rf x'`. An allow for the bare command then does not match, and a deny still finds every command in it.
Variables that only change how output looks are left out; a variable that is not known is not harmless.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from shlex import quote
from typing import Any, Final

from operable.kernel.data_class import dataclass

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENVIRONMENTS: Final = frozenset(
    "env envs environ environment environmentvariables envvars envvariables extraenv".split()
)
_SHELLS: Final = frozenset("shell shellpath interpreter executable".split())
_INPUTS: Final = frozenset({"stdin", "standardinput"})
NAMES: Final = _ENVIRONMENTS | _SHELLS | _INPUTS
"""The arguments that are context, in small letters without anything between them."""


@dataclass(slots=True)
class CommandContext:
    """The context of the commands of one call. `is_unreadable`: something in it could not be understood."""

    variables: dict[str, str] = field(default_factory=dict)
    shells: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    is_unreadable: bool = False

    def take(self, name: str, value: Any) -> None:
        """Take in an argument whose name is one of NAMES."""
        if not value or (value is True and name in _SHELLS):
            return
        if name in _ENVIRONMENTS:
            self._take_variables(value)
        elif not isinstance(value, str):
            self.is_unreadable = True
        elif name in _INPUTS:
            self.inputs.append(value)
        else:
            from operable.gate.policy.shell.command_line import is_system_shell

            if not is_system_shell(value):
                self.shells.append(value)

    def lines(self, line: str) -> list[str]:
        """The command line as rules compare it; also the bare one where another program reads it."""
        text = with_variables(line, self.variables)
        text += "".join(f" <<< {quote(given)}" for given in self.inputs)
        return [f"{quote(shell)} -c {quote(text)}" for shell in self.shells] + [text]

    def _take_variables(self, value: Any) -> None:
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            for name, given in _pairs(entry):
                if isinstance(name, str) and _NAME.fullmatch(name):
                    self.variables[name] = given if isinstance(given, str) else str(given)
                else:
                    self.is_unreadable = True


def _pairs(entry: Any) -> list[tuple[Any, Any]]:
    """The variables of one entry: `{"NAME": value}`, `{"name": NAME, "value": value}` or `NAME=value`."""
    if isinstance(entry, dict):
        if entry.keys() <= {"name", "key", "value"} and isinstance(entry.get("name", entry.get("key")), str):
            return [(entry.get("name", entry.get("key")), entry.get("value", ""))]
        return list(entry.items())
    if isinstance(entry, str) and "=" in entry:
        name, _, value = entry.partition("=")
        return [(name, value)]
    return [(None, None)]


def with_variables(line: str, variables: Mapping[str, str]) -> str:
    """The line as a shell would be given it, variables first: LD_PRELOAD and PATH decide what it runs."""
    from operable.gate.policy.shell.programs import is_presentation

    words = [f"{name}={quote(value)}" for name, value in variables.items() if not is_presentation(name)]
    return " ".join((*words, line))
