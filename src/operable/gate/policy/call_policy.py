"""The rules about calls: the user's policy file, and below it what holds without one.

The file (`operable.state.paths.policy_path`) has general rules and tables for callers. The rules of every table that matches
the caller join the general ones, and the most specific rule decides, whichever table it is in. If no rule is about the
call, the `default` of the closest table decides. If no default is written, these rules do:

    person:*    everything is allowed
    *           allow kind:read, allow effect:change, ask effect:destroy; else ask

A session that calls is also under the rules that it was started with, and in a sandbox what the built-in rules allow is
asked about: it would run outside.

A file that cannot be read or is not valid allows nothing: `judge` raises its Fail. It is looked at before each call, so
that a change counts from the next one on.
"""

import os
from collections.abc import Iterator
from dataclasses import field

from operable.gate.call import GatedCall, SessionBounds
from operable.gate.policy.agent_path import AgentPaths
from operable.gate.policy.pattern import ALLOW, ASK, DENY
from operable.gate.policy.policy_file import CallerRules, PolicyTables, load_tables
from operable.gate.policy.rules import Policy, PolicyRule, Ruling
from operable.gate.policy.tool_call import Facts
from operable.kernel.data_class import dataclass
from operable.state.paths import policy_path

BUILT_IN = (
    CallerRules((), "person:*", ALLOW),
    CallerRules(
        (
            PolicyRule(ALLOW, "kind:read"),
            PolicyRule(ALLOW, "effect:change"),
            PolicyRule(ASK, "effect:destroy", "it cannot be undone, or its owner wants it confirmed"),
        ),
        "*",
        ASK,
    ),
)
_OWN = "built-in"
_FILE = "policy"
_SESSION = "session"
_CALLERS = 256  # whose rules are kept ready; sessions come and go


@dataclass(frozen=True, slots=True)
class CallRuling:
    """What the rules say about a call: what to do, by which rule of which table, and why."""

    effect: str
    rule: PolicyRule | None
    why: str
    table: str  # built-in, policy, policy and the `match` of its table, or session: what its caller was started with

    @property
    def reference(self) -> str:
        """How errors and records name what decided."""
        source = self.table.partition(" ")[0]
        return (
            f"{source}:default" if self.rule is None else f"{source}:{self.rule.effect} {self.rule.pattern}"
        )

    @property
    def is_of_file(self) -> bool:
        """Whether the user wrote it, and not we."""
        return self.table != _OWN


class CallPolicy:
    """The rules as they are now. `path` None: the user's own file, if there is one."""

    def __init__(self, path: str | None = None) -> None:
        self._named = path
        self._kept = _KeptRules()

    @property
    def path(self) -> str | None:
        """The file; None: the user has no file, and the built-in rules alone hold."""
        return self._named if self._named is not None else policy_path()

    def tables(self) -> PolicyTables | None:
        """What the file says; None: the user has no file. Fail POLICY_NOT_FOUND, POLICY_INVALID: nothing is allowed."""
        return self._now().tables

    def _now(self) -> "_KeptRules":
        """The rules as the file is now. Threads judge at the same time: what one of them reads, no other one takes apart."""
        path, kept = self.path, self._kept
        seen = _state_of(path)
        if path is None or seen != kept.seen:
            kept = self._kept = _KeptRules(seen, None if path is None else load_tables(path))
        return kept

    @property
    def ask_timeout(self) -> float | None:
        tables = self.tables()
        return None if tables is None else tables.ask_timeout

    def judge(self, call: GatedCall) -> CallRuling:
        """What the rules say about this call."""
        kept, caller = self._now(), str(call.caller)
        known = kept.for_callers.get(caller)
        if known is None:
            if len(kept.for_callers) >= _CALLERS:
                kept.for_callers.clear()
            known = kept.for_callers[caller] = _CallerPolicy.of(kept.tables, caller)
        ruling = known.judge(call)
        return ruling if call.bounds is None else _bounded(call, call.bounds, ruling)

    def rules_for(self, caller: str) -> "list[tuple[PolicyRule | None, str, str]]":
        """Every rule that may decide about calls of a caller, with its table; those of the file first.

        None stands for a default, whose effect is the third member.
        """
        return list(_CallerPolicy.of(self.tables(), caller).listed())


@dataclass(frozen=True, slots=True)
class _KeptRules:
    """What was read of a file in one state (`_state_of`), and what follows for each caller."""

    seen: tuple[object, ...] = ()
    tables: PolicyTables | None = None
    for_callers: "dict[str, _CallerPolicy]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _CallerPolicy:
    """The rules for one caller: those of the file, then the built-in ones for what the file does not say."""

    written: Policy
    tables: tuple[CallerRules, ...]
    own: Policy
    default_of: str | None  # the table that has the default; None: no table has one

    @classmethod
    def of(cls, tables: PolicyTables | None, caller: str) -> "_CallerPolicy":
        found = () if tables is None else tables.for_caller(caller)
        written = Policy() if tables is None else tables.policy_for(caller)
        own = next(table for table in BUILT_IN if table.is_about(caller))
        default_of = next((_named(table) for table in reversed(found) if table.default is not None), None)
        # The ceiling of the file is over what we allow also.
        return cls(written, found, Policy(own.rules, own.default or ASK, written.autonomy), default_of)

    def judge(self, call: GatedCall) -> CallRuling:
        facts = Facts(call.judged, AgentPaths(call.workspace))
        ruling = self.written.judge(facts)
        if ruling.rule is not None or self.default_of is not None:
            return _ruling(ruling, self._table_of(ruling.rule))
        return _ruling(self.own.judge(facts), _OWN)

    def _table_of(self, rule: PolicyRule | None) -> str:
        if rule is None:
            return self.default_of or _FILE
        return next(_named(table) for table in self.tables if rule in table.rules)

    def listed(self) -> Iterator[tuple[PolicyRule | None, str, str]]:
        for table in self.tables:
            for rule in table.rules:
                yield rule, _named(table), rule.effect
        if self.default_of is not None:
            yield None, self.default_of, self.written.default
            return
        for rule in self.own.rules:
            yield rule, _OWN, rule.effect
        yield None, _OWN, self.own.default


def _bounded(call: GatedCall, bounds: SessionBounds, ruling: CallRuling) -> CallRuling:
    """For a session, its own rules bind also; and what only we allow is asked about where it leaves its sandbox."""
    own = bounds.rules.judge(Facts(call.judged, AgentPaths(call.workspace)))
    binds = own.effect == DENY or (own.effect == ASK and own.rule is not None)
    if ruling.effect != DENY and binds and own.effect != ruling.effect:
        return _ruling(own, _SESSION)
    if ruling.effect == ALLOW and bounds.is_confined and not ruling.is_of_file:
        return CallRuling(ASK, None, "it would run outside of the sandbox of its session", _SESSION)
    return ruling


def _named(table: CallerRules) -> str:
    return _FILE if table.match == "*" else f"{_FILE} [[caller]] {table.match}"


def _ruling(ruling: Ruling, table: str) -> CallRuling:
    reason = ruling.reason
    if ruling.rule is None and not ruling.why:
        reason = f"no rule is about it, and the default is {ruling.effect}"
    # The words of the rules are about agents, which report what they do; a call is described by what it calls.
    return CallRuling(
        ruling.effect,
        ruling.rule,
        reason.replace("the agent does not report", "the call does not say"),
        table,
    )


def _state_of(path: str | None) -> tuple[object, ...]:
    """What differs when the file was changed or replaced."""
    if path is None:
        return ()
    try:
        found = os.stat(path)
    except OSError as error:
        return (path, error.errno)
    return (path, found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns)
