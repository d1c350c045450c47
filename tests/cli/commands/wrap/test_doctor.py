"""`operable wrap doctor`."""

import json

import pytest

from tests.cli.drive import operable
from tests.wrap.drive import Made


@pytest.mark.parametrize("says, fits", [("prog 1.4", True), ("prog 0.9", False), ("nothing", False)])
def test_a_program_out_of_range_fails(tmp_path, says, fits):
    made = Made(tmp_path, f"#!/bin/sh\necho '{says}'\n")

    done = operable("wrap", "doctor", "prog", env=made.env)

    checks = {check["name"]: check for check in done.of("aoi:check")}
    told = {name.partition(".")[2]: check["ok"] for name, check in checks.items()}
    assert told == {"binary": True, "version": fits, "sandbox": True, "lint": True}
    assert checks["prog.lint"]["detail"] == "not linted"
    assert done.summary["ok"] is fits


def test_a_wrapper_that_is_named_and_not_there_is_an_error(tmp_path):
    done = operable("wrap", "doctor", "absent", env=Made(tmp_path, "").env)

    assert (done.exit_code, done.error["code"], done.of("aoi:check")) == (64, "UNKNOWN_WRAPPER", [])


def test_a_program_that_is_missing_is_only_a_warning_among_all(tmp_path):
    made = Made(tmp_path, "")
    (made.bin / "prog").unlink()

    alone = operable("wrap", "doctor", "prog", env=made.env)
    among = operable("wrap", "doctor", env=made.env)

    assert alone.summary["ok"] is False
    (check,) = [check for check in among.of("aoi:check") if check["name"] == "prog.binary"]
    assert (check["ok"], check["severity"]) == (False, "warning")


@pytest.mark.parametrize("there", [True, False])
def test_it_says_which_characteristics_the_wrapper_has_whether_the_program_is_there_or_not(tmp_path, there):
    made = Made(tmp_path, "#!/bin/sh\necho 1.4\n")
    if not there:
        (made.bin / "prog").unlink()
    kept = {"go": {"Safe": "pass", "Typed": "fail", "Bounded": "untested", "Auditable": "not_applicable"}}
    (made.path / "lint.json").write_text(json.dumps({"wrapped": kept}))

    done = operable("wrap", "doctor", "prog", env=made.env)

    (check,) = [check for check in done.of("aoi:check") if check["name"] == "prog.lint"]
    assert check["detail"] == "fails Typed; untested Bounded; passes Safe"
    assert (check["ok"], check["severity"]) == (False, "warning")
    assert done.summary["ok"] is there
