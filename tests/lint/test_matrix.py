from dataclasses import replace

from operable.lint.check import LintFinding
from operable.lint.matrix import fingerprint, verdicts
from tests.requirement import requirement

PASSED = LintFinding("unverifiable-end", 3, ("Verifiable",), "list", "MUST", "pass", "fine", "4.1")
FAILED = replace(PASSED, result="fail", message="status 3")


def results(*findings: LintFinding, **options) -> list[tuple[str, str | None, str]]:
    return [(pair.characteristic, pair.command, pair.result) for pair in verdicts(findings, **options)]


@requirement("aoi:18.1:per-pair")
def test_one_failure_fails_its_pair_and_no_other():
    other = replace(PASSED, command="get")

    assert results(PASSED, FAILED, other) == [("Verifiable", "list", "fail"), ("Verifiable", "get", "pass")]


def test_a_check_of_two_characteristics_speaks_of_both():
    both = replace(FAILED, characteristics=("Typed", "Verifiable"))

    assert results(both) == [("Typed", "list", "fail"), ("Verifiable", "list", "fail")]


def test_advice_fails_only_when_asked_to():
    advice = replace(FAILED, level="SHOULD")

    assert results(PASSED, advice) == [("Verifiable", "list", "pass")]
    assert results(advice, fail_on="SHOULD") == [("Verifiable", "list", "fail")]


def test_what_was_not_seen_is_no_pass():
    untested = replace(PASSED, result="untested")

    assert results(untested) == [("Verifiable", "list", "untested")]
    assert results(replace(PASSED, result="not_applicable")) == [("Verifiable", "list", "not_applicable")]
    assert results(untested, replace(PASSED, result="not_applicable"))[0][2] == "untested"


def test_a_pair_of_which_a_part_could_not_be_tried_is_no_pass():
    untested = replace(PASSED, check="unclean-stop", number=10, result="untested")
    advice = replace(untested, level="SHOULD")

    assert results(PASSED, untested) == [("Verifiable", "list", "untested")]
    assert results(PASSED, untested, FAILED) == [("Verifiable", "list", "fail")]
    assert results(PASSED, advice) == [("Verifiable", "list", "pass")]
    assert results(PASSED, advice, fail_on="SHOULD") == [("Verifiable", "list", "untested")]


def test_a_pair_of_which_nothing_was_seen_to_hold_is_no_pass():
    advice = replace(
        FAILED, level="SHOULD", check="repeated-effect", number=7, characteristics=("Idempotent",)
    )

    assert results(advice) == [("Idempotent", "list", "untested")]
    assert results(advice, replace(advice, result="not_applicable")) == [("Idempotent", "list", "untested")]
    assert results(advice, replace(advice, result="pass")) == [("Idempotent", "list", "pass")]
    assert results(advice, fail_on="SHOULD") == [("Idempotent", "list", "fail")]


def test_a_failure_is_recognised_in_another_run_also_when_its_numbers_differ():
    known = fingerprint("notes", FAILED)

    assert fingerprint("notes", replace(FAILED, message="status 7")) == known
    assert fingerprint("notes", replace(FAILED, message="no summary")) != known
    assert fingerprint("notes", replace(FAILED, command="get")) != known
    assert fingerprint("other", FAILED) != known
