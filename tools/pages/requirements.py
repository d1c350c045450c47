"""docs/reference/requirements.md: what the drafts ask for, and the tests that prove it."""

from itertools import groupby

from operable.spec import Requirement, requirements
from operable.spec.data_files import titles
from tools.requirements import evidence

PATH = "docs/reference/requirements.md"
DRAFTS = {
    "aip-substrate": "Specifications under AIP-45",
    "aip45": "AIP-45 AGENT-CLI.md",
    "aoi": "AOI-CLI v0.2",
}


def render() -> str:
    proven, names = evidence(), DRAFTS | titles()
    lines = [
        "# Requirements",
        "",
        "Generated from `requirements.toml` and `drafts/` in `src/operable/spec`, and the tests; `./dev fix` renews it.",
        "Each requirement is an observable behaviour, in our own words; the tests that name it are its evidence.",
    ]
    for (draft, section), entries in groupby(requirements(), key=lambda entry: (entry.draft, entry.section)):
        lines += ["", f"## {names[draft]}, section {section}", ""]
        lines += ["| id | level | behaviour | evidence |", "|---|---|---|---|"]
        lines += [_row(entry, proven.get(entry.id, [])) for entry in entries]
    return "\n".join(lines) + "\n"


def _row(entry: Requirement, tests: list[str]) -> str:
    evidence = [f"`{test}`" for test in tests]
    if entry.deferred:
        evidence.append(f"Deferred: {entry.deferred}.")
    if entry.divergence:
        evidence.append(f"Divergence: {entry.divergence}.")
    return f"| `{entry.id}` | {entry.level} | {entry.text} | {'<br>'.join(evidence)} |"
