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

What the patterns mean is in `operable.gate.policy.rules`.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from operable.gate.policy.pattern import ALLOW, ASK, DENY, EFFECTS, parse
from operable.gate.policy.rules import FULL, Policy, PolicyRule
from operable.kernel.errors import Fail

_KNOWN = ("allow", "deny", "ask", "default", "autonomy", "ask_timeout", "budget")
BUDGET_NAMES = ("turns", "tokens", "usd", "seconds")


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy of a file; Fail not_found/POLICY_NOT_FOUND or validation/POLICY_INVALID."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Fail(
            "not_found", "POLICY_NOT_FOUND", f"the policy cannot be read: {error.strerror}", target=name
        ) from error
    try:
        found = _decode(data, is_json=name.endswith(".json"))
    except ValueError as error:
        raise _invalid(name, [str(error)]) from error
    return policy_from(found, source=name)


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
    """The policy of a mapping with the keys of a policy file."""
    problems = [f"unknown key {key!r}; known: {', '.join(_KNOWN)}" for key in found if key not in _KNOWN]
    rules: list[PolicyRule] = []
    for effect in EFFECTS:
        rules += _rules(effect, found.get(effect, []), problems)
    default = found.get("default", DENY)
    if default not in EFFECTS:
        problems.append(f"default is one of {ALLOW}, {ASK}, {DENY}, not {default!r}")
    timeout = found.get("ask_timeout")
    if timeout is not None and not _is_positive(timeout):
        problems.append(f"ask_timeout is a number of seconds above 0, not {timeout!r}")
    autonomy = found.get("autonomy", FULL)
    if not isinstance(autonomy, int) or isinstance(autonomy, bool) or not 0 <= autonomy <= FULL:
        problems.append(f"autonomy is a number from 0 to {FULL}, not {autonomy!r}")
    budget = _budget(found.get("budget", {}), problems)
    if problems:
        raise _invalid(source, problems)
    return Policy(tuple(rules), str(default), autonomy, budget, None if timeout is None else float(timeout))


def _decode(data: bytes, *, is_json: bool) -> Mapping[str, Any]:
    if is_json:
        import json

        found = json.loads(data)
    else:
        import tomllib

        found = tomllib.loads(data.decode("utf-8"))
    if not isinstance(found, dict):
        raise ValueError("a policy is one object")  # noqa: TRY004 - of the same kind as a syntax error
    return found


def _rules(effect: str, entries: Any, problems: list[str]) -> list[PolicyRule]:
    if not isinstance(entries, list):
        problems.append(f"{effect} is a list of patterns")
        return []
    rules = []
    for number, entry in enumerate(entries, 1):
        where = f"{effect}, entry {number}"
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
