"""What we ship passes what we ask of others: operable, the linter itself, and the five reference tools."""

import sys
from pathlib import Path

import pytest

from operable.lint.engine import Options, lint
from tests.reference.tools import TOOLS, ready

BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
# Some fifty commands, each with its checks: minutes, on a machine that does nothing else.
pytestmark = [pytest.mark.needs("bwrap", "nsenter"), pytest.mark.timeout(1800)]


def failures(program: Path, profile: Path) -> list[str]:
    report = lint(str(program), Options(profile=str(profile)))
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

    assert failures(BIN / name, EXAMPLES / "operable" / profile) == []


@pytest.mark.parametrize("language", TOOLS)
def test_a_reference_tool_passes_everything_that_applies(language):
    tool = ready(language)
    program = tool.argv[-1]  # the script or the binary; each names its interpreter itself

    assert failures(Path(program), tool.folder / "aoi-lint.toml") == []
