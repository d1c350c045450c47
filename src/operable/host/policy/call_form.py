"""What a tool call says about itself at one moment, and whether a later announcement is still the same call.

A later announcement may say more: a kind, a path or a command line that was not known before is a refinement, which real
agents send all the time. It may not say something else: another tool, kind, command line, folder, file or address than the
known one, another value of any argument, or arguments of another shape. It may not add an argument to a command or to a
content that was known: `env` or `stdin` makes another call of the same command line. Diffs beside the arguments count where
the arguments do not carry the content themselves; some agents send such a diff again with other lines around the change.

What counts is what has an effect. A description counts only where neither a command line nor a content is known beside it:
then it may be the instruction. The same applies to a status, a time limit and the ids of the protocol. A title counts only
where an agent reports nothing else. A `Form` is a snapshot: paths are where they led when it was made.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from operable.gate.policy.pattern import arguments_of
from operable.gate.policy.tool_arguments import (
    is_content,
    is_decoration,
    member_name,
    role_of,
    strings_in,
)
from operable.gate.policy.tool_call import Facts
from operable.kernel.data_class import dataclass
from operable.wire.events import change_digest

TOOL, TITLE = "its tool", "its title"
_NOTHING: Final[tuple[Any, ...]] = (None, "", [], {}, False)
_SHOWN: Final = frozenset({"title", "text", "diffs", "terminals"})
_WORDS = {"command": "its command line", "paths": "its path", "address": "its address"}


@dataclass(frozen=True, slots=True)
class FormChange:
    """What a later form has that the earlier one had not. `contradictions` names what was known and is now another."""

    adds: bool
    contradictions: tuple[str, ...]
    # A command got more arguments than the ones that rules look at.
    extends: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One announcement of a call; each argument with whether it was known."""

    tools: frozenset[str]
    kinds: frozenset[str]
    values: dict[str, tuple[frozenset[str], bool]]  # command, paths, address
    folders: frozenset[str]
    written_paths: frozenset[str]
    members: dict[str, tuple[Any, ...]]  # by `member_name`; "" is for arguments that are not an object
    diffs: frozenset[str]  # the contents, by their digests
    has_their_content: bool  # in the arguments
    titles: frozenset[str]
    is_distinct: bool

    @classmethod
    def of(cls, facts: Facts) -> "Form":
        from operable.gate.policy.shell.command_line import plain_script

        lines = frozenset(plain_script(line) or line for line in facts.lines)
        members: dict[str, tuple[Any, ...]] = {}
        for call in facts.calls:
            reported = call.arguments if isinstance(call.arguments, dict) else {}
            if call.arguments and not reported:
                reported = {"": call.arguments}
            for name, value in reported.items():
                key = member_name(name)
                members[key] = (*members.get(key, ()), value)
        diffs = [diff for call in facts.calls for diff in call.diffs]
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
            frozenset(map(change_digest, diffs)),
            _carry(members, diffs),
            frozenset(text for text in members.get("title", ()) if isinstance(text, str)),
            facts.distinct,
        )

    def difference(self, later: "Form", known: "Form | None" = None) -> FormChange:
        """How a later form differs from this one. `known` has what was reported before, and may be repeated."""
        kinds = sorted(self.kinds | later.kinds)
        about = arguments_of(kinds)
        added = [*self._added(later, about, known or self)]
        others = (*self._contradictions(later, about), *(f"its argument {name}".rstrip() for name in added))
        adds = bool(
            others
            or later.kinds - self.kinds
            or later.tools - self.tools
            or any(self._new(later, name) for name in about)
        )
        return FormChange(adds, others, bool(added) and "execute" in kinds)

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
        for name, values in later.members.items():
            if self._is_compared(name, values, about) and any(
                value not in self.members.get(name, (value,)) for value in values
            ):
                yield f"its argument {name}".rstrip()
        if self.diffs and not self.has_their_content and later.diffs - self.diffs:
            yield "its content"
        if not self.is_distinct and not later.is_distinct and self.titles and later.titles - self.titles:
            yield TITLE

    @property
    def _shows_only(self) -> bool:
        """Whether all that is there is what an agent without arguments shows to people, output included."""
        return self.members.keys() <= _SHOWN

    def _states_effect(self, about: tuple[str, ...]) -> bool:
        """Whether it has the command line or the content: what is shown beside that is for people."""
        has_content = bool(self.diffs) or any(is_content(name) for name in self.members)
        return has_content or ("command" in about and self.values["command"][1])

    def _is_compared(self, name: str, values: tuple[Any, ...], about: tuple[str, ...]) -> bool:
        """Whether a member counts by its value: it is not one of those that are compared by what they mean."""
        role = role_of(name)
        if role == "shown":
            return not self._shows_only and (name == "text" or not self._states_effect(about))
        if _are_decoration(name, values):
            return not self._states_effect(about)
        return role != "folder" and not (role in about and self.values[role][1])

    def _added(self, later: "Form", about: tuple[str, ...], known: "Form") -> Iterator[str]:
        """The arguments that make another call of a command or of a content that was known."""
        is_command = "command" in about and self.values["command"][1]
        has_content = bool(self.diffs) or any(
            name == "text" or (not role_of(name) and not _are_decoration(name, values))
            for name, values in self.members.items()
        )
        repeated = [
            value
            for values in (*self.members.values(), *known.members.values())
            for value in values
            if isinstance(value, (str, dict, list)) and not is_command
        ]
        for name, values in later.members.items():
            role = role_of(name)
            if name in self.members or role in (*about, "folder") or (role == "shown" and name != "text"):
                continue
            counts = is_command or has_content or (not name and self.is_distinct)
            if _are_decoration(name, values) or (name == "text" and self._shows_only):
                continue
            # Some agents give the same content another name; beside a command, a name decides what a value does.
            again = (*repeated, *known.members.get(name, ()), *_NOTHING)
            if counts and any(value not in again for value in values):
                yield name

    def _new(self, later: "Form", name: str) -> frozenset[str]:
        """The values of a later form that this one does not have."""
        found = later.values[name][0] - self.values[name][0]
        if name == "paths" and later.folders <= (self.folders or {"."}):
            # The same words: a link that the call itself replaced leads somewhere else now.
            return frozenset() if later.written_paths <= self.written_paths else found
        return found


def _are_decoration(name: str, values: tuple[Any, ...]) -> bool:
    return all(is_decoration(name, value) for value in values)


def _carry(members: dict[str, tuple[Any, ...]], diffs: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the arguments have the content of these diffs themselves."""
    texts = [
        text
        for name, values in members.items()
        if role_of(name) != "paths"
        for value in values
        for text in strings_in(value)
    ]
    contents = [str(diff.get("newText", diff.get("patch", ""))) for diff in diffs if "digest" not in diff]
    # Of a call that was announced, only the digests of its diffs are known.
    return bool(texts) and all(any(content in text for text in texts) for content in contents)
