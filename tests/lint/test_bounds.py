"""Tools that never give more than so many results at once, whatever limit they are asked for."""

from pathlib import Path

import pytest

from operable.lint.check import LintFinding
from operable.lint.engine import LintOptions, lint
from tests.zoo.breeding import Mutation, breed

LIMIT = '    limit = whole(options, "--limit") if "--limit" in options else 100\n'
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def judged(folder: Path, *changes: tuple[str, str, str]) -> list[LintFinding]:
    tool = breed("python", folder, Mutation("bound", "python", "11", ("list",), changes))
    return lint(str(tool), LintOptions(only=("11",), commands=("list",))).findings


def test_a_bound_of_its_own_is_no_wrong_mark(tmp_path: Path):
    (finding,) = judged(tmp_path, ("notes", LIMIT, f"{LIMIT}    limit = min(limit, 2)\n"))

    assert finding.result == "pass", finding.message


def test_a_mark_that_is_always_set_is_wrong_also_with_a_cursor(tmp_path: Path):
    findings = judged(tmp_path, ("notes", "    more = len(notes) > limit\n", "    more = bool(page)\n"))

    assert findings[0].result == "fail"
    assert findings[0].message == "truncated is true, though all 4 results are there"
