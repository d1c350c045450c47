"""One pattern of a rule, and whether it matches a call: by tool, by kind and by argument.

What a pattern can be is said in `operable.gate.policy.rules`. Matching depends on the effect of the rule, since what is
not known is a match for deny and ask, but not for allow. An allow compares what the call states, all of it, and takes it
literally; deny and ask compare everything that was said, and all that it may come to. They also reach further than their
words: a name covers what is below it and stands for it in every folder, and a command covers every longer one. A text that
is not a pattern here, but one of another program, is refused: as a rule it would match nothing.
"""

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Final

from operable.gate.policy.address_match import allows_address, touches_address
from operable.gate.policy.agent_path import ANYWHERE
from operable.gate.policy.argument_cover import uncovered_argument
from operable.gate.policy.shell.text import WILD, Command, may_match, obscured
from operable.gate.policy.tool_call import RESULTS, Facts
from operable.kernel.data_class import dataclass
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
# Braces stand for something else only with a comma or two dots in them.
_WILDCARD = re.compile(r"\*+|\?|\[[^\]/]*\]|\{[^{}]*(?:,|\.\.)[^{}]*\}|\$(?:\w+|\{[^}]*\})")
_TOGETHER: Final = 400_000  # characters of all paths of a call; more may be every path
_CONTROL = r";&|<>$()`\n"
_WORDS = {"command": "its command line", "paths": "its path", "address": "its address"}


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """Whether a rule applies, and what the agent would have to report for that to be certain."""

    binds: bool
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern. `tool` None: any tool of `kind`; `kind` None: any kind; `argument` None: any argument.

    `result` is what a pattern `effect:…` names: what the call does to the world.
    """

    tool: str | None = None
    kind: str | None = None
    argument: str | None = None
    result: str | None = None

    @property
    def specificity(self) -> tuple[int, int]:
        literal = len(re.sub(r"[*?]", "", (self.argument or "") + (self.tool or "")))
        if self.argument is not None:
            return 4, literal
        if self.tool is not None:
            return (2 if set(self.tool) & set("*?") else 3), literal
        if self.result is not None:
            return 1, 1  # `kind:execute` is about every call that changes something
        return (1, 0) if self.kind is not None else (0, 0)

    @property
    def names_one(self) -> bool:
        """Whether its argument ends in a name, and not in a pattern of names."""
        return self.argument is not None and not set(self.argument.rpartition("/")[2]) & set("*?")

    def has_part(self, name: str) -> bool:
        """Whether a folder or file of this name is literally in its argument."""
        parts = (self.argument or "").casefold().split("/")
        return bool(name) and name.casefold() in parts

    def is_about_any_line(self, facts: Facts) -> bool:
        """Whether a deny or ask about a command binds only because the line may run anything."""
        if self.argument is None or arguments_of((self.kind,) if self.kind else facts.kinds) != ("command",):
            return False
        known = [run for run in facts.runs if WILD not in run]
        is_named = any(may_match(each, run) for each in _commands_meant(self.argument) for run in known)
        return (WILD,) in facts.runs and not is_named

    def match(self, facts: Facts, effect: str) -> RuleMatch:
        """Whether a rule of this effect applies; what is not known is a match for deny and ask, but not for allow."""
        missing = []
        for part in (self._kind, self._result, self._tool, self._said):
            holds, known, what = part(facts, effect)
            if not known:
                missing.append(what)
            elif not holds:
                return RuleMatch(False)
        return RuleMatch(effect != ALLOW or not missing, " and ".join(missing))

    def _kind(self, facts: Facts, effect: str) -> tuple[bool, bool, str]:
        if self.kind is None:
            return True, True, ""
        if effect == ALLOW:
            holds = facts.kinds == (self.kind,)
        else:
            is_run = self.kind == "execute" and facts.states_command
            holds = self.kind in facts.kinds or is_run or self._reads_by_search(facts)
        return holds, bool(facts.kinds), f"the kind of {facts.tool or 'its tool'}"

    def _result(self, facts: Facts, effect: str) -> tuple[bool, bool, str]:
        del effect  # what is not known is for `match`
        return self.result in (None, facts.result), self.result is None or bool(facts.result), "its effect"

    def _reads_by_search(self, facts: Facts) -> bool:
        """Whether this is about reading a file, and the call is a search, which shows the lines of a file."""
        return self.kind == "read" and self.argument is not None and facts.kinds == ("search",)

    def _tool(self, facts: Facts, effect: str) -> tuple[bool, bool, str]:
        if self.tool is None:
            return True, True, ""
        names = facts.own_names if effect == ALLOW else (*facts.own_names, *facts.possible_names)
        flags = re.DOTALL if effect == ALLOW else re.DOTALL | re.IGNORECASE
        holds = any(re.fullmatch(_glob(self.tool, r".", r"."), name, flags) for name in names)
        return holds, facts.named or (holds and effect != ALLOW), "the name of its tool"

    def _said(self, facts: Facts, effect: str) -> tuple[bool, bool, str]:
        """The argument: of the rule's kind, else of the call's, else whichever there is."""
        if self.argument is None:
            return True, True, ""
        about = arguments_of((self.kind,) if self.kind else facts.kinds)
        if effect == ALLOW:
            compared = [name for name in about if getattr(facts, name).stated] or [about[0]]
            unknown = [name for name in compared if not getattr(facts, name).known]
            holds = all(self._allows(facts, name, getattr(facts, name).stated) for name in compared)
            allows = partial(self._allows, facts)
            if holds and not unknown and (beside := uncovered_argument(facts, compared, allows)):
                return True, False, f"the meaning of its argument {beside}"
            return holds, not unknown, _missing(facts, (unknown or compared)[0])
        # A search that names no file is not denied for one file in its folder.
        known = any(getattr(facts, name).known for name in about) or self._reads_by_search(facts)
        return any(self._touches(facts, name) for name in about), known, _missing(facts, about[0])

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
            from operable.gate.policy.shell.mention import mentions

            runs = (*facts.runs, *facts.possible_runs)
            return (
                "lines" in readings.too_many
                or any(may_match(each, run) for each in _commands_meant(pattern) for run in runs)
                or any(mentions(pattern, line) for line in facts.command.stated)
            )
        if what == "paths":
            below = (bool(_BELOW & set(facts.kinds)) or not facts.kinds) and not self._reads_by_search(facts)
            # A bare word, as in `mode: overwrite`, is not a file that a pattern of any name is about.
            is_any = not re.sub(r"[*?]", "", pattern.rpartition("/")[2])
            guessed = [path for path, is_bare in facts.possible_paths if not (is_bare and is_any)]
            possible = [path for path in guessed if not _is_prose(path)]
            paths = [*facts.paths.all, *possible]
            return "paths" in readings.too_many or any(
                _paths_touched(each, those, facts.root, below=below) or _inside(each, those, facts.root)
                for each, those in _paths_meant(pattern, paths)
            )
        texts = (*facts.address.all, *readings.addresses)
        return "addresses" in readings.too_many or any(touches_address(pattern, text) for text in texts)


def _missing(facts: Facts, what: str) -> str:
    if what == "paths" and ANYWHERE in facts.paths.stated:
        return "a path that leads to one file, for every process"
    return _WORDS[what]


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
    if colon and head == "effect":
        if rest not in RESULTS:
            raise ValueError(f"there is no effect {rest!r}; effects are {' '.join(RESULTS)}")
        return Pattern(result=rest)
    if colon and head in TOOL_KINDS:
        return Pattern(kind=head, argument=_argument(rest, head))
    if colon and re.fullmatch(r"[A-Za-z_]+", head):
        # `exec:rm *` would be a rule about a tool of that name, which no agent has: a rule about nothing.
        kinds = " ".join(TOOL_KINDS)
        meant = f"; write {head.lower()}:{rest}" if head.lower() in (*TOOL_KINDS, "kind", "effect") else ""
        raise ValueError(
            f"there is no kind {head!r}{meant}; kinds are {kinds} (a colon in the name of a tool is written ?)"
        )
    tool, parenthesis, argument = text.partition("(")
    if re.search(r"\s", tool):
        hint = f"write execute:{text} for a command line, and ? for a space in the name of a tool"
        raise ValueError(f"{tool!r} would be the name of a tool, and has a space; {hint}")
    if not parenthesis:
        return Pattern(tool=text)
    if not argument.endswith(")") or not tool:
        raise ValueError("write an argument in parentheses after the tool: Bash(git *)")
    return Pattern(tool=tool, argument=_argument(argument[:-1], tool))


def _argument(text: str, owner: str) -> str:
    """The argument of a rule. ValueError if it is empty, or in the syntax of another program: it would match nothing."""
    if not text:
        raise ValueError(f"the argument after {owner} is empty; write kind:{owner} or {owner} for every call")
    if text != text.strip():
        raise ValueError(f"the argument after {owner} has a space around it, which no argument of a call has")
    prefix = text.removesuffix(":*")
    if prefix != text and "://" not in text:
        form = "{}:{}" if owner in TOOL_KINDS else "{}({})"
        some, alone = form.format(owner, f"{prefix} *"), form.format(owner, prefix)
        raise ValueError(f"`:*` is not a wildcard here; write {some} for arguments, and {alone} for none")
    if text.startswith("domain:"):
        host = text.removeprefix("domain:")
        raise ValueError(f"`domain:` is not an address; write fetch:https://{host}/*")
    return text


def _commands_meant(pattern: str) -> list[str]:
    """What a deny or ask about command lines is about: the same program without its folder, and with more arguments."""
    program, blank, rest = pattern.partition(" ")
    meant = [pattern, f"{program.rpartition('/')[2] or program}{blank}{rest}"]
    if not set(pattern) & set("*?"):
        meant += [f"{each} *" for each in meant]
    return list(dict.fromkeys(meant))


def _paths_meant(pattern: str, paths: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """What a deny or ask about paths is about: its words, and a bare name in every folder.

    A text with blanks and asterisks, such as a patch, is not compared with the latter: it may stand for every name.
    """
    named = pattern.rstrip("/") or pattern
    yield named, paths
    if "/" not in named and named.strip("*"):
        yield f"**/{named}", [path for path in paths if not _is_prose(path)]


def _is_prose(path: str) -> bool:
    """Whether it is a text with blanks and asterisks, such as a line of a patch, rather than a pattern of paths."""
    return _WILDCARD.search(path) is not None and re.search(r"\s", path) is not None


def _glob(pattern: str, star: str, double: str) -> str:
    """The regular expression of a pattern: `*` and `?` stand for `star`, `**` for `double`."""
    pieces = re.split(r"(\*\*/?|\*|\?)", pattern)
    words = {"*": f"{star}*", "?": star, "**": f"{double}*", "**/": f"(?:{double}*/)?"}
    return "".join(words.get(piece) or re.escape(piece) for piece in pieces)


def _path_allowed(pattern: str, path: str, root: str) -> bool:
    if path == ANYWHERE:
        return False
    pattern = pattern.removeprefix("./") or "."
    if pattern.startswith("/"):
        path = _absolute(path, root)
    elif path.startswith("/"):
        return False  # outside the workspace: only a pattern that says so may allow that
    return bool(re.fullmatch(_glob(pattern, r"[^/]", r"."), path, re.DOTALL))


def _paths_touched(pattern: str, paths: Sequence[str], root: str, *, below: bool) -> bool:
    """Whether a pattern is about one of these paths, or about one below it; as written, and where it leads.

    A wildcard or a variable in a path may become anything. Letters have no case: some file systems ignore it.
    """
    if ANYWHERE in paths or sum(map(len, paths)) > _TOGETHER:
        return True
    readings = [written.casefold() for written in _readings(pattern, root)]
    forms = [
        re.compile(_glob(written, r"[^/]", r"."), re.DOTALL) for written in (*readings, pattern.casefold())
    ]
    for path in dict.fromkeys(path.casefold() for path in paths):
        whole = _absolute(path, root.casefold())
        if any(form.fullmatch(text) for form in forms for text in (whole, path)):
            return True
        if _WILDCARD.search(path) and any(_may_meet(written, whole) for written in readings):
            return True
        if below and any(may_match(written, (whole.rstrip("/") + "/", WILD)) for written in readings):
            return True
    return False


def _inside(pattern: str, paths: Sequence[str], root: str) -> bool:
    """Whether a path is below the folder that a pattern ends in. A pattern of names in a folder is not about folders."""
    if set(pattern.rpartition("/")[2]) & set("*?"):
        return False
    forms = [
        re.compile(_glob(f"{each.casefold().rstrip('/')}/**", r"[^/]", r"."), re.DOTALL)
        for each in _readings(pattern, root)
    ]
    wholes = [_absolute(path, root).casefold() for path in dict.fromkeys(paths)]
    return any(form.fullmatch(whole) for form in forms for whole in wholes)


def _may_meet(pattern: str, path: str) -> bool:
    """Whether a path with wildcards may become one that the pattern is about."""
    if re.search(r"[{$]|\*\*", path):
        return may_match(pattern.replace("**/", "*"), _wild(path))
    return _segments_meet(pattern.split("/"), path.split("/"))


def _segments_meet(wanted: Sequence[str], given: Sequence[str]) -> bool:
    places = {0}  # how many of the given names may be used up
    for name in wanted:
        if name == "**":
            places = set(range(min(places), len(given) + 1))
        else:
            places = {at + 1 for at in places if at < len(given) and may_match(name, _wild(given[at]))}
        if not places:
            return False
    return len(given) in places


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
    except (OSError, ValueError):
        real = lead
    return list(dict.fromkeys(re.sub(r"^//+", "/", found + rest) for found in (lead, real)))


def _absolute(path: str, root: str) -> str:
    return path if path.startswith("/") else root if path == "." else f"{root.rstrip('/')}/{path}"


def _command_allowed(pattern: str, line: str) -> bool:
    """An allow stays within one simple command, unless its author wrote the operator literally.

    In a line that is not read exactly, nothing is sure but the line itself.
    """
    from operable.gate.policy.shell.command_line import is_exact, plain_script

    if obscured(line):
        return False
    inside = f"[^{_CONTROL}]"
    expression = re.compile(_glob(pattern, inside, inside))
    script = plain_script(line)
    texts = [text for text in (line, script) if text is not None]
    return any(text == pattern or (expression.fullmatch(text) and is_exact(text)) for text in texts)
