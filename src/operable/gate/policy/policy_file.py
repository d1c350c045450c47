"""Policy files: TOML or JSON, checked whole, every problem reported at once.

    autonomy = 2                          # 0 asks about everything, 1 reads freely, 2 edits, 3 fetches and deletes, 4 runs
    default = "ask"                       # what no rule decides: allow, ask or deny (deny when absent)
    ask_timeout = 120                     # seconds; then the answer is a denial
    allow = ["kind:read", "execute:git status*"]
    deny = ["execute:rm *", { pattern = "edit:.env*", reason = "secrets stay as they are" }]
    ask = ["kind:edit"]

    [budget]                              # when one is reached, the session pauses and asks
    turns = 20
    tokens = 200000
    usd = 5.0
    seconds = 3600

    [[caller]]                            # rules for some callers, which join the rules above
    match = "mcp:*"                       # KIND:NAME with * and ?
    deny = ["execute:git push*"]
    default = "ask"                       # and autonomy

A session with an agent has the rules above and those of tables that match every session (`session:*`). Calls of tools,
applications, agents and flows have those of their caller (`operable.gate.policy.call_policy`).

What the patterns mean is in `operable.gate.policy.rules`.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from operable.gate.policy.address_match import is_like
from operable.gate.policy.pattern import ALLOW, ASK, DENY, EFFECTS, parse
from operable.gate.policy.rules import FULL, Policy, PolicyRule
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

_KNOWN = ("allow", "deny", "ask", "default", "autonomy", "ask_timeout", "budget", "caller")
_KNOWN_OF_CALLER = ("match", "allow", "deny", "ask", "default", "autonomy")
_SESSION = "session:"
_MATCH = re.compile(r"[a-z*?]+(?::[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*))?")
_FILE_LIMIT = 1024 * 1024  # bytes; thousands of rules, of which each is compared with each call
BUDGET_NAMES = ("turns", "tokens", "usd", "seconds")


@dataclass(frozen=True, slots=True)
class CallerRules:
    """One table of rules about callers; the general one has no `match`. None: the table does not say."""

    rules: tuple[PolicyRule, ...] = ()
    match: str = "*"
    default: str | None = None
    autonomy: int | None = None

    def is_about(self, caller: str) -> bool:
        """Whether it has rules for a caller, written KIND:NAME."""
        return is_like(self.match, caller)


@dataclass(frozen=True, slots=True)
class PolicyTables:
    """All that a policy file says."""

    general: CallerRules = CallerRules()
    callers: tuple[CallerRules, ...] = ()
    budget: Mapping[str, float] = field(default_factory=dict)
    ask_timeout: float | None = None

    def for_caller(self, caller: str) -> tuple[CallerRules, ...]:
        """The tables with rules for a caller, the closest one last."""
        matching = [table for table in self.callers if table.is_about(caller)]
        return (self.general, *sorted(matching, key=lambda table: len(table.match.replace("*", ""))))

    def policy_for(self, caller: str) -> Policy:
        """The rules for a caller as one policy; without a default that is said, it denies."""
        tables = self.for_caller(caller)
        return Policy(
            tuple(rule for table in tables for rule in table.rules),
            next((table.default for table in reversed(tables) if table.default is not None), DENY),
            next((table.autonomy for table in reversed(tables) if table.autonomy is not None), FULL),
            dict(self.budget),
            self.ask_timeout,
        )


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of a file for sessions; Fail not_found/POLICY_NOT_FOUND or validation/POLICY_INVALID."""
    return load_tables(path).policy_for(_SESSION)


def load_tables(path: str | os.PathLike[str]) -> PolicyTables:
    """What a policy file says, for every caller. Fails as `load_policy` does."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read(_FILE_LIMIT + 1)
    except OSError as error:
        raise Fail(
            "not_found", "POLICY_NOT_FOUND", f"the policy cannot be read: {error.strerror}", target=name
        ) from error
    if len(data) > _FILE_LIMIT:
        raise _invalid(name, [f"it has more than {_FILE_LIMIT} bytes"])
    try:
        found = _decode(data, is_json=name.endswith(".json"))
    except (ValueError, RecursionError) as error:
        raise _invalid(name, [str(error)]) from error
    return tables_from(found, source=name)


def rules(
    *,
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    ask: Sequence[str] = (),
    default: str = DENY,
) -> Policy:
    """A policy from lists of patterns; Fail validation/POLICY_INVALID with all problems."""
    return policy_from(
        {"allow": list(allow), "deny": list(deny), "ask": list(ask), "default": default}, source="policy"
    )


def policy_from(found: Mapping[str, Any], *, source: str) -> Policy:
    """The policy of a mapping with the keys of a policy file, for sessions."""
    return tables_from(found, source=source).policy_for(_SESSION)


def tables_from(found: Mapping[str, Any], *, source: str) -> PolicyTables:
    """What a mapping with the keys of a policy file says; Fail validation/POLICY_INVALID with all problems."""
    problems: list[str] = []
    general = _table(found, _KNOWN, "", problems)
    timeout = found.get("ask_timeout")
    if timeout is not None and not _is_positive(timeout):
        problems.append(f"ask_timeout is a number of seconds above 0, not {timeout!r}")
    budget = _budget(found.get("budget", {}), problems)
    entries = found.get("caller", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        problems.append("caller is a list of tables: write [[caller]]")
        entries = []
    callers = []
    for number, entry in enumerate(entries, 1):
        where = f"caller, table {number}: "
        match = entry.get("match")
        if not isinstance(match, str) or not _MATCH.fullmatch(match):
            problems.append(f"{where}match is KIND:NAME with * and ?, not {match!r}")
            continue
        callers.append(replace(_table(entry, _KNOWN_OF_CALLER, where, problems), match=match))
    if problems:
        raise _invalid(source, problems)
    return PolicyTables(general, tuple(callers), budget, None if timeout is None else float(timeout))


def _table(found: Mapping[str, Any], known: Sequence[str], where: str, problems: list[str]) -> CallerRules:
    problems += [
        f"{where}unknown key {key!r}; known: {', '.join(known)}" for key in found if key not in known
    ]
    rules: list[PolicyRule] = []
    for effect in EFFECTS:
        rules += _rules(effect, found.get(effect, []), problems, where)
    default, autonomy = found.get("default"), found.get("autonomy")
    if default is not None and default not in EFFECTS:
        problems.append(f"{where}default is one of {ALLOW}, {ASK}, {DENY}, not {default!r}")
    is_level = isinstance(autonomy, int) and not isinstance(autonomy, bool) and 0 <= autonomy <= FULL
    if autonomy is not None and not is_level:
        problems.append(f"{where}autonomy is a number from 0 to {FULL}, not {autonomy!r}")
    return CallerRules(tuple(rules), default=default, autonomy=autonomy)


def _decode(data: bytes, *, is_json: bool) -> Mapping[str, Any]:
    if is_json:
        import json

        found = json.loads(data)
    else:
        from operable.kernel.toml import parse_toml

        found = parse_toml(data.decode("utf-8"))
    if not isinstance(found, dict):
        raise ValueError("a policy is one object")  # noqa: TRY004 - of the same kind as a syntax error
    return found


def _rules(effect: str, entries: Any, problems: list[str], place: str = "") -> list[PolicyRule]:
    if not isinstance(entries, list):
        problems.append(f"{place}{effect} is a list of patterns")
        return []
    rules = []
    for number, entry in enumerate(entries, 1):
        where = f"{place}{effect}, entry {number}"
        item = {"pattern": entry} if isinstance(entry, str) else entry
        if not isinstance(item, dict) or not isinstance(item.get("pattern"), str):
            problems.append(f"{where}: a pattern, or a table with `pattern` and `reason`")
            continue
        if surplus := sorted(set(item) - {"pattern", "reason"}):
            problems.append(f"{where}: unknown key {', '.join(surplus)}")
        try:
            parse(item["pattern"])
        except ValueError as error:
            problems.append(f"{where}, {item['pattern']!r}: {error}")
        rules.append(PolicyRule(effect, item["pattern"], str(item.get("reason", ""))))
    return rules


def _budget(found: Any, problems: list[str]) -> dict[str, float]:
    if not isinstance(found, dict):
        problems.append("budget is a table")
        return {}
    for name, value in found.items():
        if name not in BUDGET_NAMES:
            problems.append(f"budget has no {name!r}; it has {', '.join(BUDGET_NAMES)}")
        elif not _is_positive(value):
            problems.append(f"budget.{name} is a number above 0, not {value!r}")
    return {name: float(value) for name, value in found.items() if _is_positive(value)}


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _invalid(source: str, problems: list[str]) -> Fail:
    count = "" if len(problems) == 1 else f" ({len(problems)} problems)"
    return Fail(
        "validation",
        "POLICY_INVALID",
        f"the policy is not valid{count}: {'; '.join(problems)}",
        target=source,
        problems=problems,
    )
