"""docs/reference/calls.md: which things can be called from which sides, as tests/serve/test_call_table.py runs them.

Every cell of tests/serve/call_table.json is a test under each rule; a cell that is not there is not claimed.
"""

import json
from pathlib import Path

from tools.markdown import code, table

PATH = "docs/reference/calls.md"
_TABLE = Path(__file__).parents[2] / "tests/serve/call_table.json"
_INTRODUCTION = """\
# Calls by side

Generated from `tests/serve/call_table.json` by `./dev fix`. `tests/serve/test_call_table.py` makes each call of this table
from each side, under a rule that allows it, one that denies it, and one that asks, answered with yes and with no. Each cell
runs or is refused as the rule says, and leaves the same record: `call.started` and `call.ended`, or `call.denied`, with the
caller, the rule, and who answered. What the rules mean is in [governance](../explain/governance.md#calls).
"""


def render() -> str:
    found = json.loads(_TABLE.read_text())
    header = ["kind", "call", *found["sides"].values()]
    rows = [[kind, code(name), *("yes" for _ in found["sides"])] for kind, name in found["things"].items()]
    callers = [[name, code(f"{kind}:…")] for kind, name in found["sides"].items()]
    more = (
        "Wrapped tools, agents and jobs of flows over MCP, and tasks of flows with `tool:`, `wrap:` and `app:`, pass the"
        " same gate. They are not in this table: no test makes their calls under each rule yet."
    )
    lines = [*table(header, rows), "", *table(["side", "caller"], callers), "", more]
    return _INTRODUCTION + "\n" + "\n".join(lines) + "\n"
