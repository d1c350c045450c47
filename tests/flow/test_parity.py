"""The parity checklist is complete: no line without a verdict, no verdict without a test, no behaviour forgotten."""

from collections import Counter

import pytest

from operable.spec import requirements
from tools.agentcli_parity import lines
from tools.pages.agentcli_parity import render
from tools.requirements import evidence

LINES = lines()
# What we do beyond the existing implementation, so no line of its checklist names it.
BEYOND = set(
    """
    approvals:binding approvals:budget exec:bounded-output exec:budgets exec:killed exec:prompts handoff:secrets-hashed
    providers:authorization rpc:approvals-list rpc:audit rpc:registry rpc:schemas rpc:task-selection
    run:bounded-conditions run:budgets run:gates run:retries
    """.split()
)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.topic}: {line.text[:60]}")
def test_a_line_is_covered_differs_on_purpose_or_does_not_apply(line):
    assert line.status is not None
    assert line.covered or line.not_applicable, "what differs is proven, too"


def test_what_is_called_covered_is_proven_by_a_test():
    proven = evidence()
    deferred = {entry.id for entry in requirements() if entry.deferred}
    named = {name for line in LINES for name in line.requirements}

    assert sorted(name for name in named if name not in proven or name in deferred) == []


def test_every_requirement_is_in_the_checklist_or_goes_beyond_it():
    known = {entry.id.removeprefix("agentcli:") for entry in requirements() if entry.draft == "agentcli"}
    named = {name for line in LINES for name in line.covered}

    assert known - named - BEYOND == set(), "add it to a line of tools/agentcli_parity.toml, or to BEYOND"
    assert BEYOND - known == set()
    assert BEYOND & named == set()


def test_no_line_is_lost():
    assert Counter(line.topic for line in LINES) == {
        "validation": 23, "shorthand": 1, "merges": 2, "compile": 6, "apply": 12, "inspect": 3, "handoff": 6, "rpc": 12,
        "cli": 14, "execution": 24, "providers": 8, "proofs": 3,
    }  # fmt: skip
    assert len({line.text for line in LINES}) == len(LINES)


def test_the_page_shows_every_line_with_its_verdict():
    page = render()

    for line in LINES:
        assert f"| {line.text} | {line.status}" in page
