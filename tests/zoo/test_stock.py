"""Tools with stock parsers: they pass, and what the parsers say by themselves is one piece of advice."""

from collections.abc import Callable
from pathlib import Path

import pytest

from operable.lint.engine import LintOptions
from tests import renewal
from tests.lint.recorded import Keeper
from tests.zoo.stock import BUILDERS, stock

RECORDINGS = Path(__file__).with_name("recordings")
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(900)]


@pytest.fixture
def keeper(pytestconfig: pytest.Config, record_property: Callable[[str, object], None]) -> Keeper:
    return Keeper(
        RECORDINGS,
        renewing=pytestconfig.getoption("--live"),
        stale=lambda name: record_property(renewal.PROPERTY, f"tool {name}: ./dev test --live tests/zoo"),
    )


@pytest.mark.parametrize("parser", sorted(BUILDERS))
def test_a_tool_with_a_stock_parser_passes_everything_that_applies(
    parser: str, tmp_path: Path, keeper: Keeper
):
    tool = stock(parser, tmp_path)

    report = keeper.lint(
        f"stock {parser}", tool.program, LintOptions(), sources=tool.sources, build=tool.build
    )

    found = [finding for finding in report.findings if finding.result in ("fail", "untested")]
    assert [(finding.label, finding.command, finding.message, finding.excerpt) for finding in found] == []
    assert len(report.findings) > 50


@pytest.mark.parametrize(
    "parser, old, new",
    [
        ("commander", "root.configureOutput({ writeErr: () => {} });", ""),
        (
            "optionparser",
            "rescue OptionParser::ParseError\n",
            "rescue OptionParser::ParseError => e\n  warn(e)\n",
        ),
    ],
)
def test_what_a_parser_repeats_on_stderr_is_one_piece_of_advice_for_the_tool(
    parser: str, old: str, new: str, tmp_path: Path, keeper: Keeper
):
    tool = stock(parser, tmp_path, old, new)

    report = keeper.lint(
        f"stock {parser} talks", tool.program, LintOptions(), sources=tool.sources, build=tool.build
    )

    failed = [finding for finding in report.findings if finding.result == "fail"]
    assert [(finding.label, finding.command, finding.level) for finding in failed] == [("9", None, "SHOULD")]
