"""docs/reference/calls.md: which things can be called from which sides, as tests/serve/test_call_table.py runs them.

Every cell of tests/serve/call_table.json is a test under each rule, or has the reason why there is no such call.
"""

import json
from pathlib import Path

from tools.markdown import code, table

PATH = "docs/reference/calls.md"
_TABLE = Path(__file__).parents[2] / "tests/serve/call_table.json"
_INTRODUCTION = """\
# Calls by side

Generated from `tests/serve/call_table.json` by `./dev fix`. `tests/serve/test_call_table.py` makes each call of this table
that says yes from its side, under a rule that allows it, one that denies it, and one that asks, answered with yes and with
no. Each runs or is refused as the rule says, and leaves the same record: `call.started` and `call.ended`, or `call.denied`,
with the caller, the rule, and who answered. What the rules mean is in [governance](../explain/governance.md#calls).
"""


def render() -> str:
    found = json.loads(_TABLE.read_text())
    numbers = {name: number for number, name in enumerate(found["reasons"], 1)}
    header = ["kind", "call", *found["sides"].values()]
    rows = []
    for kind, name in found["things"].items():
        reached = [found["without"].get(side, {}).get(kind) for side in found["sides"]]
        cells = [
            "yes" if reason is None else f"{found['short'][reason]} ({numbers[reason]})" for reason in reached
        ]
        rows.append([found["names"][kind], code(name), *cells])
    callers = [[name, code(f"{kind}:…")] for kind, name in found["sides"].items()]
    reasons = [f"{numbers[name]}. {text}" for name, text in found["reasons"].items()]
    lines = [
        *table(header, rows),
        "",
        "A number says how a thing is reached where that is not a call of its own, or why it is not reached:",
        "",
        *reasons,
        "",
        *table(["side", "caller"], callers),
    ]
    return _INTRODUCTION + "\n" + "\n".join(lines) + "\n"
