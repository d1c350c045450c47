"""Conditions on the output of a parent."""

import pytest

from operable.flow.errors import FlowError
from operable.flow.run.triggers import condition_holds
from tests.requirement import requirement


@requirement("agentcli:run:conditions")
@pytest.mark.parametrize(
    "condition, output, holds",
    [
        (None, "", True),
        ("contains:ok", "it is ok.", True),
        ("contains: ok", "it is nok", False),  # the blank counts
        ("contains:OK", "ok", False),
        ("regex:^a$", "a\nb", False),  # no flag m
        ("regex:^a", "ab", True),
        (r"regex:\d+", "٣", False),  # ASCII digits only
        (r"regex:(?<year>\d{4})-\k<year>", "2026-2026", True),
        ("regex:[^]", "\n", True),
        ("regex:a{,3}", "a{,3}", True),
        ("regex:\U0001f600", "x\U0001f600", True),
        ("regex:x", "", False),
    ],
)
def test_substrings_and_expressions_are_those_of_javascript(condition, output, holds):
    assert condition_holds(condition, output) is holds


@requirement("agentcli:run:bounded-conditions")
def test_an_expression_that_would_never_end_is_ended_and_is_no_yes():
    with pytest.raises(FlowError) as caught:
        condition_holds("regex:^(a+)+$", "a" * 60 + "b", timeout=3.0)

    assert "could not be evaluated" in caught.value.message
    assert caught.value.details["reason"] == "DEADLINE_EXCEEDED"


def test_what_the_engine_refuses_is_an_error_too():
    with pytest.raises(FlowError):
        condition_holds("regex:(", "x")
