"""docs/reference/wrappers.md: the wrapped tools, their commands, and what the linter said of each, bare and wrapped.

The verdicts are those that a run of tests/wrap/test_lint.py kept beside each wrapper; every later run compares with them.
"""

import json
from typing import Any

from operable.lint.check import CHARACTERISTICS
from operable.wrap.plan.cache import plan_of
from tools.markdown import code, table
from tools.wrapper_lint import WRAPPERS, counted

PATH = "docs/reference/wrappers.md"
_SIGNS = {"pass": "✓", "fail": "✗", "untested": "?", "not_applicable": "–"}


def render() -> str:
    names = sorted(path.parent.name for path in WRAPPERS.glob("*/CLI.md"))
    lines = [
        "# Wrapped tools",
        "",
        "Generated from `src/operable/wrap/wrappers/` by `./dev fix`. The verdicts are those of a test run: `./dev test`",
        "lints every wrapper whole, and the program as it is, and fails where the linter says anything else than this page.",
        "`./dev test tests/wrap/test_lint.py -n 3 --keep-verdicts`, then `./dev fix`, renews it.",
        "`operable wrap show TOOL` says more; [Wrap a tool](../guides/wrap-a-tool.md) says how to add one.",
        "",
        "## Bare and wrapped",
        "",
        "How many pairs of a command and a characteristic pass the linter, of those that apply and could be tried.",
        "",
        *table(["tool", "what it is", "bare", "wrapped"], [_row(name) for name in names]),
    ]
    for name in names:
        lines += _entry(name)
    return "\n".join(lines) + "\n"


def _row(name: str) -> list[str]:
    kept, plan = _kept(name), plan_of(str(WRAPPERS / name))
    return [f"[{name}](#{name})", plan.summary, _score(kept.get("bare")), _score(kept.get("wrapped"))]


def _score(pairs: dict[str, dict[str, str]] | None) -> str:
    found = counted(pairs)
    if found is None:
        return "not linted"
    passed, failed, untried = (found.get(result, 0) for result in ("pass", "fail", "untested"))
    return f"{passed} of {passed + failed}" + (f", {untried} untried" if untried else "")


def _entry(name: str) -> list[str]:
    plan, kept = plan_of(str(WRAPPERS / name)), _kept(name).get("wrapped") or {}
    source = (
        "the system, in place of the program" if plan.syscalls else f"the program, {plan.version_check.range}"
    )
    rows = []
    for command in plan.commands.values():
        about = "destructive" if command.destructive else "changes things" if command.mutates else "reads"
        events = ", ".join(code(schema["properties"]["type"]["const"]) for schema in command.events)
        marks = [_SIGNS.get(kept.get(command.name, {}).get(column, ""), "") for column in CHARACTERISTICS]
        rows.append([code(command.name), about, events, *marks])
    heads = ["command", "", "events", *CHARACTERISTICS]
    return ["", f"## {name}", "", f"{plan.summary} Asks {source}.", "", *table(heads, rows)]


def _kept(name: str) -> dict[str, Any]:
    path = WRAPPERS / name / "lint.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found
