"""What we ship passes what we ask of others: operable, the linter itself, and the five reference tools.

Of the reference tools, one is run; the others are replayed from their recordings (`tests/lint/recorded.py`) until they change.
"""

import sys
from pathlib import Path

import pytest

from operable.lint.engine import LintOptions, Report, lint
from tests.lint.recorded import Keeper
from tests.reference.tools import TOOLS, ready

BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
RECORDINGS = Path(__file__).with_name("recordings")
# Some fifty commands, each with its checks: minutes, on a machine that does nothing else.
pytestmark = [pytest.mark.needs("bwrap", "nsenter"), pytest.mark.timeout(1800)]


def failures(report: Report) -> list[str]:
    return [
        f"check {finding.label}, {finding.command}: {finding.result}, {finding.message} {finding.excerpt}"
        for finding in report.findings
        if finding.result in ("fail", "untested")
    ]


@pytest.mark.parametrize(
    "name, profile", [("operable", "aoi-lint.toml"), ("aoi-lint", "aoi-lint-linter.toml")]
)
def test_our_own_commands_pass_everything_that_applies(name, profile, monkeypatch):
    monkeypatch.setenv("PATH", f"{BIN}:/usr/local/bin:/usr/bin:/bin")

    report = lint(str(BIN / name), LintOptions(profile=str(EXAMPLES / "operable" / profile)))

    assert failures(report) == []


@pytest.mark.parametrize("language", TOOLS)
def test_a_reference_tool_passes_everything_that_applies(language, pytestconfig):
    tool = ready(language)
    program = Path(tool.argv[-1])  # the script or the binary; each names its interpreter itself
    keeper = Keeper(RECORDINGS, renewing=pytestconfig.getoption("--live"))
    options = LintOptions(profile=str(tool.folder / "aoi-lint.toml"))

    report = keeper.lint(tool.name, program, options, sources=tool.folder, live=language == "python")

    assert failures(report) == []
    assert len(report.findings) > 50
