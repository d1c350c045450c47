"""What we ship passes what we ask of others: operable, the linter itself, and the reference tools that need no compiler."""

import sys
from pathlib import Path

import pytest

from operable.lint.engine import Options, lint

BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(180)]


def failures(program: Path, profile: Path) -> list[str]:
    report = lint(str(program), Options(profile=str(profile)))
    return [
        f"check {finding.label}, {finding.command}: {finding.result}, {finding.message}"
        for finding in report.findings
        if finding.result in ("fail", "untested")
    ]


@pytest.mark.parametrize(
    "name, profile", [("operable", "aoi-lint.toml"), ("aoi-lint", "aoi-lint-linter.toml")]
)
def test_our_own_commands_pass_everything_that_applies(name, profile, monkeypatch):
    monkeypatch.setenv("PATH", f"{BIN}:/usr/local/bin:/usr/bin:/bin")

    assert failures(BIN / name, EXAMPLES / "operable" / profile) == []


@pytest.mark.needs("jq")
@pytest.mark.needs("node")
@pytest.mark.parametrize("program", ["python/ref_python.py", "node/ref-node.mjs", "bash/ref-bash"])
def test_a_reference_tool_passes_everything_that_applies(program):
    path = EXAMPLES / "reference" / program

    assert failures(path, path.parent / "aoi-lint.toml") == []
