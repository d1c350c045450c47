"""`operable explain` knows every word that Operable ends or answers with."""

import json
import re
from pathlib import Path

import pytest

from operable.cli.explanations import explanations
from operable.kernel import errors
from operable.run.judge import CODES as HOST_CODES
from operable.wire.verdict import CODES
from tests.cli.drive import operable

ROOT = Path(__file__).parents[3]


def test_every_code_of_the_reference_every_status_and_every_verdict_is_explained():
    reference = (ROOT / "docs/reference/errors.md").read_text("utf-8").partition("## Codes of `outline`")[0]
    codes = set(re.findall(r"^\| `([A-Z][A-Z0-9_]+)` \|", reference, re.MULTILINE))
    statuses = {str(value) for name, value in vars(errors).items() if name.startswith("EX_")}
    words = codes | statuses | set(CODES) | set(HOST_CODES) | set(errors.CATEGORIES)

    assert len(codes) > 500
    assert {word for word in words if not explanations(word)} == set()


def test_an_error_is_explained_with_its_status_and_with_each_way_it_is_worded():
    answer = operable("explain", "extra-missing")

    (event,) = answer.results
    assert (event["name"], event["exit_status"], event["retryable"]) == ("EXTRA_MISSING", 78, False)
    assert event["forms"][0]["message"] == "this needs the package {package}, which is not installed"


def test_a_warning_is_explained_and_what_is_filled_in_has_a_name():
    (found,) = operable("explain", "NO_WORKER").results

    assert found["kind"] == "warning"
    assert "operable engine start" in found["meaning"]
    printed = operable("explain", "EXTRA_MISSING", "JOBS_LEFT", output=None).stdout.decode()
    assert "this needs the package PACKAGE" in printed
    assert "are not in the manifest go on" in printed
    assert "{" not in printed


def test_a_number_may_be_a_check_and_a_status_of_a_signal_is_named():
    assert [event["type"] for event in operable("explain", "3").results] == ["explanation"]
    (event,) = operable("explain", "139").results
    assert event["meaning"] == "A signal ended the process: SIGSEGV."


def test_people_read_sentences():
    answer = operable("explain", "NO_SUMMARY", "78", output=None)

    assert answer.exit_code == 0
    assert "Outcome incomplete. The stream ended without a summary" in answer.stdout.decode()
    assert "config: The configuration or the installation is not complete." in answer.stdout.decode()


@pytest.mark.parametrize("word", ["EXTRA_MISING", "unverifiable-ent"])
def test_a_word_that_is_nearly_one_is_offered_as_a_line_that_works(word):
    answer = operable("explain", word)

    assert (answer.exit_code, answer.error["code"]) == (65, "UNKNOWN_WORD")
    line = answer.error["hint"].removeprefix("did you mean operable ").removesuffix("?")
    assert operable(*line.split()).exit_code == 0


def test_the_file_that_comes_along_is_json_with_one_code_a_line():
    text = (ROOT / "src/operable/spec/codes.json").read_text("utf-8")

    assert json.loads(text)["exit_statuses"]["78"]["constant"] == "EX_CONFIG"
    assert max(map(len, text.splitlines())) < 6000
