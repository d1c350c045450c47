"""What we ship passes what we ask of others: operable, the linter itself, and the five reference tools.

Of the reference tools, one is run; the others are replayed from their recordings (`tests/lint/recorded.py`) until they change.
Of operable, a run lints the commands that `tests/lint/own.py` chooses: what is new, what has changed, and some of each group.
`--live` lints all of them. After a change of a command

    ./dev test tests/lint/test_own_tools.py --keep-verdicts

keeps what it passed, and later runs do not lint it for that change again.
"""

import sys
from pathlib import Path

import pytest

from operable.lint.engine import LintOptions, Report, lint
from tests import renewal
from tests.lint import own
from tests.lint.recorded import Keeper
from tests.needs import missing
from tests.reference.tools import TOOLS, ready

BIN = Path(sys.executable).parent
EXAMPLES = Path(__file__).parents[2] / "examples"
RECORDINGS = Path(__file__).with_name("recordings")
# The reference tool that is run in every run: a compiled one starts in a tenth of the time of an interpreter.
LIVE = "python" if missing("go") else "go"
# Some fifty commands, each with its checks: minutes, on a machine that does nothing else.
pytestmark = [pytest.mark.needs("bwrap", "nsenter"), pytest.mark.timeout(1800)]


def failures(report: Report) -> list[str]:
    return [
        f"check {finding.label}, {finding.command}: {finding.result}, {finding.message} {finding.excerpt}"
        for finding in report.findings
        if finding.result in ("fail", "untested")
    ]


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{BIN}:/usr/local/bin:/usr/bin:/bin")


@pytest.mark.usefixtures("_alone")
def test_our_own_commands_pass_everything_that_applies(pytestconfig, record_property):
    whole = pytestconfig.getoption("--live")
    chosen = () if whole else own.chosen(own.kept(), own.digests())
    keeps = pytestconfig.getoption("--keep-verdicts")
    if not keeps and (changed := own.changed(own.kept(), own.digests())):
        again = "./dev test tests/lint/test_own_tools.py -k own_commands --keep-verdicts"
        record_property(renewal.PROPERTY, f"commands {', '.join(sorted(changed))}: {again}")

    report = lint(str(BIN / "operable"), LintOptions(profile=str(own.PROFILE), commands=chosen))

    assert failures(report) == []
    assert set(own.digests()) <= set(report.commands) if whole else set(report.commands) == set(chosen)
    if keeps:
        own.keep(report)


@pytest.mark.usefixtures("_alone")
def test_our_own_linter_passes_everything_that_applies():
    profile = str(EXAMPLES / "operable" / "aoi-lint-linter.toml")

    report = lint(str(BIN / "aoi-lint"), LintOptions(profile=profile))

    assert failures(report) == []


@pytest.mark.parametrize("language", TOOLS)
def test_a_reference_tool_passes_everything_that_applies(language, pytestconfig, record_property):
    tool = ready(language)
    program = Path(tool.argv[-1])  # the script or the binary; each names its interpreter itself
    again = "./dev test --live tests/lint/test_own_tools.py -k reference_tool"
    keeper = Keeper(
        RECORDINGS,
        renewing=pytestconfig.getoption("--live"),
        stale=lambda name: record_property(renewal.PROPERTY, f"reference tool {name}: {again}"),
    )
    options = LintOptions(profile=str(tool.folder / "aoi-lint.toml"))

    report = keeper.lint(tool.name, program, options, sources=tool.folder, live=language == LIVE)

    assert failures(report) == []
    assert len(report.findings) > 50
