"""pytest: `def test_conforms(aoi_lint): aoi_lint("outline")` fails with every finding that fails, each with its evidence.

Loaded by every pytest that has operable installed, so it imports only pytest until the fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from operable.lint.engine import Report


@pytest.fixture
def aoi_lint() -> Callable[..., Report]:
    """Lint a program: `aoi_lint("outline", profile="aoi-lint.toml", fail_on="should", only=("3",))`; gives the report."""
    return _conforms


def _conforms(tool: str, *, fail_on: str = "must", **options: Any) -> Report:
    from operable.lint.engine import LintOptions, lint
    from operable.lint.report import fails

    __tracebackhide__ = True
    chosen: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in options.items()
    }
    report = lint(tool, LintOptions(**chosen))
    failed = [
        finding for finding in report.findings if fails(finding, "SHOULD" if fail_on == "should" else "MUST")
    ]
    if failed:
        lines = [f"{tool} does not conform: {len(failed)} findings"]
        for finding in failed:
            lines.append(
                f"  check {finding.label} (section {finding.section}), {finding.command or 'the tool'}: {finding.message}"
            )
            if finding.reproduce is not None:
                lines.append(f"      {finding.reproduce}")
        lines.append(f"  each in a folder like this one: {report.prepare}")
        pytest.fail("\n".join(lines), pytrace=False)
    return report
