"""docs/man/: a manual page for each program, made of its help; the wheel puts them into share/man/man1."""

from operable.cli import tool as operable
from operable.cli.lint.aoi_lint import tool as aoi_lint
from operable.examples.outline.cli import tool as outline
from operable.tool import Tool
from operable.tool.discovery.help_text import command_help, fitted
from operable.tool.discovery.overview import overview
from tools.commands import found

PATH = "docs/man/"
# What is left of 80 columns beside the margin that `man` gives such a text.
WIDTH = 72


def render() -> dict[str, str]:
    return {f"{tool.name}.1": manual(tool) for tool in (operable, aoi_lint, outline)}


def manual(tool: Tool) -> str:
    """The overview, then the help of each command; in the lines that the terminal shows."""
    lines = [
        f'.TH {tool.name.upper()} 1 "" "{tool.name} {tool.version}" "User Commands"',
        ".SH NAME",
        f"{tool.name} \\- {_escaped(tool.summary.removesuffix('.'))}",
        ".SH OVERVIEW",
        *_as_shown(overview(tool)),
        ".SH COMMANDS",
    ]
    for name in tool.names():
        lines += [
            f'.SS "{_escaped(f"{tool.name} {name}")}"',
            *_as_shown(command_help(tool, found(tool, name))),
        ]
    return "\n".join(lines) + "\n"


def _as_shown(text: str) -> list[str]:
    return [".nf", *map(_escaped, fitted(text, WIDTH).splitlines()), ".fi"]


def _escaped(line: str) -> str:
    """A line that troff takes for text: no escape, no request, and hyphens that can be copied."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line
