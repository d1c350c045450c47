"""The limit of a stream without an end: seen also when the first result takes its time, never guessed from silence."""

import sys
from pathlib import Path

import pytest

from operable.lint.check import LintFinding
from operable.lint.engine import LintOptions, lint

pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(300)]
# `watch` is silent for longer than a signal would wait, then tells `told` results, and ends or waits for ever.
TOOL = """#!{python} -S
import json, sys, time
if sys.argv[1] == "capabilities":
    command = {{"name": "watch", "read_only": True, "unbounded": True, "supports_limit": True, "outputs": ["jsonl"]}}
    print(json.dumps({{"name": "ticker", "aoi_version": "0.2", "commands": [command]}}))
elif sys.argv[1] == "watch":
    print(json.dumps({{"type": "aoi:meta", "tool": "ticker", "command": "watch", "aoi_version": "0.2"}}), flush=True)
    time.sleep({silence})
    for number in range({told}):
        print(json.dumps({{"type": "entry", "id": str(number)}}), flush=True)
    if {waits}:
        time.sleep(600)
    print(json.dumps({{"type": "aoi:summary", "ok": True, "count": {told}, "truncated": True}}))
"""


def bounds(folder: Path, *, silence: float = 0.0, told: int = 1, waits: bool = False) -> LintFinding:
    timeout = 15.0 if waits else 100.0  # only what waits takes it whole
    program = folder / "ticker"
    program.write_text(TOOL.format(python=sys.executable, silence=silence, told=told, waits=waits))
    program.chmod(0o755)
    (folder / "aoi-lint.toml").write_text(f"[tool]\ntimeout = {timeout}\n")
    found = lint(str(program), LintOptions(only=("11",), commands=("watch",))).findings
    (finding,) = [each for each in found if each.command == "watch"]
    return finding


def test_a_first_result_that_takes_its_time_is_waited_for(tmp_path: Path):
    finding = bounds(tmp_path, silence=1.5)

    assert finding.result == "pass", finding.message


def test_a_stream_that_goes_on_behind_its_limit_is_found(tmp_path: Path):
    assert "does not end the stream" in bounds(tmp_path, waits=True).message


def test_a_stream_that_tells_more_than_its_limit_is_found(tmp_path: Path):
    assert "gives 3 results" in bounds(tmp_path, told=3).message


def test_a_stream_that_tells_nothing_is_untested(tmp_path: Path):
    finding = bounds(tmp_path, told=0, waits=True)

    assert (finding.result, "reported nothing" in finding.message) == ("untested", True)
