"""`acpx`: the agents in the configuration of acpx (`agents` of ~/.acpx/config.json or of a project's .acpxrc.json).

An entry has a `command` (one program, or a whole command line) and perhaps `args`, or all words as `argv`. Its permissions
and credentials are acpx's own and are not taken over.
"""

import shlex
from typing import Any

from operable.host.importer import AgentCommand, Importer, Unusable, entry, texts, variables


def _command(name: str, found: Any) -> AgentCommand:
    given = {"command": found} if isinstance(found, str) else found
    if not isinstance(given, dict):
        raise Unusable("it is neither a command nor an object")
    words = texts(given.get("argv"), "argv")
    if not words:
        line = given.get("command")
        if not isinstance(line, str) or not line.strip():
            raise Unusable("it has no command")
        args = texts(given.get("args"), "args")
        words = (line, *args) if args else _words(line)
    return AgentCommand(name, words[0], words[1:], variables(given.get("env")), f"{name}, as acpx starts it.")


def _words(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line))
    except ValueError as problem:
        raise Unusable(f"its command line cannot be read: {problem}") from None


IMPORTER = Importer(
    "acpx",
    "Agents of acpx",
    lambda found: entry(found, "agents"),
    _command,
    ("~/.acpx/config.json", ".acpxrc.json"),
)
