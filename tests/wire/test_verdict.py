"""Verdicts: the two tables of the end of a stream, and the status that a relay exits with."""

import string
from typing import Any

import pytest

from operable.wire.framework import Error, Summary
from operable.wire.verdict import CODES, Counts, Verdict, explain, with_summary, without_summary
from tests.requirement import requirement


def verdict(outcome, **changes):
    fields: dict[str, Any] = {
        "outcome": outcome,
        "code": "ANY",
        "reason": "",
        "line": None,
        "exit_status": None,
        "meta": None,
        "summary": None,
        "last_error": None,
        "counts": Counts(),
        "notes": (),
        "partial_accepted": False,
        "tail": (),
    }
    return Verdict(**{**fields, **changes})


@requirement("aoi:4.1:exit0-ok-summary", "aoi:4.1:partial-outcome", "aoi:6:exit-code-not-alone")
@pytest.mark.parametrize(
    "summary, exit_status, code",
    [
        (Summary(ok=True), 0, "OK"),
        (Summary(ok=True), None, "OK"),
        (Summary(ok=True, partial=None), 0, "OK"),
        (Summary(ok=True, partial=True), 0, "PARTIAL"),
        (Summary(ok=True, reason="interrupted"), 0, "OK"),
        (Summary(ok=True), 1, "EXIT_CONTRADICTS_SUMMARY"),
        (Summary(ok=True), -9, "EXIT_CONTRADICTS_SUMMARY"),
        (Summary(ok=True, partial=True), 75, "EXIT_CONTRADICTS_SUMMARY"),
        (Summary(ok=False), 0, "SUMMARY_NOT_OK"),
        (Summary(ok=False), 69, "SUMMARY_NOT_OK"),
        (Summary(ok=False, partial=True), 65, "SUMMARY_NOT_OK"),
        (Summary(ok=False, reason="interrupted"), 130, "INTERRUPTED"),
        (Summary(ok=False, reason="interrupted", partial=True), -15, "INTERRUPTED"),
        (Summary(ok=False, reason="interrupted"), 0, "INTERRUPTED"),
    ],
)
def test_a_summary_is_judged_together_with_the_exit_status(summary, exit_status, code):
    assert with_summary(summary, exit_status, accept_partial=False) == code


@requirement("aoi:4.1:partial-tolerance")
@pytest.mark.parametrize(
    "summary, exit_status, code",
    [
        (Summary(ok=False, partial=True), 65, "PARTIAL_FAILURE"),
        (Summary(ok=False, partial=True), 0, "PARTIAL_FAILURE"),
        (Summary(ok=False), 65, "SUMMARY_NOT_OK"),
        (Summary(ok=False, partial=True, reason="interrupted"), 130, "INTERRUPTED"),
        (Summary(ok=True, partial=True), 0, "PARTIAL"),
        (Summary(ok=True, partial=True), 1, "EXIT_CONTRADICTS_SUMMARY"),
    ],
)
def test_partial_results_of_a_failure_are_taken_only_where_they_were_asked_for(summary, exit_status, code):
    assert with_summary(summary, exit_status, accept_partial=True) == code


@requirement("aoi:4:eof-without-summary", "aoi:4.1:exit0-without-summary")
@pytest.mark.parametrize(
    "exit_status, started, truncated, code",
    [
        (0, True, False, "EXIT0_WITHOUT_SUMMARY"),
        (0, False, False, "EXIT0_WITHOUT_SUMMARY"),
        (0, True, True, "EXIT0_WITHOUT_SUMMARY"),
        (None, True, False, "NO_SUMMARY"),
        (None, False, False, "NO_SUMMARY"),
        (70, True, False, "NO_SUMMARY"),
        (-9, True, False, "NO_SUMMARY"),
        (130, True, False, "NO_SUMMARY"),
        (64, False, False, "NEVER_STARTED"),
        (-11, False, False, "NEVER_STARTED"),
        (1, True, True, "LINE_TRUNCATED"),
        (None, False, True, "LINE_TRUNCATED"),
        (141, True, False, "DOWNSTREAM_CLOSED"),
        (-13, False, False, "DOWNSTREAM_CLOSED"),
        (-13, True, True, "LINE_TRUNCATED"),
    ],
)
def test_a_finite_stream_without_a_summary_is_never_a_success(exit_status, started, truncated, code):
    assert without_summary(exit_status, unbounded=False, started=started, truncated=truncated) == code
    assert CODES[code][0] in {"failed", "incomplete", "violation"}


@requirement("aoi:4.2:no-summary-before-eof")
@pytest.mark.parametrize(
    "exit_status, truncated, code",
    [
        (0, False, "STREAM_ENDED"),
        (None, False, "STREAM_ENDED"),
        (-2, False, "STREAM_INTERRUPTED"),
        (-15, False, "STREAM_INTERRUPTED"),
        (130, False, "STREAM_INTERRUPTED"),
        (143, False, "STREAM_INTERRUPTED"),
        (1, False, "STREAM_FAILED"),
        (-9, False, "STREAM_FAILED"),
        (141, False, "DOWNSTREAM_CLOSED"),
        (0, True, "LINE_TRUNCATED"),
        (-2, True, "LINE_TRUNCATED"),
    ],
)
def test_an_unbounded_stream_may_end_without_a_summary(exit_status, truncated, code):
    for started in (True, False):
        assert without_summary(exit_status, unbounded=True, started=started, truncated=truncated) == code


@pytest.mark.parametrize(
    "judged, exit_code",
    [
        (verdict("success", exit_status=0), 0),
        (verdict("partial", partial_accepted=True, exit_status=65), 0),
        (verdict("partial", exit_status=0), 65),
        (verdict("failed", exit_status=77, last_error=Error(category="io")), 77),
        (verdict("failed", exit_status=-9), 137),
        (verdict("failed", exit_status=-9, code="DEADLINE_EXCEEDED"), 124),
        (verdict("failed", exit_status=0, last_error=Error(category="not_found")), 65),
        (verdict("failed", exit_status=None, last_error=Error(category="config")), 78),
        (verdict("failed", exit_status=0, last_error=Error(category="weather")), 65),
        (verdict("failed", exit_status=0, last_error=Error()), 65),
        (verdict("failed", exit_status=0), 65),
        (verdict("interrupted", exit_status=-2), 130),
        (verdict("interrupted", exit_status=None), 130),
        (verdict("interrupted", exit_status=-15), 143),
        (verdict("interrupted", exit_status=143), 143),
        (verdict("incomplete", exit_status=1), 65),
        (verdict("violation", exit_status=0), 65),
    ],
)
def test_a_relay_exits_with_what_became_of_the_stream(judged, exit_code):
    assert judged.exit_code == exit_code
    assert judged.ok == (exit_code == 0)


@pytest.mark.parametrize(
    "exit_status, words", [(None, "an unknown exit status"), (3, "exit status 3"), (-9, "signal 9")]
)
def test_a_reason_names_the_end_of_the_process(exit_status, words):
    outcome, reason = explain("NO_SUMMARY", line=4, detail="", exit_status=exit_status)

    assert outcome == "incomplete"
    assert reason == f"The stream ended without a summary, with {words}."


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_reason_that_reads_as_a_sentence(code):
    outcome, reason = explain(code, line=7, detail="a {brace}", exit_status=1)

    assert reason[0].isupper()
    assert reason.endswith(".")
    assert {field for _, field, _, _ in string.Formatter().parse(CODES[code][1])} <= {
        "line",
        "detail",
        "status",
        None,
    }
    if outcome == "violation" and code != "EXIT0_WITHOUT_SUMMARY":
        assert reason.startswith("Line 7 ")
