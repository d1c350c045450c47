"""What a tool call says about itself at one moment, and whether a later announcement is still the same call.

A later announcement may say more: a kind, a path or a command line that was not known before is a refinement, which real
agents send all the time. It may not say something else: another tool, kind, command line, folder, file or address than
the known one, or another value of the same argument. Titles are for people and change; they count only if an agent
reports nothing else. A `Form` is a snapshot: paths are where they led when it was made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from operable.host.policy.command_line import plain_script
from operable.host.policy.pattern import arguments_of
from operable.host.policy.tool_arguments import role_of
from operable.host.policy.tool_call import Facts

TOOL, TITLE = "its tool", "its title"
_WORDS = {"command": "its command line", "paths": "its path", "address": "its address"}


@dataclass(frozen=True, slots=True)
class FormChange:
    """What a later form has that the earlier one had not. `contradictions` names what was known and is now another."""

    adds: bool
    contradictions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One announcement of a call; each argument with whether it was known."""

    tools: frozenset[str]
    kinds: frozenset[str]
    values: dict[str, tuple[frozenset[str], bool]]  # command, paths, address
    folders: frozenset[str]
    written_paths: frozenset[str]
    members: dict[str, tuple[Any, ...]]
    titles: frozenset[str]
    is_distinct: bool

    @classmethod
    def of(cls, facts: Facts) -> "Form":
        lines = frozenset(plain_script(line) or line for line in facts.command.stated)
        members: dict[str, tuple[Any, ...]] = {}
        for call in facts.calls:
            for name, value in call.arguments.items() if isinstance(call.arguments, dict) else ():
                members[name] = (*members.get(name, ()), value)
        return cls(
            frozenset((facts.tool,) if facts.named else ()),
            frozenset(facts.kinds),
            {
                "command": (lines, facts.command.known),
                "paths": (frozenset(facts.paths.stated), facts.paths.known),
                "address": (frozenset(facts.address.stated), facts.address.known),
            },
            frozenset(facts.folders()),
            facts.written_paths,
            members,
            frozenset(text for text in members.get("title", ()) if isinstance(text, str)),
            facts.distinct,
        )

    def difference(self, later: "Form") -> FormChange:
        """How a later form differs from this one."""
        kinds = sorted(self.kinds | later.kinds)
        about = arguments_of(kinds)
        others = tuple(self._contradictions(later, about))
        adds = bool(
            others
            or later.kinds - self.kinds
            or later.tools - self.tools
            or any(self._new(later, name) for name in about)
        )
        return FormChange(adds, others)

    def _contradictions(self, later: "Form", about: tuple[str, ...]) -> Iterator[str]:
        if self.tools and later.tools - self.tools:
            yield TOOL
        if self.kinds and later.kinds - self.kinds:
            yield "its kind"
        for name in about:
            if self.values[name][1] and self._new(later, name):
                yield _WORDS[name]
        if "command" in about and later.folders - (self.folders or {"."}):
            yield "its folder"
        compared = {name for name in about if self.values[name][1]}
        for name, values in later.members.items():
            if role_of(name) not in (*compared, "folder", "shown") and any(
                value not in self.members.get(name, (value,)) for value in values
            ):
                yield f"its argument {name}"
        if not self.is_distinct and not later.is_distinct and self.titles and later.titles - self.titles:
            yield TITLE

    def _new(self, later: "Form", name: str) -> frozenset[str]:
        """The values of a later form that this one does not have."""
        found = later.values[name][0] - self.values[name][0]
        if name == "paths" and later.folders <= (self.folders or {"."}):
            # The same words: a link that the call itself replaced leads somewhere else now.
            return frozenset() if later.written_paths <= self.written_paths else found
        return found
