"""Reports in files: whole, or not at all, whatever is in them."""

import json
import os
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from operable.kernel.errors import Fail
from operable.lint.check import LintFinding
from operable.lint.report import Format, fingerprint, parse_targets, verdicts, write
from tests.lint.reports.findings import report
from tests.requirement import requirement

FORMATS = ("json", "sarif", "junit", "markdown", "html", "badge")


@pytest.mark.parametrize("name", FORMATS)
def test_every_report_can_be_written_of_a_program_whose_path_is_no_text(name, tmp_path: Path):
    ((form, path),) = parse_targets([f"{name}={tmp_path / 'out'}"])
    made = report()
    made.program = "/opt/\udcff/notes"

    write(form, path, [made], "MUST", frozenset())

    data = Path(path).read_bytes()
    assert data.decode("utf-8")
    if name in ("json", "sarif"):
        assert json.loads(data)
    if name in ("junit", "badge"):
        assert ET.fromstring(data) is not None
    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path):
    ((form, _),) = parse_targets([f"json={tmp_path / 'x'}"])
    (tmp_path / "out").mkdir()

    for path in (tmp_path / "out", tmp_path / "absent" / "out"):
        with pytest.raises(Fail, match="cannot write") as caught:
            write(form, str(path), [report()], "MUST", frozenset())
        assert caught.value.code == "CANNOT_WRITE"

    assert [item.name for item in tmp_path.iterdir()] == ["out"]


def test_a_report_goes_into_a_pipe_and_through_a_link_and_leaves_both_in_place(tmp_path: Path):
    ((form, _),) = parse_targets(["badge=x"])
    reader, writer = os.pipe()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "target").write_text("before")

    for path in (f"/dev/fd/{writer}", str(tmp_path / "link")):
        write(form, path, [report()], "MUST", frozenset())
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()

    assert told.startswith(b"<svg")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == told


@pytest.mark.parametrize("place", ["", "absent/out"])
def test_a_place_that_cannot_be_written_to_is_refused_before_anything_runs(tmp_path: Path, place):
    with pytest.raises(Fail, match="cannot write") as caught:
        parse_targets([f"json={tmp_path / place}"])
    assert caught.value.code == "CANNOT_WRITE"


def test_a_report_that_crashes_is_a_failure_with_a_name_and_leaves_the_old_one(tmp_path: Path):
    def crash(*_: object) -> str:
        raise KeyError("x")

    (tmp_path / "out").write_text("before")
    with pytest.raises(Fail) as caught:
        write(Format("json", crash), str(tmp_path / "out"), [report()], "MUST", frozenset())

    assert (caught.value.category, caught.value.code) == ("internal", "REPORT_FAILED")
    assert (tmp_path / "out").read_text() == "before"


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
