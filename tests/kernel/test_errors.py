"""The error taxonomy and the exit codes."""

import subprocess
import sys

import pytest

from operable.kernel import errors
from operable.kernel.errors import CATEGORIES, Fail
from tests.requirement import requirement

EXIT_CODES = {
    "usage": 64, "validation": 65, "authn": 77, "authz": 77, "not_found": 65, "conflict": 65, "rate_limited": 75, "temporary": 75,
    "timeout": 124, "cancelled": 130, "partial": 65, "internal": 70, "config": 78, "io": 74,
}  # fmt: skip


@requirement("aoi:9.1:categories")
def test_there_are_the_fourteen_standard_categories():
    assert set(CATEGORIES) == set(EXIT_CODES)


@requirement("aoi:9.1:retryable-defaults")
def test_only_what_the_standard_calls_transient_is_retryable_by_default():
    assert {name for name, (retryable, _) in CATEGORIES.items() if retryable} == {
        "rate_limited",
        "temporary",
        "timeout",
    }


@requirement("aoi:6:sysexits")
@pytest.mark.parametrize("category", EXIT_CODES)
def test_each_category_has_its_exit_code(category):
    assert Fail(category, "X", "x").exit_code == EXIT_CODES[category]


@requirement("aoi:6:sysexits", "aoi:6:timeout-124", "aoi:6:sigint-130", "aoi:6:sigpipe-141")
def test_the_exit_codes_are_those_of_sysexits_and_the_shell():
    assert {name: value for name, value in vars(errors).items() if name.startswith("EX_")} == {
        "EX_OK": 0, "EX_USAGE": 64, "EX_DATAERR": 65, "EX_UNAVAILABLE": 69, "EX_SOFTWARE": 70, "EX_CANTCREAT": 73, "EX_IOERR": 74,
        "EX_TEMPFAIL": 75, "EX_NOPERM": 77, "EX_CONFIG": 78, "EX_TIMEOUT": 124, "EX_SIGINT": 130, "EX_SIGPIPE": 141,
        "EX_SIGTERM": 143,
    }  # fmt: skip


@requirement("aoi:9:error-fields", "aoi:9:category-mapped")
def test_the_event_has_the_standard_fields_first_and_no_nulls():
    event = Fail(
        "not_found", "FILE_NOT_FOUND", "No file exists at path.", target="/x.md", path="/x.md"
    ).event()
    assert list(event.items()) == [
        ("type", "aoi:error"),
        ("category", "not_found"),
        ("code", "FILE_NOT_FOUND"),
        ("message", "No file exists at path."),
        ("retryable", False),
        ("target", "/x.md"),
        ("path", "/x.md"),
    ]


def test_hint_retryability_and_exit_code_can_be_given():
    failure = Fail("conflict", "X", "x", hint="try again", retryable=True, exit_code=75)
    assert failure.event()["hint"] == "try again"
    assert failure.event()["retryable"] is True
    assert failure.exit_code == 75


def test_details_never_replace_a_standard_field():
    assert Fail("io", "X", "x", type="aoi:summary").event()["type"] == "aoi:error"


def test_an_unknown_category_is_refused_where_it_is_raised():
    with pytest.raises(ValueError, match="'oops' is not a category of errors; known are usage, validation"):
        Fail("oops", "X", "x")


def test_a_detail_named_like_a_field_of_the_event_neither_overwrites_it_nor_is_lost():
    assert Fail("io", "X", "x", type="person", seen=None).event() == {
        "type": "aoi:error",
        "category": "io",
        "code": "X",
        "message": "x",
        "retryable": False,
        "seen": None,
        "details": {"type": "person"},
    }


def test_a_failure_reads_as_its_message():
    assert str(Fail("io", "X", "the disk is full")) == "the disk is full"


def test_the_taxonomy_imports_nothing():
    script = "import sys; before = set(sys.modules); import operable.kernel.errors; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=200
    )
    assert done.stdout.split() == ["operable", "operable.kernel", "operable.kernel.errors"]
