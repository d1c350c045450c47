"""docs/reference/agent-behaviour.md: what real agents do in daily use, cell by cell.

The outcomes are those that a run of tests/agents/test_agent_behaviour.py kept in tests/agents/behaviour.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from tools.markdown import table

PATH = "docs/reference/agent-behaviour.md"
_AGENTS = Path(__file__).parents[2] / "tests/agents"
_CELLS = {
    "plain": "plain",
    "approve": "approve",
    "deny": "deny",
    "rule": "rule",
    "cancel": "cancel",
    "resume": "resume",
    "crash": "crash",
    "two": "two",
    "large": "large",
    "400": "400",
    "401": "401",
    "429": "429",
    "500": "500",
    "cut": "cut",
    "usage": "usage",
}

_INTRODUCTION = """\
# Real agents in daily use

Generated from `tests/agents/behaviour/` by `./dev fix`. The outcomes are those of a test that drives each agent, as a
package of its registry, against a scripted model server on this machine. Each run of the tests drives the agents whose
package or manifest has changed and one more, and fails where one does anything else than this page says; `--live` drives
all. To renew it, run `./dev test tests/agents/test_agent_behaviour.py -n 2 --keep-verdicts`, then `./dev fix`. What rules do
on each of them is in [rules on real agents](agent-rules.md).

- `plain`: the words of the model arrive, and the turn ends as completed. `large`: so do 300,000 characters.
- `approve`, `deny`: it asks before it writes a file; with a yes the file is there, after a no it is not.
- `rule`: a rule allows one file and denies another, and no person is asked.
- `cancel`: the turn ends as cancelled, the request to the model ends too, and the next turn answers.
- `resume`: another process takes the session up, and its model sees what was said before.
- `crash`: killed in the middle of a turn, the turn ends as an error, the session is taken up again, no process is left.
- `two`: two sessions in one folder at once do not disturb each other.
- `400`, `401`, `429`, `500`, `cut`: the model refuses, or its answer breaks off; the turn ends as an error with its reason
  (a wrong key as `auth_required`), or the agent says that it tries again; and the next turn answers.
- `usage`: the turn-end has the tokens that the model counted, of this turn.

✓ is right. A letter is a limit of the agent itself, explained below the table.
"""


def render() -> str:
    rows = tomllib.loads((_AGENTS / "behaviour/agents.toml").read_text("utf-8"))["agents"]
    lines = [*_INTRODUCTION.splitlines(), ""]
    lines += table(
        ["agent", *_CELLS.values()],
        [[row, *(_sign(row, cell, fields) for cell in _CELLS)] for row, fields in rows.items()],
    )
    lines += ["", "## Limits", ""]
    lines += table(
        ["agent", "cells", "outcome", "the agent's limit"],
        [
            [row, ", ".join(cells), outcome, why]
            for row, fields in rows.items()
            for (outcome, why), cells in _limits(row, fields).items()
        ],
    )
    lines += ["", "## Versions", "", *table(["row", "package"], _versions(rows))]
    return "\n".join(lines) + "\n"


def _limits(row: str, fields: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for cell in _CELLS:
        why = fields.get("limits", {}).get(cell)
        if why is not None:
            found.setdefault((_outcome(row, cell), why), []).append(cell)
    return found


def _sign(row: str, cell: str, fields: dict[str, Any]) -> str:
    outcome = _outcome(row, cell)
    if outcome == "right":
        return "✓"
    letters = list(_limits(row, fields))
    number = next((place for place, (seen, _) in enumerate(letters) if seen == outcome), None)
    return "✗" if number is None else "abcdefghijklmno"[number]


def _outcome(row: str, cell: str) -> str:
    path = _AGENTS / "behaviour" / f"{row}.json"
    kept: dict[str, str] = json.loads(path.read_text("utf-8"))["cells"] if path.exists() else {}
    return kept.get(cell, "not driven")


def _versions(rows: dict[str, Any]) -> list[list[str]]:
    pins = tomllib.loads((_AGENTS / "agents.toml").read_text("utf-8"))
    found = []
    for row, fields in rows.items():
        pin = pins.get(fields.get("agent", row), {})
        built = f"built from its repository, release {fields['release']}" if "release" in fields else ""
        package = str(pin.get("npm") or pin.get("pip") or built or "this version of Operable")
        found.append([row, package.replace("-{platform}-{arch}", "")])
    return found
