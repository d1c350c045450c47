"""docs/reference/operable.md: the `operable` command, verb by verb."""

from operable.cli import tool
from tools.commands import page

PATH = "docs/reference/operable.md"


def render() -> str:
    return page(
        tool,
        [
            "Generated from its declarations by `./dev fix`. Every command is an AOI command itself: add `--output jsonl`",
            "for its stream, and `operable schema --output json` says what is in it.",
        ],
    )
