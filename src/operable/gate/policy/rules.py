"""Rules about tool calls: allow, deny or ask, by tool, by kind and by argument.

A rule is an effect and a pattern:

    Bash                 the tool with this name (`*` and `?` as in file names: `mcp__github__*`)
    Bash(git *)          … when its argument matches: the command line, the path or the address, by the kind of the tool
    kind:execute         every tool of this kind (read edit delete move search execute think fetch switch_mode other)
    effect:destroy       every call with this effect (read change destroy), where what is called declares it
    edit:src/**          … when its argument matches; paths from the workspace on (`*` within a folder, `**` across)
    *                    everything

The most specific rule that matches decides: tool or kind with an argument, then an exact tool name, a tool pattern, a kind,
`*`; among equals the one with more literal characters; among those deny before ask before allow. No rule: `default`.

A deny or ask also covers longer commands, a bare name in every folder, and what is below a folder; an allow covers only its
words. A deny or ask that cannot be decided, because the agent does not report the name, the kind or the argument, applies;
an allow then does not. An allow needs every command line, path or address that the call states; deny and ask match any of
them, and also what is only shown. In a command line, `*` of an allow does not reach over `; & | < > $ ( )`, backquotes or
line ends, while deny and ask look at everything that the line may run, and at every value of the call
(`…policy.argument_readings`).
Variables, another shell and standard input beside a command are part of its line (`…policy.shell`); an allow matches no call
with other arguments that count (`…policy.argument_cover`). A path is judged by where it really leads, and one outside the
workspace is written absolute, so that no relative pattern allows it.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from typing import Final

from operable.gate.policy.agent_path import AgentPaths
from operable.gate.policy.pattern import ALLOW, ASK, DENY, parse
from operable.gate.policy.tool_call import Facts, JudgedCall
from operable.gate.policy.tool_map import ToolMap
from operable.kernel.data_class import dataclass
from operable.wire.events import MUTATING_KINDS

# Levels of autonomy go from 0 to 4 (AIP-7 has both 0-3 and 0-4); a call is free below the level: read at 1, edit at 2, …
FULL: Final = 4
HIGHEST: Final = 3
RISKS: Final = {
    **dict.fromkeys(("read", "search", "think"), 0),
    **dict.fromkeys(("edit", "switch_mode"), 1),
    **dict.fromkeys(("fetch", "move", "delete"), 2),
    **dict.fromkeys(("execute", "other"), HIGHEST),
}
EVERYTHING: Final = "*"  # the pattern of a rule about every call
_STRENGTH = {ALLOW: 0, ASK: 1, DENY: 2}


@dataclass(frozen=True, slots=True)
class PolicyRule:
    effect: str
    pattern: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer of a policy: what to do, and which rule said so (None: the default)."""

    effect: str
    rule: PolicyRule | None = None
    why: str = ""
    is_certain: bool = (
        True  # the rule matches what was reported, and does not apply merely because something was not
    )

    @property
    def reference(self) -> str:
        """How the record names the rule that decided."""
        return "policy" if self.rule is None else f"policy:{self.rule.effect} {self.rule.pattern}"

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

    rules: tuple[PolicyRule, ...] = ()
    default: str = DENY
    # A ceiling over every allow (AIP-7): a call whose risk reaches it is asked about; 4 is none, 0 asks about everything.
    autonomy: int = FULL
    # The limits of the [budget] table, for `operable.host.session.context`.
    budget: dict[str, float] = field(default_factory=dict)
    ask_timeout: float | None = None
    # What is allowed in place of the default, where no rule is about the call: patterns.
    unless: tuple[str, ...] = ()

    def decide(
        self, call: JudgedCall, workspace: str, seen_as: str = "", *, tools: ToolMap | None = None
    ) -> Ruling:
        """What the rules say about this call. `seen_as`: what the agent calls the workspace, inside a sandbox."""
        return self.judge(Facts(call, AgentPaths(workspace, seen_as), tools))

    def judge(self, facts: Facts) -> Ruling:
        held: list[tuple[tuple[int, int, int], PolicyRule, str]] = []
        short: dict[
            str, str
        ] = {}  # allow rules that would match if something were reported, and what that is
        for rule in self.rules:
            matcher = parse(rule.pattern)
            found = matcher.match(facts, rule.effect)
            if rule.effect == ALLOW and found.missing:
                short[rule.pattern] = found.missing
            if found.binds:
                held.append(((*matcher.specificity, _STRENGTH[rule.effect]), rule, found.missing))
        if not held:
            ruling = self._by_default(facts, short)
        else:
            _, rule, missing = _decisive(held)
            why = ""
            if missing:
                why = f"the agent does not report {missing}, so that {rule.effect} {rule.pattern} applies"
            elif rule.effect != ALLOW and not rule.reason and parse(rule.pattern).is_about_any_line(facts):
                why = (
                    f"the host cannot read everything that this command line runs, so that {rule.effect} {rule.pattern}"
                    " applies; it can read plain words, quotes and lists"
                )
            ruling = Ruling(rule.effect, rule, why, not missing)
        risk = max((RISKS.get(kind, HIGHEST) for kind in facts.kinds), default=HIGHEST)
        if ruling.effect == ALLOW and risk >= self.autonomy:
            return Ruling(ASK, ruling.rule, f"it is beyond autonomy {self.autonomy}")
        return ruling

    def _by_default(self, facts: Facts, short: dict[str, str]) -> Ruling:
        for pattern in self.unless:
            if parse(pattern).match(facts, ALLOW).binds:
                return Ruling(ALLOW, PolicyRule(ALLOW, pattern))
        return Ruling(self.default, why=_why_not(self.default, short))

    def with_rules(self, rules: Iterable[PolicyRule]) -> "Policy":
        """The same policy and more rules."""
        return replace(self, rules=(*self.rules, *rules))

    def wants_to_be_asked(self, kind: str, tools: ToolMap) -> list[str]:
        """What is about calls of this kind and does not allow them all, as it was written; an empty list: nothing is.

        For kinds that change nothing, only what is written down counts: the default never stopped them from reading.
        """
        binding = [rule for rule in self.rules if rule.effect != ALLOW and _is_about(rule, kind, tools)]
        by_kind = [rule for rule in self.rules if rule.pattern == f"kind:{kind}"]
        general = by_kind or [rule for rule in self.rules if rule.pattern == EVERYTHING]
        if by_kind or kind in MUTATING_KINDS:
            binding += [rule for rule in general if rule.effect != ALLOW]
        written = [f"{rule.effect} {rule.pattern}" for rule in binding]
        if not general and self.default != ALLOW and kind in MUTATING_KINDS:
            written.append(f"the default ({self.default})")
        return written + ([f"autonomy {self.autonomy}"] if RISKS[kind] >= self.autonomy else [])

    @property
    def restrictions(self) -> list[str]:
        """What denies or asks, as it was written; an empty list: everything is allowed."""
        written = [f"{rule.effect} {rule.pattern}" for rule in self.rules if rule.effect != ALLOW]
        if self.default != ALLOW and not any(rule.pattern == EVERYTHING for rule in self.rules):
            written.append(f"the default ({self.default})")
        return written + ([f"autonomy {self.autonomy}"] if self.autonomy < FULL else [])

    @property
    def wants_answers(self) -> bool:
        """Whether it leaves anything to people."""
        return self.default == ASK or self.autonomy < FULL or any(rule.effect == ASK for rule in self.rules)

    @property
    def allows_everything(self) -> bool:
        """Whether a rule, or the default, allows whatever no other rule is about."""
        return self.default == ALLOW or any(
            rule.effect == ALLOW and rule.pattern == EVERYTHING for rule in self.rules
        )

    @property
    def asks(self) -> bool:
        """Whether it wants to be asked, or denies, anything at all; False: everything is allowed."""
        return bool(self.restrictions)


def _is_about(rule: PolicyRule, kind: str, tools: ToolMap) -> bool:
    """Whether the rule is about some calls of this kind: by their argument, or by a tool that makes or may make them."""
    pattern = parse(rule.pattern)
    if pattern.result is not None:
        return (
            kind in MUTATING_KINDS
        )  # an agent does not report it, so that the rule applies to each of these
    if pattern.tool is not None and kind in MUTATING_KINDS:
        return tools.use_of(pattern.tool).kind in ("", kind)
    return pattern.kind == kind and pattern.argument is not None


def _decisive(
    held: list[tuple[tuple[int, int, int], PolicyRule, str]],
) -> tuple[tuple[int, int, int], PolicyRule, str]:
    """The most specific rule that certainly matches, or the strictest of the more specific ones that perhaps do.

    It is unknown which of several rules would match if the agent reported what they are about: the strictest applies.
    """
    certain = max((one for one in held if not one[2]), default=None, key=lambda one: one[0])
    perhaps = [one for one in held if one[2] and (certain is None or one[0] > certain[0])]
    return max(
        perhaps if certain is None else [certain, *perhaps],
        key=lambda one: (_STRENGTH[one[1].effect], one[0]),
    )


def _why_not(default: str, short: dict[str, str]) -> str:
    if default == ALLOW or not short:
        return ""
    needs = "; ".join(f"allow {pattern} needs {missing}" for pattern, missing in short.items())
    return f"no rule allows it: {needs}, which the agent does not report"
