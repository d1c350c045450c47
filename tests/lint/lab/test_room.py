"""What a room holds for a change, seen through lints of real tools."""

from pathlib import Path

import pytest

from operable.lint.engine import Options, Report, lint
from tests.zoo.breeding import Mutation, breed

ENTRY = 'emit("entry", id=note["id"], title=note["title"])'
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def linted(folder: Path, told: str, *only: str) -> Report:
    change = ("notes", ENTRY, f'emit("entry", id=note["id"], title=note["title"], {told})')
    tool = breed("python", folder, Mutation("told", "python", "3", ("list",), (change,)))
    return lint(str(tool), Options(only=only, commands=("list", "create")))


@pytest.mark.parametrize("clock", ["time.monotonic_ns()", "int(time.time())"])
def test_a_clock_in_the_state_that_a_tool_tells_is_no_change_that_a_command_made(clock, tmp_path: Path):
    report = linted(tmp_path, f"age={clock}", "read-only-with-effects", "7")

    assert {finding.check: finding.result for finding in report.findings if finding.command == "list"} == {
        "read-only-with-effects": "pass",
        "repeated-effect": "not_applicable",
    }
    assert "fail" not in {finding.result for finding in report.findings}
