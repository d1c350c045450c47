"""`operable doctor`: what it needs, what is merely missing, and what it says of it."""

import subprocess
import sys

import pytest

from operable.cli import doctor
from tests.cli.drive import PROGRAM, operable
from tests.requirement import requirement

CHECKS = ["python", "msgspec", "validation", "people", "state", "processes", "tracing"]


@requirement("aoi:16.2:doctor", "aoi:8.3:check")
def test_every_check_is_an_event_and_here_all_is_well():
    outcome = operable("doctor")
    checks = outcome.of("aoi:check")
    assert [check["name"] for check in checks] == CHECKS
    assert all(check["ok"] for check in checks)
    assert (outcome.exit_code, outcome.summary["ok"], outcome.summary["count"]) == (0, True, len(CHECKS))


@requirement("aoi:3:offline-discovery")
def test_it_works_with_an_empty_environment_and_says_that_there_is_no_place_for_state():
    done = subprocess.run(
        [PROGRAM, "doctor", "--output", "jsonl"], env={}, capture_output=True, timeout=200, check=False
    )
    assert done.returncode == 0
    assert b'"name":"state","ok":false,"severity":"warning"' in done.stdout


@pytest.mark.parametrize(
    "module, check, severity",
    [
        ("msgspec", "msgspec", "error"),
        ("jsonschema_rs", "validation", "warning"),
        ("rich", "people", "warning"),
    ],
)
def test_a_missing_package_is_an_error_only_where_nothing_works_without_it(
    monkeypatch, module, check, severity
):
    monkeypatch.setitem(sys.modules, module, None)
    found = getattr(doctor, check)().fields
    assert (found["ok"], found["severity"]) == (False, severity)
    assert "pip install" in found["hint"]


def test_a_state_directory_that_cannot_be_used_is_a_warning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "file"))
    found = doctor.state().fields
    assert (found["ok"], found["severity"]) == (False, "warning")
    assert "OPERABLE_HOME" in found["hint"]


def test_an_old_python_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert doctor.python().fields["severity"] == "error"


def test_people_get_a_mark_per_check():
    outcome = operable("doctor", output=None)
    assert outcome.stdout.decode().count("✓") == len(CHECKS)
