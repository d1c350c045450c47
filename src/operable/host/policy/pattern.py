"""One pattern of a rule, and whether it matches a call: by tool, by kind and by argument.

What a pattern can be is said in `operable.host.policy.rules`. Matching depends on the effect of the rule, since what is
not known is a match for deny and ask, but not for allow. An allow compares what the call states, all of it, and takes it
literally; deny and ask compare everything that was said, and all that it may come to.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from operable.host.policy.address_match import allows_address, touches_address
from operable.host.policy.argument_cover import uncovered_argument
from operable.host.policy.shell.command_line import Command, may_match, plain_script
from operable.host.policy.shell.text import WILD, obscured
from operable.host.policy.tool_call import Facts
from operable.wire.events import TOOL_KINDS

ALLOW: Final = "allow"
ASK: Final = "ask"
DENY: Final = "deny"
EFFECTS: Final = (ALLOW, ASK, DENY)
_ARGUMENTS = {
    **dict.fromkeys(("read", "edit", "delete", "move", "search"), "paths"),
    "execute": "command",
    "fetch": "address",
}
_BELOW = frozenset({"delete", "move", "search"})  # what they do to a folder they do to what is in it
_WILDCARD = re.compile(r"\*+|\?|\[[^\]/]*\]|\{[^{}]*\}|\$(?:\w+|\{[^}]*\})")
_CONTROL = r";&|<>$()`\n"
_WORDS = {"command": "its command line", "paths": "its path", "address": "its address"}


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """Whether a rule applies, and what the agent would have to report for that to be certain."""

    binds: bool
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern. `tool` None: any tool of `kind`; `kind` None: any kind; `argument` None: any argument."""

    tool: str | None = None
    kind: str | None = None
    argument: str | None = None

    @property
    def specificity(self) -> tuple[int, int]:
        literal = len(re.sub(r"[*?]", "", (self.argument or "") + (self.tool or "")))
        if self.argument is not None:
            return 4, literal
        if self.tool is not None:
            return (2 if set(self.tool) & set("*?") else 3), literal
        return (1, 0) if self.kind is not None else (0, 0)

    @property
    def names_one(self) -> bool:
        """Whether its argument ends in a name, and not in a pattern of names."""
        return self.argument is not None and not set(self.argument.rpartition("/")[2]) & set("*?")

    def has_part(self, name: str) -> bool:
        """Whether a folder or file of this name is literally in its argument."""
        parts = (self.argument or "").casefold().split("/")
        return bool(name) and name.casefold() in parts

    def match(self, facts: Facts, effect: str) -> RuleMatch:
        """Whether a rule of this effect applies; what is not known is a match for deny and ask, but not for allow."""
        missing = []
        for part in (self._kind, self._tool, self._said):
            holds, known, what = part(facts, effect)
            if not known:
                missing.append(what)
            elif not holds:
                return RuleMatch(False)
        return RuleMatch(effect != ALLOW or not missing, " and ".join(missing))

    def _kind(self, facts: Facts, effect: str) -> tuple[bool, bool, str]:
        if self.kind is None:
            return True, True, ""
        holds = self.kind in facts.kinds and (effect != ALLOW or len(facts.kinds) == 1)
        return holds, bool(facts.kinds), f"the kind of {facts.tool or 'its tool'}"

    def _tool(self, facts: Facts, effect: str) -> tuple[bool, bool, str]:
        if self.tool is None:
            return True, True, ""
        names = facts.names if effect != ALLOW else (facts.tool,)
        holds = any(re.fullmatch(_glob(self.tool, r".", r"."), name, re.DOTALL) for name in names)
        return holds, facts.named or (holds and effect != ALLOW), "the name of its tool"

    def _said(self, facts: Facts, effect: str) -> tuple[bool, bool, str]:
        """The argument: of the rule's kind, else of the call's, else whichever there is."""
        if self.argument is None:
            return True, True, ""
        about = arguments_of((self.kind,) if self.kind else facts.kinds)
        if effect == ALLOW:
            told = [name for name in about if getattr(facts, name).stated] or [about[0]]
            unknown = [name for name in told if not getattr(facts, name).known]
            holds = all(self._allows(facts, name, getattr(facts, name).stated) for name in told)
            allows = partial(self._allows, facts)
            if holds and not unknown and (beside := uncovered_argument(facts, told, allows)):
                return True, False, f"the meaning of its argument {beside}"
            return holds, not unknown, _WORDS[(unknown or told)[0]]
        known = any(getattr(facts, name).known for name in about)
        return any(self._touches(facts, name) for name in about), known, _WORDS[about[0]]

    def _allows(self, facts: Facts, what: str, stated: Sequence[str]) -> bool:
        pattern = self.argument or ""
        if what == "command":
            return all(_command_allowed(pattern, line) for line in stated)
        if what == "paths":
            return all(_path_allowed(pattern, path, facts.root) for path in stated)
        return all(allows_address(pattern, text) for text in stated)

    def _touches(self, facts: Facts, what: str) -> bool:
        pattern = self.argument or ""
        readings = facts.readings
        if what == "command":
            runs = (*facts.runs, *facts.possible_runs)
            return "lines" in readings.too_many or any(may_match(pattern, run) for run in runs)
        if what == "paths":
            below = bool(_BELOW & set(facts.kinds)) or not facts.kinds
            # A bare word, as in `mode: overwrite`, is not a file that a pattern of any name is about.
            is_any = not re.sub(r"[*?]", "", pattern.rpartition("/")[2])
            possible = [path for path, is_bare in facts.possible_paths if not (is_bare and is_any)]
            return "paths" in readings.too_many or _paths_touched(
                pattern, [*facts.paths.all, *possible], facts.root, below=below
            )
        texts = (*facts.address.all, *readings.addresses)
        return "addresses" in readings.too_many or any(touches_address(pattern, text) for text in texts)


def arguments_of(kinds: Sequence[str]) -> tuple[str, ...]:
    """Which members of `Facts` calls of these kinds are about; the first is what is missing when nothing is there."""
    found = dict.fromkeys(_ARGUMENTS.get(kind, "") for kind in kinds)
    if not found or "" in found:
        return ("command", "paths", "address")
    return tuple(found)


@lru_cache(maxsize=1024)
def parse(text: str) -> Pattern:
    """A pattern; ValueError says what is wrong with it."""
    if text != text.strip() or not text:
        raise ValueError("a pattern is not empty and has no spaces around it")
    if text == "*":
        return Pattern()
    head, colon, rest = text.partition(":")
    if colon and head == "kind":
        if rest not in TOOL_KINDS:
            raise ValueError(f"there is no kind {rest!r}; kinds are {' '.join(TOOL_KINDS)}")
        return Pattern(kind=rest)
    if colon and head in TOOL_KINDS:
        if not rest:
            raise ValueError(f"the part after {head}: is empty; write kind:{head} for every {head}")
        return Pattern(kind=head, argument=rest)
    if colon and re.fullmatch(r"[a-z_]+", head):
        # `exec:rm *` would be a rule about a tool of that name, which no agent has: a rule about nothing.
        kinds = " ".join(TOOL_KINDS)
        raise ValueError(
            f"there is no kind {head!r}; kinds are {kinds} (a colon in the name of a tool is written ?)"
        )
    tool, parenthesis, argument = text.partition("(")
    if not parenthesis:
        return Pattern(tool=text)
    if not argument.endswith(")") or not tool:
        raise ValueError("write an argument in parentheses after the tool: Bash(git *)")
    return Pattern(tool=tool, argument=argument[:-1])


def _glob(pattern: str, star: str, double: str) -> str:
    """The regular expression of a pattern: `*` and `?` stand for `star`, `**` for `double`."""
    pieces = re.split(r"(\*\*/?|\*|\?)", pattern)
    words = {"*": f"{star}*", "?": star, "**": f"{double}*", "**/": f"(?:{double}*/)?"}
    return "".join(words.get(piece) or re.escape(piece) for piece in pieces)


def _path_allowed(pattern: str, path: str, root: str) -> bool:
    if pattern.startswith("/"):
        path = _absolute(path, root)
    elif path.startswith("/"):
        return False  # outside the workspace: only a pattern that says so may allow that
    return bool(re.fullmatch(_glob(pattern, r"[^/]", r"."), path, re.DOTALL))


def _paths_touched(pattern: str, paths: Sequence[str], root: str, *, below: bool) -> bool:
    """Whether a pattern is about one of these paths, or about one below it; as written, and where it leads.

    A wildcard or a variable in a path may become anything.
    """
    readings = _readings(pattern, root)
    forms = [re.compile(_glob(written, r"[^/]", r"."), re.DOTALL) for written in (*readings, pattern)]
    for path in dict.fromkeys(paths):
        whole = _absolute(path, root)
        if any(form.fullmatch(text) for form in forms for text in (whole, path)):
            return True
        if _WILDCARD.search(path) and any(_may_meet(written, whole) for written in readings):
            return True
        if below and any(may_match(written, (whole.rstrip("/") + "/", WILD)) for written in readings):
            return True
    return False


def _may_meet(pattern: str, path: str) -> bool:
    """Whether a path with wildcards may become one that the pattern is about."""
    if re.search(r"[{$]|\*\*", path):
        return may_match(pattern.replace("**/", "*"), _wild(path))
    return _segments_meet(pattern.split("/"), path.split("/"))


def _segments_meet(wanted: Sequence[str], given: Sequence[str]) -> bool:
    if not wanted:
        return not given
    if wanted[0] == "**":
        return any(_segments_meet(wanted[1:], given[at:]) for at in range(len(given) + 1))
    return bool(given) and may_match(wanted[0], _wild(given[0])) and _segments_meet(wanted[1:], given[1:])


def _wild(text: str) -> Command:
    pieces = [each for piece in _WILDCARD.split(text) for each in (piece, WILD)][:-1]
    return tuple(piece for piece in pieces if piece != "")


def _readings(pattern: str, root: str) -> list[str]:
    """A pattern of paths as absolute ones: by its words, and with the links in its fixed part resolved."""
    fixed = re.split(r"[*?]", pattern, maxsplit=1)[0]
    folder, _, _ = fixed.rpartition("/") if fixed != pattern else (pattern, "", "")
    rest = pattern[len(folder) :]
    lead = os.path.normpath(
        os.path.join(root, os.path.expanduser(folder or ("/" if pattern.startswith("/") else "")))
    )
    if rest and not rest.startswith("/"):
        rest = f"/{rest}"
    try:
        real = os.path.realpath(lead)
    except ValueError:
        real = lead
    return list(dict.fromkeys(re.sub(r"^//+", "/", found + rest) for found in (lead, real)))


def _absolute(path: str, root: str) -> str:
    return path if path.startswith("/") else root if path == "." else f"{root.rstrip('/')}/{path}"


def _command_allowed(pattern: str, line: str) -> bool:
    """An allow stays within one simple command, unless its author wrote the operator literally."""
    if obscured(line):
        return False
    inside = f"[^{_CONTROL}]"
    expression = re.compile(_glob(pattern, inside, inside))
    script = plain_script(line)
    return any(expression.fullmatch(text) for text in (line, script) if text is not None)
