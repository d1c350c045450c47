"""docs/reference/commands/: one page for each command of `operable`."""

from operable.cli import tool
from tools.commands import file_name, single_page

PATH = "docs/reference/commands/"


def render() -> dict[str, str]:
    return {file_name(name): single_page(tool, name, "../operable.md") for name in tool.names()}
