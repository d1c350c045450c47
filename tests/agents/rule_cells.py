"""The matrix of rules: which rules a session gets, which real calls are tried under them, and what the rules mean.

A cell is one tool call of a real agent under one rule. The call is one of five actions; the rule is an effect (allow, deny,
ask) in one of three forms (by kind, by tool, by argument), or no rule at all. Each session has the rules for several cells,
because the start of an agent is what costs. `expected` is the documented meaning (docs/explain/governance.md), the same for
every agent; it knows nothing of any agent.

An agent without a tool for an action does it with a command: the rule is then about commands.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from operable.host import Policy, rules

ACTIONS = ("execute", "edit", "delete", "fetch", "outside")
FORMS = ("kind", "tool", "argument")
EFFECTS = ("allow", "deny", "ask")
NO_RULE = "none"

# What became of a call. The first three are what rules mean; the others say that a rule was too strict or did not hold.
RAN, DENIED, ASKED = "ran", "denied", "asked"
REFUSED = "refused"  # the session was not started: AGENT_NEVER_ASKS
PASSED = "PASSED"  # it happened although the rule denied it, or before anybody was asked, or after a no


@dataclass(frozen=True)
class Way:
    """How one agent does one action: the role of the tool for the scripted model, and the tool as rules see it."""

    role: str
    kind: str
    tool: str
    program: str = ""
    """the command that does it, where the tool is the shell"""


@dataclass(frozen=True)
class Cell:
    action: str
    form: str
    effect: str
    answer: bool = False
    """what is said when the question comes"""

    @property
    def key(self) -> str:
        effect = f"{self.effect}-yes" if self.answer else self.effect
        return f"{self.form} {effect} {self.action}"

    @property
    def name(self) -> str:
        """The name of the file, or the last word of the address, that the call is about."""
        return f"{self.form}-{self.effect}-{self.action}-{'yes' if self.answer else 'no'}.txt"


@dataclass(frozen=True)
class Round:
    """One session: its rules by action, and the calls that are tried in it."""

    label: str
    default: str
    patterns: Mapping[str, tuple[tuple[str, str], ...]]
    """action -> the rules (effect, pattern) that are there for it"""
    cells: tuple[Cell, ...] = field(default=())

    @property
    def policy(self) -> Policy:
        found: dict[str, list[str]] = {effect: [] for effect in EFFECTS}
        for effect, pattern in dict.fromkeys(rule for given in self.patterns.values() for rule in given):
            found[effect].append(pattern)
        if self.default == "allow":
            found["allow"].append("*")
        return rules(**found, default="deny")

    def alone(self) -> Iterator["Round"]:
        """The same calls, each action with its own rules in a session of its own: for an agent that refuses the whole."""
        for action in dict.fromkeys(cell.action for cell in self.cells):
            cells = tuple(cell for cell in self.cells if cell.action == action)
            yield Round(f"{self.label}, {action}", self.default, {action: self.patterns[action]}, cells)


def expected(cell: Cell) -> tuple[str, ...]:
    """What may become of the call by the meaning of its rule; the first is what people expect."""
    match cell.effect:
        case "allow":
            return (RAN,)
        case "ask":
            return (ASKED, DENIED, REFUSED)
        case _:
            return (DENIED, REFUSED)


def rounds(ways: Mapping[str, Way], places: Mapping[str, str]) -> Iterator[Round]:
    """The sessions of the matrix. `places`: action -> what stands before the name of a cell's file in a pattern."""
    patterns: dict[str, tuple[tuple[str, str], ...]]
    for form in FORMS:
        patterns = {action: (("allow", _pattern(form, ways[action], places[action])),) for action in ACTIONS}
        cells = [Cell(action, form, "allow") for action in ACTIONS]
        if form == "argument":
            # Whatever no rule names.
            cells += [Cell(action, NO_RULE, NO_RULE) for action in ACTIONS]
        yield Round(f"allow by {form}", "deny", patterns, tuple(cells))
    for form in ("kind", "tool"):
        keys = list(dict.fromkeys(getattr(ways[action], form) for action in ACTIONS))
        for turn in (0, 1):
            effects = {key: ("deny", "ask")[(index + turn) % 2] for index, key in enumerate(keys)}
            patterns = {
                action: ((effects[getattr(ways[action], form)], _pattern(form, ways[action], "")),)
                for action in ACTIONS
            }
            yield Round(
                f"deny and ask by {form}, {turn + 1}",
                "allow",
                patterns,
                tuple(Cell(action, form, patterns[action][0][0]) for action in ACTIONS),
            )
    patterns = {
        action: tuple(
            (effect, _pattern("argument", ways[action], places[action], effect)) for effect in ("deny", "ask")
        )
        for action in ACTIONS
    }
    cells = [Cell(action, "argument", effect) for effect in ("deny", "ask") for action in ACTIONS]
    cells += [Cell(action, "argument", "ask", answer=True) for action in ACTIONS]
    yield Round("deny and ask by argument", "allow", patterns, tuple(cells))


def _pattern(form: str, way: Way, place: str, effect: str = "allow") -> str:
    match form:
        case "kind":
            return f"kind:{way.kind}"
        case "tool":
            return way.tool
        case _:
            before = f"{way.program} {place}" if way.program else place
            return f"{way.kind}:{before}argument-{effect}-*"


def outcome(cell: Cell, *, happened: bool, asked: bool) -> str:
    """What became of a call, from what was seen of it."""
    if cell.effect == "allow":
        return RAN if happened and not asked else ASKED if asked else DENIED
    if happened and not (asked and cell.answer):
        return PASSED
    if asked and cell.answer and not happened:
        return DENIED
    return ASKED if asked else DENIED


def script_of(way: Way, target: str) -> list[list[dict[str, Any]]]:
    """What the model does: the one call, and a word after it."""
    match way.role:
        case "write":
            arguments = {"path": target, "text": "made\n"}
        case "fetch":
            arguments = {"url": target}
        case _:
            arguments = {"command": f"{way.program} {target}"}
    return [[{"call": way.role, "args": arguments}], [{"say": "That was it."}]]
