"""A tool call as rules look at it: its name, its kind, its command lines, its files, its addresses; each known or not.

Agents describe the same call in many ways, so that every source counts. What is in the arguments (under any usual
spelling, at any depth), in a diff, in a patch or in the locations is *stated*. What is merely shown to people, such as a
title, is *hinted*: some agents let their model write it, so that only rules that deny or ask look at it. The manifest may
say which tool has which kind, and which member is its argument (`operable.gate.policy.tool_map`); then that member alone
is what an allow looks at. A path is judged by where it leads (`operable.gate.policy.agent_path`), and written relative to
the workspace when it is inside.
"""

import os
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from operable.gate.policy.agent_path import ANYWHERE, LONGEST, AgentPaths
from operable.gate.policy.argument_readings import ArgumentReadings
from operable.gate.policy.shell.text import Command
from operable.gate.policy.tool_arguments import ArgumentTargets, is_verb, lines_of, shown_in, tells
from operable.gate.policy.tool_map import ToolMap, ToolPurpose
from operable.kernel.data_class import dataclass
from operable.wire.events import TOOL_KINDS

_PATHS: Final = 2_000  # of one call; with more, not all are known
_LINES: Final = 20  # a text with more lines is not a list of paths
_PARTED: Final = re.compile(
    r"[,;\x00-\x1f\x7f]+"
)  # what tools take for the end of one path in a text of several
_DOUBTFUL: Final = re.compile(r"[\x00-\x1f\x7f]|^\s|\s$")  # a path that some tools trim, or cut
# What a call does to the world. An agent says only a kind; of these kinds the effect follows.
RESULTS: Final = ("read", "change", "destroy")
_RESULTS_OF_KINDS: Final = {"read": "read", "search": "read", "think": "read", "delete": "destroy"}


@dataclass(frozen=True, slots=True)
class JudgedCall:
    """What is to be judged: one tool call, as its arm reports it, from its announcement and from its question."""

    tool: str
    kind: str = "other"
    arguments: Any = None
    locations: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()  # titles and texts for people
    unnamed: bool = False  # the agent does not name the tool: `tool` is its title
    meanwhile: tuple[str, ...] = ()  # tools that are at work while the host is asked to do this
    possible: tuple[str, ...] = ()  # what else its words may call: a deny or ask by such a name applies
    reported: tuple["JudgedCall", ...] = ()  # the same call, as it was reported before
    diffs: tuple[Mapping[str, Any], ...] = ()  # changes that are shown beside the arguments
    result: str = ""  # one of RESULTS, by the declaration of what is called; empty: nothing declares it


@dataclass(frozen=True, slots=True)
class Argument:
    """The candidates for one argument. `known`: the stated ones are all there are."""

    stated: tuple[str, ...] = ()
    hinted: tuple[str, ...] = ()
    known: bool = False

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.stated, *self.hinted)


class Facts:
    """The call in the forms in which patterns look at it, each worked out once."""

    def __init__(self, call: JudgedCall, where: AgentPaths, tools: ToolMap | None = None) -> None:
        self.tool = call.tool
        self.named = not call.unnamed
        self.possible_names = (*call.meanwhile, *call.possible)
        self.root = where.root
        self._where = where
        self.calls = (call, *call.reported)
        self._use = tools.use_of(call.tool) if tools is not None and self.named else ToolPurpose()
        self.own_names = tuple(dict.fromkeys((call.tool, *self._use.names)))
        self._found = ArgumentTargets()
        for each in self.calls:
            self._found.gather(each.arguments)
        self.kinds = self._kinds()

    def _kinds(self) -> tuple[str, ...]:
        """What it may be; nothing: that is not known. `other` is what agents say when they do not know it themselves."""
        if self._use.kind:
            return (self._use.kind,)
        reported = {call.kind for call in self.calls if call.kind in TOOL_KINDS and call.kind != "other"}
        return tuple(sorted(reported))

    @property
    def result(self) -> str:
        """What the call does to the world; empty: that is not known."""
        declared = self.calls[0].result
        by_kind = {_RESULTS_OF_KINDS.get(kind, "") for kind in self.kinds}
        return declared or (by_kind.pop() if len(by_kind) == 1 else "")

    @cached_property
    def command(self) -> Argument:
        shown = [text for call in self.calls for text in (*call.shown, *shown_in(call.arguments))]
        hinted = tuple(dict.fromkeys(each for text in shown for each in _without_prefix(text)))
        context = self._found.context
        stated = tuple(dict.fromkeys(each for line in self.lines for each in context.lines(line)))
        is_known = bool(stated) and not context.is_unreadable
        if self._use.command:
            return Argument(stated, (*self._found.commands, *hinted), is_known)
        return Argument(stated, hinted, is_known and not self._found.unreadable)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The stated command lines, without the variables, the shell and the input beside them."""
        named = self._member(self._use.command)
        return tuple(dict.fromkeys(self._found.commands)) if named is None else named

    @property
    def states_command(self) -> bool:
        """Whether it has a command line, whatever kind the agent says: codex calls `cat x` a read."""
        return not self._use.kind and any(not is_verb(line) for line in self.lines)

    @cached_property
    def runs(self) -> list[Command]:
        """Everything that the command lines may run; what is only shown counts where it can be read."""
        from operable.gate.policy.shell.command_line import commands_in

        found = dict.fromkeys(run for line in self.command.stated for run in commands_in(line))
        for line in self.command.hinted:
            found.update(dict.fromkeys(run for run in commands_in(line, guesses=False) if None not in run))
        return list(found)

    @cached_property
    def readings(self) -> ArgumentReadings:
        """What the values of the arguments may be, whatever their names; for rules that deny or ask."""
        found = ArgumentReadings(has_contents=not self.kinds or "edit" in self.kinds)
        for call in self.calls:
            found.gather(call.arguments)
        return found

    @cached_property
    def possible_runs(self) -> list[Command]:
        """What other texts of the call would run; where only a shell knows, at least its program is known."""
        from operable.gate.policy.shell.command_line import commands_in

        known = {*self.command.stated, *self.command.hinted}
        lines = [line for line in self.readings.lines if line not in known]
        runs = dict.fromkeys(run for line in lines for run in commands_in(line, guesses=False))
        return [run for run in runs if None not in run or re.search(r"\S\s", run[0] or "")]

    @cached_property
    def possible_paths(self) -> list[tuple[str, bool]]:
        """Where other texts of the call would lead, and whether each is a bare word, which is rarely a path."""
        found: dict[tuple[str, bool], None] = {}
        for text in self.readings.paths:
            if text.count("\n") > _LINES:
                continue
            is_bare = re.search(r"[/.~*?\[{$]", text) is None
            # Tools take `@name` and `name:line` for the name.
            plain = [re.sub(r":\d+(?::\d+)?$", "", each.strip(" \t\"'`@")) for each in (text, *_parts(text))]
            plain += [each.partition("=")[2] for each in (text, *plain) if each.startswith("-")]  # `--out=x`
            plain += [each.replace("\\", "/") for each in (text, *plain) if "\\" in each]
            paths = [path for each in {text, *plain} if each for path in self._outside(each)]
            for path in (path for path in paths if len(path) <= LONGEST):  # no file has a longer one
                found[self._where.real(path), is_bare] = None
                found[self._where.lexical(path), is_bare] = None
        return list(found)

    @cached_property
    def paths(self) -> Argument:
        """Real paths; hinted are also their names before links are resolved, and the workspace where they contain it."""
        texts = self._path_texts
        stated = tuple(dict.fromkeys(real for text in texts[:_PATHS] for real in self.real_paths(text)))
        shown = [text for call in self.calls for text in (*call.shown, *shown_in(call.arguments))]
        hints = [each for text in shown for each in (*_without_prefix(text), *text.split()[-1:])]
        # A title is a sentence: only what may be a path in it counts.
        hints = [each for each in hints if len(each) <= LONGEST]
        hints += [part for text in texts[:_PATHS] for part in _parts(text)]
        more = [real for text in (*hints, *self._found.paths[:_PATHS]) for real in self.real_paths(text)]
        more += [self._where.lexical(path) for text in texts for path in self._outside(text)]
        more += ["." for real in stated if self.root.startswith(real.rstrip("/") + "/")]
        enough = 2 if self.kinds == ("move",) else 1
        known = len(stated) >= enough and len(texts) <= _PATHS and not self._found.unreadable
        known = known and ANYWHERE not in stated and not any(_DOUBTFUL.search(text) for text in texts)
        return Argument(stated, tuple(dict.fromkeys(more)), known)

    @cached_property
    def _path_texts(self) -> list[str]:
        named = self._member(self._use.path)
        places = [place for call in self.calls for place in call.locations]
        return [*(self._found.paths if named is None else named), *places]

    @property
    def argument_lines(self) -> list[str]:
        """The command lines in the arguments, also where the manifest names another member."""
        return self._found.commands

    @property
    def is_unreadable(self) -> bool:
        """Whether something in the arguments could not be understood."""
        return self._found.unreadable or self._found.context.is_unreadable

    @property
    def argument_paths(self) -> list[str]:
        """The paths in the arguments, as they are written."""
        return self._found.paths

    @cached_property
    def written_paths(self) -> frozenset[str]:
        """The stated paths by their words, links not resolved."""
        return frozenset(
            self._where.lexical(path) for text in self._path_texts for path in self._outside(text)
        )

    @cached_property
    def address(self) -> Argument:
        named = self._member(self._use.address)
        found = tuple(dict.fromkeys(self._found.addresses or self._found.queries)) if named is None else named
        return Argument(found, (*self._found.addresses, *self._found.queries), bool(found))

    @property
    def distinct(self) -> bool:
        """Whether the same words again mean the same call: it says more than what is shown to users."""
        return any(tells(call.arguments) for call in self.calls)

    @property
    def has_one_reading(self) -> bool:
        """Whether each path of the call can be one file only: no folder beside it may be where it is."""
        texts = self._path_texts[:_PATHS]
        return all(len(self.real_paths(text)) == 1 for text in texts)

    def folder(self) -> str:
        """Where a command runs: the workspace, where nothing else is said."""
        return next(iter(self.folders()), ".")

    def folders(self) -> list[str]:
        """Every folder that the call names as its own."""
        found = [real for text in self._found.folders for real in self.real_paths(text)]
        return list(dict.fromkeys(found))

    def _member(self, name: str) -> tuple[str, ...] | None:
        """The values of the member that the manifest names; None: it names none."""
        if not name:
            return None
        values = []
        for call in self.calls:
            value: Any = call.arguments
            for step in name.split("."):
                value = value.get(step) if isinstance(value, Mapping) else None
            values += lines_of(value, prefixes=(f"{self.tool}: ", "$ "))
        return tuple(dict.fromkeys(values))

    def real_path(self, path: str) -> str:
        """Where a path of the host leads."""
        return self._where.real(path)

    def _outside(self, text: str) -> list[str]:
        return [self._where.outside(path) for path in _local(text)]

    def real_paths(self, text: str) -> list[str]:
        """Where it leads from the workspace, and from every folder that the call names as its own."""
        folders = [*self._found.folders, *(base for base in self._found.bases if base != text)]
        bases = ["", *(base for folder in folders for base in self._outside(folder))]
        return list(
            dict.fromkeys(
                self._where.real(os.path.join(base, path)) for path in self._outside(text) for base in bases
            )
        )


def _local(text: str) -> list[str]:
    """The path that a text names; for an address of a file, each path that an agent may take it for."""
    if text[:5].lower() != "file:":
        return [text]
    from urllib.parse import unquote

    rest = text[5:]
    host, slash, below = rest[2:].partition("/") if rest.startswith("//") else ("", "", "")
    paths = [rest] if not slash else [f"/{below}"]
    if host and host.lower() != "localhost":
        paths.append(f"{host}/{below}")
    paths += [re.split(r"[?#]", path, maxsplit=1)[0] for path in paths]
    return list(dict.fromkeys(each for path in paths for each in (unquote(path), path)))


def _parts(text: str) -> list[str]:
    """The paths in a text that a tool may take for several, and the path without the blanks around it."""
    return [each for part in _PARTED.split(text) if (each := part.strip()) and each != text]


def _without_prefix(text: str) -> list[str]:
    """A shown text, and what follows `terminal: `, `shell · ` or `$ ` in it."""
    lines = text.strip().splitlines()[:50]
    found = [text.strip(), *(line.removeprefix("$ ") for line in lines if line.startswith("$ "))]
    found += [part[2] for mark in (": ", " · ") if (part := text.strip().partition(mark))[1]]
    return [each.strip() for each in found if each.strip()]
