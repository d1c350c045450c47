"""docs/reference/operable.md: the commands of `operable`, each with a link to its page."""

from operable.cli import tool
from tools.commands import index

PATH = "docs/reference/operable.md"


def render() -> str:
    return index(
        tool,
        [
            "Generated from its declarations by `./dev fix`. Every command is an AOI command itself: add `--output jsonl`",
            "for its stream, and `operable schema --output json` says what is in it. `operable COMMAND --help` shows the",
            "text of its page; the options that all commands have are [on a page of their own](standard-options.md).",
        ],
        "commands",
    )
