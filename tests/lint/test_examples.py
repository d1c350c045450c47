"""Every check gives both verdicts on its own evidence: it passes its passing example and fails its failing one."""

import pytest

from operable.lint.check import Case, LintCheck, LintFinding
from operable.lint.discovery import plan
from operable.lint.engine import checks, outcome
from tests.lint import notes
from tests.lint.transcripts import PROFILE, Replay, read

ALL = checks()


def judged(check: LintCheck, text: str) -> list[LintFinding]:
    """What a check says of the tool in a transcript, and of the command that its first call is of."""
    calls = read(text)
    lab = Replay(calls)
    made = plan(lab, "notes", PROFILE)
    named = made.command(*(word for word in calls[0].words[:1] if word in notes.COMMANDS))
    found = []
    if check.tool is not None:
        found += outcome(Case(check, made, None, lab))
    if check.command is not None and named is not None:
        found += outcome(Case(check, made, named, lab))
    return found


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_a_check_passes_its_passing_example(check):
    found = judged(check, check.passing)

    assert [(finding.result, finding.message) for finding in found if finding.result != "pass"] == []
    assert found


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_a_check_fails_its_failing_example_and_says_where(check):
    failed = [finding for finding in judged(check, check.failing) if finding.result == "fail"]

    assert failed
    assert all(finding.reproduce for finding in failed)


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.name)
def test_no_other_check_objects_to_a_passing_example(check):
    others = [other for other in ALL if other is not check]

    failed = [
        f"{other.label}: {finding.message}"
        for other in others
        for finding in judged(other, check.passing)
        if finding.result == "fail"
    ]

    assert failed == []
