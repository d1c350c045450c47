"""docs/reference/agentcli-parity.md: every behaviour that the existing implementation tests, and ours."""

from itertools import groupby

from tools.agentcli_parity import COVERED, DIFFERS, NOT_APPLICABLE, Line, lines
from tools.requirements import evidence

PATH = "docs/reference/agentcli-parity.md"
_TOPICS = {"rpc": "JSON-RPC", "cli": "Command line", "execution": "Execution, runs, approvals, audit"}


def render() -> str:
    table, proven = lines(), evidence()
    count = {
        status: sum(line.status == status for line in table) for status in (COVERED, DIFFERS, NOT_APPLICABLE)
    }
    text = [
        "# Parity with agentcli",
        "",
        "Generated from `tools/agentcli_parity.toml` and the tests; `./dev fix` renews it.",
        "Each line is a behaviour that the existing implementation tests, in our own words, and the tests that prove ours.",
        "Those tests are marked with the ids: `pytest -k agentcli:cli:delegation` runs the ones of a line.",
        "",
        ", ".join(f"{number} {status}" for status, number in count.items()) + ".",
    ]
    for topic, group in groupby(table, key=lambda line: line.topic):
        text += ["", f"## {_TOPICS.get(topic, topic.capitalize())}", ""]
        text += ["| ids | behaviour | status | evidence |", "|---|---|---|---|"]
        text += [_row(line, proven) for line in group]
    return "\n".join(text) + "\n"


def _row(line: Line, proven: dict[str, list[str]]) -> str:
    why = line.differs or line.not_applicable
    status = f"{line.status}: {why}" if why else line.status
    tests = dict.fromkeys(test for name in line.requirements for test in proven.get(name, []))
    shown = [f"`{test}`" for test in list(tests)[:4]]
    if len(tests) > len(shown):
        shown.append(f"and {len(tests) - len(shown)} more")
    ids = "<br>".join(f"`{name}`" for name in line.requirements)
    return f"| {ids} | {line.text} | {status} | {'<br>'.join(shown)} |"
