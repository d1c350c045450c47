"""`operable lint`: the same as `aoi-lint`, also for whoever waits for it at a terminal."""

import sys
from pathlib import Path

import pytest

from tests.tool.drive import SAMPLE, terminal

BIN = Path(sys.executable).parent


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("words", [("aoi-lint",), ("operable", "lint")], ids=" ".join)
def test_who_waits_at_a_terminal_sees_from_the_beginning_what_goes_on(words, tmp_path):
    program, *verb = words
    sample = tmp_path / "sample"
    sample.write_text(f'#!/bin/sh\nexec {sys.executable} {SAMPLE} "$@"\n')
    sample.chmod(0o755)

    with terminal(*verb, str(sample), "--only", "3", tool=BIN / program, leader=True) as person:
        person.read_until("reading its capabilities")
        person.type("\x03")
        assert person.finish().exit_code == 130
