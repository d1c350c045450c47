"""Rules about tool calls: allow, deny or ask, by tool, by kind and by argument.

A rule is an effect and a pattern:

    Bash                 the tool with this name (`*` and `?` as in file names: `mcp__github__*`)
    Bash(git *)          … when its argument matches: the command line, the path or the address, by the kind of the tool
    kind:execute         every tool of this kind (read edit delete move search execute think fetch switch_mode other)
    edit:src/**          … when its argument matches; paths from the workspace on (`*` within a folder, `**` across)
    *                    everything

The most specific rule that matches decides: tool or kind with an argument, then an exact tool name, a tool pattern, a kind,
`*`; among equals the one with more literal characters; among those deny before ask before allow. No rule: `default`.

Two asymmetries keep an allow from being talked into more than it says. In a command line, `*` of an allow does not reach
over `; & | < > $ ( )`, backquotes or line ends, while deny and ask also match any single command of a compound line. A call
with several paths is allowed only when each is, and denied when one is; a path is judged by where it really leads
(symbolic links resolved), and one outside the workspace is written absolute, so that no relative pattern matches it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from operable.host.tool_call import Call, Facts
from operable.wire.events import TOOL_KINDS

ALLOW: Final = "allow"
ASK: Final = "ask"
DENY: Final = "deny"
EFFECTS: Final = (ALLOW, ASK, DENY)
# Levels of autonomy go from 0 to 4 (AIP-7 has both 0-3 and 0-4); a call is free below the level: read at 1, edit at 2, …
FULL: Final = 4
HIGHEST: Final = 3
RISKS: Final = {
    **dict.fromkeys(("read", "search", "think"), 0),
    **dict.fromkeys(("edit", "switch_mode"), 1),
    **dict.fromkeys(("fetch", "move", "delete"), 2),
    **dict.fromkeys(("execute", "other"), HIGHEST),
}
_STRENGTH = {ALLOW: 0, ASK: 1, DENY: 2}
_PATH_KINDS = frozenset({"read", "edit", "delete", "move", "search"})
_CONTROL = r";&|<>$()`\n\r"
_COMPOUND = re.compile(r"[;&|()`\n\r]+|\$\(")


@dataclass(frozen=True, slots=True)
class Rule:
    effect: str
    pattern: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer of a policy: what to do, and which rule said so (None: the default)."""

    effect: str
    rule: Rule | None = None
    why: str = ""

    @property
    def reason(self) -> str:
        if self.why:
            return self.why
        if self.rule is None:
            return "no rule allows it"
        return self.rule.reason or f"the rule {self.rule.effect} {self.rule.pattern} says so"


@dataclass(frozen=True, slots=True)
class Policy:
    """An ordered set of rules. Nothing said: every ask is denied."""

    rules: tuple[Rule, ...] = ()
    default: str = DENY
    # A ceiling over every allow (AIP-7): a call whose risk reaches it is asked about; 4 is none, 0 asks about everything.
    autonomy: int = FULL
    # The limits of the [budget] table, for `operable.host.budget`.
    budget: dict[str, float] = field(default_factory=dict)
    ask_timeout: float | None = None

    def decide(self, call: Call, workspace: str, seen_as: str = "") -> Ruling:
        """What the rules say about this call. `seen_as`: what the agent calls the workspace, inside a sandbox."""
        facts = Facts(call, workspace, seen_as or workspace)
        best: tuple[tuple[int, int, int], Rule] | None = None
        for rule in self.rules:
            matcher = parse(rule.pattern)
            if not matcher.matches(facts, rule.effect):
                continue
            rank = (*matcher.specificity, _STRENGTH[rule.effect])
            if best is None or rank > best[0]:
                best = (rank, rule)
        ruling = Ruling(self.default) if best is None else Ruling(best[1].effect, best[1])
        if ruling.effect == ALLOW and RISKS.get(facts.kind, HIGHEST) >= self.autonomy:
            return Ruling(ASK, ruling.rule, f"it is beyond autonomy {self.autonomy}")
        return ruling

    def with_rules(self, rules: Iterable[Rule]) -> "Policy":
        """The same policy and more rules."""
        return replace(self, rules=(*self.rules, *rules))

    @property
    def wants_answers(self) -> bool:
        """Whether it leaves anything to people."""
        return self.default == ASK or self.autonomy < FULL or any(rule.effect == ASK for rule in self.rules)

    @property
    def asks(self) -> bool:
        """Whether it wants to be asked, or denies, anything at all; False: everything is allowed."""
        everything = self.default == ALLOW or any(rule.pattern == "*" for rule in self.rules)
        return not everything or self.autonomy < FULL or any(rule.effect != ALLOW for rule in self.rules)


def rules(
    *,
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    ask: Sequence[str] = (),
    default: str = DENY,
) -> Policy:
    """A policy from lists of patterns; Fail validation/POLICY_INVALID with all problems."""
    from operable.host.policy_file import policy_from

    return policy_from(
        {"allow": list(allow), "deny": list(deny), "ask": list(ask), "default": default}, source="policy"
    )


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

    def matches(self, facts: Facts, effect: str) -> bool:
        if self.kind is not None and facts.kind != self.kind:
            return False
        if self.tool is not None and not re.fullmatch(_glob(self.tool, r".", r"."), facts.tool, re.DOTALL):
            return False
        return self.argument is None or self._argument_matches(facts, effect)

    def _argument_matches(self, facts: Facts, effect: str) -> bool:
        argument = self.argument or ""
        if facts.kind in _PATH_KINDS or (facts.paths and facts.command is None):
            found = [_path_matches(argument, path, effect) for path in facts.paths]
            return bool(found) and (all(found) if effect == ALLOW else any(found))
        if facts.command is not None:
            return _command_matches(argument, facts.command, effect)
        if facts.address is not None:
            return bool(re.fullmatch(_glob(argument, r".", r"."), facts.address, re.DOTALL))
        return False


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
            raise ValueError(f"what follows {head}: is empty; write kind:{head} for every {head}")
        return Pattern(kind=head, argument=rest)
    tool, parenthesis, argument = text.partition("(")
    if not parenthesis:
        return Pattern(tool=text)
    if not argument.endswith(")") or not tool:
        raise ValueError("an argument stands in parentheses behind the tool: Bash(git *)")
    return Pattern(tool=tool, argument=argument[:-1])


def _glob(pattern: str, star: str, double: str) -> str:
    """The regular expression of a pattern: `*` and `?` stand for `star`, `**` for `double`."""
    pieces = re.split(r"(\*\*/?|\*|\?)", pattern)
    words = {"*": f"{star}*", "?": star, "**": f"{double}*", "**/": f"(?:{double}*/)?"}
    return "".join(words.get(piece) or re.escape(piece) for piece in pieces)


def _path_matches(pattern: str, path: str, effect: str) -> bool:
    if effect == ALLOW and path.startswith("/") and not pattern.startswith("/"):
        return False  # outside the workspace: only a pattern that says so may allow that
    return bool(re.fullmatch(_glob(pattern, r"[^/]", r"."), path, re.DOTALL))


def _command_matches(pattern: str, command: str, effect: str) -> bool:
    if effect == ALLOW:
        # An allow stays within one simple command, unless its author wrote the operator literally.
        inside = f"[^{_CONTROL}]"
        return bool(re.fullmatch(_glob(pattern, inside, inside), command))
    whole = re.compile(_glob(pattern, ".", "."), re.DOTALL)
    parts = [part.strip() for part in _COMPOUND.split(command)]
    return any(whole.fullmatch(part) for part in (command, *parts) if part)
