"""`operable wrap doctor`."""

import pytest

from tests.cli.drive import operable
from tests.wrap.drive import Made


@pytest.mark.parametrize("says, fits", [("prog 1.4", True), ("prog 0.9", False), ("nothing", False)])
def test_a_program_out_of_range_fails(tmp_path, says, fits):
    made = Made(tmp_path, f"#!/bin/sh\necho '{says}'\n")

    done = operable("wrap", "doctor", "prog", env=made.env)

    assert [check["ok"] for check in done.of("aoi:check")] == [True, fits]
    assert done.summary["ok"] is fits


def test_a_program_that_is_missing_is_only_a_warning_among_all(tmp_path):
    made = Made(tmp_path, "")
    (made.bin / "prog").unlink()

    alone = operable("wrap", "doctor", "prog", env=made.env)
    among = operable("wrap", "doctor", env=made.env)

    assert alone.summary["ok"] is False
    (check,) = [check for check in among.of("aoi:check") if check["name"] == "prog.binary"]
    assert (check["ok"], check["severity"]) == (False, "warning")
