"""docs/reference/outline.md: the example tool, command by command."""

from operable.examples.outline.cli import tool
from tools.commands import page

PATH = "docs/reference/outline.md"


def render() -> str:
    return page(
        tool,
        [
            "Generated from its declarations by `./dev fix`. `outline` is a note store, the example that the documentation,",
            "the tests and the demo use. Its source: [operable/examples/outline](../../src/operable/examples/outline).",
            "",
            "Notes are kept in `$OUTLINE_HOME`, else in `outline` below `$XDG_DATA_HOME` or `~/.local/share`.",
        ],
    )
