"""What a manifest says about the tools of its agent: `metadata.operable.tools`.

    tools:
      shell: {kind: execute, command: command}    # the name of a tool, or a pattern with * and ?
      write: {kind: edit, path: path}
      run_shell_command: {command: title}         # the member that has the argument; `a.b` for a member of a member
      "todo*": {kind: think}
      Bash: {kind: execute, aliases: [ExecCommand]}   # other names of the tool: a rule about one is about each of them

For agents that send no kinds, or that say the argument where no rule would trust it. The first entry with exactly this
name counts, else the pattern with the most letters. It is the author of the manifest who vouches for it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from operable.kernel.data_class import dataclass
from operable.wire.events import TOOL_KINDS

MEMBERS: Final = ("command", "path", "address")


@dataclass(frozen=True, slots=True)
class ToolPurpose:
    """What one tool is used for. Empty: the manifest does not say."""

    kind: str = ""
    command: str = ""
    path: str = ""
    address: str = ""
    names: tuple[str, ...] = ()  # every name of the tool, where it has several


class ToolMap:
    """The tools of one agent, by name."""

    def __init__(self, declared: Any = None) -> None:
        """From the manifest, which has been checked; what is not understood is left out."""
        self._exact: dict[str, ToolPurpose] = {}
        self._patterns: list[tuple[int, re.Pattern[str], ToolPurpose]] = []
        for name, entry in declared.items() if isinstance(declared, Mapping) else ():
            use = _use(name, entry)
            if not set(name) & set("*?"):
                self._exact |= dict.fromkeys((name, *use.names), use)
                continue
            expression = "".join({"*": ".*", "?": "."}.get(char) or re.escape(char) for char in name)
            literal = len(name) - name.count("*") - name.count("?")
            self._patterns.append((literal, re.compile(expression, re.DOTALL), use))
        self._patterns.sort(key=lambda entry: -entry[0])

    def use_of(self, name: str) -> ToolPurpose:
        found = self._exact.get(name)
        if found is not None:
            return found
        return next((use for _, pattern, use in self._patterns if pattern.fullmatch(name)), ToolPurpose())


def _use(name: str, entry: Any) -> ToolPurpose:
    declared = entry if isinstance(entry, Mapping) else {"kind": entry}
    kind = declared.get("kind")
    members = {member: value for member in MEMBERS if isinstance(value := declared.get(member), str)}
    others = declared.get("aliases")
    aliases = [other for other in others if isinstance(other, str)] if isinstance(others, list) else []
    names = (name, *aliases) if aliases else ()
    return ToolPurpose(kind if kind in TOOL_KINDS else "", **members, names=names)
