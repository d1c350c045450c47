"""docs/reference/agent-rules.md: the outcome of real calls of real agents under every form of a rule.

The outcomes are those that a run of tests/agents/test_agent_rules.py kept in tests/agents/rules; every later run compares
with them, and no run keeps a call that was passed.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from tools.markdown import code, table

PATH = "docs/reference/agent-rules.md"
_AGENTS = Path(__file__).parents[2] / "tests/agents"
_ACTIONS = ("execute", "edit", "delete", "fetch", "outside")
_FORMS = {
    "kind": ("By kind", "`kind:execute`, `kind:edit`, `kind:fetch`"),
    "tool": ("By tool", "the name of the tool, as the host reports it"),
    "argument": ("By argument", "`execute:touch NAME*`, `edit:NAME*`, `fetch:http://…`"),
}
_EFFECTS = ("allow", "deny", "ask")
# Outcome -> how it is printed where it is not what the rule says.
_MEANT = {"allow": "ran", "deny": "denied", "ask": "asked", "ask-yes": "asked", "none": "denied"}


_INTRODUCTION = """\
# Rules on real agents

Generated from `tests/agents/rules/` by `./dev fix`. The outcomes are those of a test run: `./dev test` drives each agent
that it can install, and fails where one does anything else than this page says. To renew it, run
`./dev test tests/agents/test_agent_rules.py -n 4 --keep-verdicts`, then `./dev fix`. What rules mean is in
[governance](../explain/governance.md).

A scripted model makes each agent call its own tools: run a command (`execute`), write a file (`edit`), remove it (`delete`),
fetch an address of this machine (`fetch`), write a file outside the workspace (`outside`). The test looks up in the file
system, or at the address, whether the call was carried out. An agent without a tool for deleting or fetching does it with a
command, and the rule is then about commands.

Each field has three outcomes, under allow, deny and ask:

- ✓ is what the rule says: the allowed call ran without a question, the denied one did not run, the third was asked about and
  did not run after a denial.
- `d` is stricter: the call was denied. `r` is stricter: the session was refused with `AGENT_NEVER_ASKS` before the agent was
  started, because the agent does not ask about such calls. Both have their reason below.
- A denied call that ran, or one that ran before its question was answered, would be ✗. The tests let none be kept.
"""


def render() -> str:
    told = tomllib.loads((_AGENTS / "rules/agents.toml").read_text("utf-8"))
    rows = {row: (fields, _kept(row)) for row, fields in told["agents"].items()}
    lines = [
        *_INTRODUCTION.splitlines(),
        "",
        *_versions(rows),
    ]
    for form, (title, example) in _FORMS.items():
        lines += ["", f"## {title}", "", f"Patterns such as {example}.", ""]
        lines += table(
            ["agent", *_ACTIONS],
            [[row, *(_field(kept, form, action) for action in _ACTIONS)] for row, (_, kept) in rows.items()],
        )
    lines += ["", "## Without a rule", "", "The default is deny.", ""]
    lines += table(
        ["agent", *_ACTIONS],
        [
            [row, *(_sign(kept.get(f"none none {action}"), "none") for action in _ACTIONS)]
            for row, (_, kept) in rows.items()
        ],
    )
    lines += _cases(rows) + _reasons(rows) + _absent(told["absent"])
    return "\n".join(lines) + "\n"


def _kept(row: str) -> dict[str, str]:
    path = _AGENTS / "rules" / f"{row}.json"
    found: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def _field(kept: dict[str, str], form: str, action: str) -> str:
    return " ".join(_sign(kept.get(f"{form} {effect} {action}"), effect) for effect in _EFFECTS)


def _sign(outcome: str | None, effect: str) -> str:
    if outcome is None:
        return "?"
    if outcome == "PASSED":
        return "✗"
    return "✓" if outcome == _MEANT[effect] else outcome[0]


def _versions(rows: dict[str, tuple[dict[str, Any], dict[str, str]]]) -> list[str]:
    pins = tomllib.loads((_AGENTS / "agents.toml").read_text("utf-8"))
    found = []
    for row, (fields, _) in rows.items():
        pin = pins.get(fields.get("agent", row), {})
        package = str(pin.get("npm") or pin.get("pip") or "this version of Operable")
        how = [f"mode {code(fields['mode'])}"] if "mode" in fields else []
        how += ["the host reads, writes and runs for it"] if fields.get("client_methods") else []
        found.append([row, package.replace("-{platform}-{arch}", ""), "; ".join(how)])
    return table(["agent", "package", ""], found)


def _cases(rows: dict[str, tuple[dict[str, Any], dict[str, str]]]) -> list[str]:
    found = []
    for row, (_, kept) in rows.items():
        for key, outcome in kept.items():
            options, separator, call = key.partition(" · ")
            if separator:
                found.append([row, code(options), code(call), outcome])
    heads = ["agent", "rules", "call", "outcome"]
    return [
        "",
        "## Seen once",
        "",
        "Single sessions in which a rule was once passed.",
        "",
        *table(heads, found),
    ]


def _reasons(rows: dict[str, tuple[dict[str, Any], dict[str, str]]]) -> list[str]:
    found = [
        [row, code(cells), why]
        for row, (fields, _) in rows.items()
        for cells, why in fields.get("why", {}).items()
    ]
    heads = ["agent", "form, effect, call", "why it is stricter"]
    return ["", "## Stricter than the rule says", "", *table(heads, found)]


def _absent(agents: dict[str, str]) -> list[str]:
    rows = [[name, why] for name, why in agents.items()]
    return ["", "## Not in the table", "", *table(["agent", "why"], rows)]
