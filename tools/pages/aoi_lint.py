"""docs/reference/aoi-lint.md: the `aoi-lint` command."""

from operable.cli.lint.aoi_lint import tool
from tools.commands import page

PATH = "docs/reference/aoi-lint.md"


def render() -> str:
    return page(
        tool,
        [
            "Generated from its declarations by `./dev fix`. `aoi-lint TOOL` is short for `aoi-lint lint TOOL`, and",
            "`operable lint` is the same. What each check looks for: [checks](checks.md).",
        ],
    )
