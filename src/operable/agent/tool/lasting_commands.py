"""The command lines that a yes for the rest of a session covers, and how that is said to the person who is asked.

A line that begins with a known command (`gate.policy.shell.command_prefix`) is covered by a rule of the language of
`operable.toml`: `git status -s` by `execute:git status *`, and by the same command without arguments. Of every other line,
only exactly this one is covered. The rules decide as they do everywhere: no `;`, `&&`, substitution or other program.
"""

from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import Ability
from operable.agent.tool.call_rules import TOOLS, facts_of
from operable.gate.policy.pattern import ALLOW, ASK
from operable.gate.policy.rules import Policy, PolicyRule
from operable.kernel.canonical import canonical_json

_NO_MATTER = frozenset({"timeout"})  # of the arguments of a call: how long it may take


def is_command(ability: Ability) -> bool:
    """Whether calls of this tool are command lines."""
    return ability.server is None and bool(TOOLS.use_of(ability.name).command)


def command_scope(arguments: Mapping[str, Any]) -> str:
    """What a lasting yes to this call would cover, in words."""
    prefix = _prefix(arguments)
    return f"execute:{prefix} * (with any arguments, or none)" if prefix else "exactly this command line"


class LastingCommands:
    """What was allowed for the session."""

    def __init__(self) -> None:
        self._exact: set[bytes] = set()
        self._rules: dict[str, PolicyRule] = {}

    def add(self, arguments: Mapping[str, Any]) -> None:
        self._exact.add(_exactly(arguments))
        if prefix := _prefix(arguments):
            for pattern in (f"execute:{prefix}", f"execute:{prefix} *"):
                self._rules[pattern] = PolicyRule(ALLOW, pattern)

    def covers(self, ability: Ability, arguments: Mapping[str, Any], workspace: str) -> bool:
        if not self._exact:
            return False
        if _exactly(arguments) in self._exact:
            return True
        from operable.gate.policy.shell.command_prefix import runs_only_itself

        facts = facts_of(ability, arguments, workspace)
        ruling = Policy(tuple(self._rules.values()), ASK).judge(facts)
        return ruling.effect == ALLOW and all(map(runs_only_itself, facts.command.stated))


def _prefix(arguments: Mapping[str, Any]) -> str:
    from operable.gate.policy.shell.command_prefix import command_prefix

    line = arguments.get("command")
    is_whole = isinstance(line, str) and arguments.keys() - _NO_MATTER == {"command"}
    return command_prefix(line) if is_whole and isinstance(line, str) else ""


def _exactly(arguments: Mapping[str, Any]) -> bytes:
    return canonical_json({name: value for name, value in arguments.items() if name not in _NO_MATTER})
