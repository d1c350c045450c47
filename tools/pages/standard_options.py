"""docs/reference/standard-options.md: the options and commands that every tool has, and which command takes which."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from operable.tool import Change, Command, Event, Input, Page, Stream, Tool
from operable.tool.arguments import standard_options
from operable.tool.discovery.help_text import command_help, description
from operable.tool.kinds import COUNT, DIGEST, FLAG, POSITIVE, SECONDS, STANDARD
from tools.markdown import code, table

PATH = "docs/reference/standard-options.md"
FORMS = {
    FLAG: "no value",
    POSITIVE: "a whole number from 1",
    COUNT: "a whole number from 0",
    SECONDS: "seconds, from 0.001 to a year",
    DIGEST: "nothing, or the `plan_digest` of a dry run",
}
FLAGS = {"--schema": "schema", "--capabilities": "capabilities", "--version": "", "--help": "", "-h": ""}
# The kinds of commands, and the words for an option by the first kind that takes it.
KINDS = {
    "read": "commands that read",
    "page": "commands with a cursor",
    "change": "commands that change things",
    "take_in": "commands with structured input",
    "document": "`schema` and the other documents",
}


class _Thing(Event):
    """A result."""

    id: str


class _ThingIn(Input):
    """An item."""

    id: str


class _Row(NamedTuple):
    name: str
    shown: str
    text: str
    taken_by: list[str]


def render() -> str:
    tool = _sample()
    return "\n".join(
        [
            "# Standard options and commands",
            "",
            "Generated from the source by `./dev fix`.",
            "",
            "A command takes only the options that it can honour. Any other is an error (`UNKNOWN_OPTION`), not a silent",
            "no-op. `--name value` and `--name=value` are the same. Options may be before and after the command.",
            "A parameter of the author with the same name replaces the standard option.",
            "",
            "## Options",
            "",
            *table(("option", "value", "meaning", "taken by"), map(_option, _rows(tool))),
            "",
            "`--output` and `--format` take `human` (the default), `jsonl`, and, for documents only, `json`. A tool that",
            "already owns one of these names leaves it out with `machine_flags`.",
            "",
            "## Flags without a command",
            "",
            *table(("flag", "the same as"), [(code(flag), code(name)) for flag, name in FLAGS.items()]),
            "",
            "## Commands that every tool has",
            "",
            *table(("command", "does"), _commands(tool)),
            "",
            "Where an author has a command of such a name, the built-in one is called `aoi-…` (`aoi-schema`).",
            "",
        ]
    )


def _sample() -> Tool:
    tool = Tool("sample", version="1.0.0", schema_name="org.example.sample")

    @tool.command()
    def read() -> Iterator[_Thing]:
        """Read."""
        yield _Thing(id="1")

    @tool.command(cursor="id")
    def page(*, page: Page) -> Iterator[_Thing]:
        """Page."""
        yield _Thing(id=str(page.after))

    @tool.command(mutates=True)
    def change() -> Iterator[Change]:
        """Change."""
        yield Change("touch", "1")

    @tool.command(name="take_in")
    def take_in(*, items: Stream[_ThingIn]) -> Iterator[_Thing]:
        """Take in."""
        for item in items:
            yield _Thing(id=item.id)

    return tool


def _rows(tool: Tool) -> list[_Row]:
    taken = {kind: standard_options(tool, _command(tool, kind)) for kind in KINDS}
    told: dict[str, tuple[str, str]] = {}
    for kind in reversed(KINDS):  # the plainest command decides
        told |= _told(command_help(tool, _command(tool, kind)))
    return [
        _Row(name, *told[name], taken_by=[kind for kind in KINDS if name in taken[kind]]) for name in STANDARD
    ]


def _told(help_text: str) -> dict[str, tuple[str, str]]:
    """Option -> how it is written and what it means, from the help of a command; its default is that command's."""
    found = {}
    for line in help_text.partition("Standard options:")[2].splitlines():
        if match := re.match(r"  --([\w-]+)(.*?)  +(.*)", line):
            name, value, text = match.groups()
            found[name] = (f"--{name}{value}".strip(), re.sub(r" \(default \d+\)", "", text))
    return found


def _command(tool: Tool, kind: str) -> Command:
    found = tool.find("capabilities" if kind == "document" else kind)
    if found is None:
        raise LookupError(kind)
    return found


def _option(row: _Row) -> tuple[str, str, str, str]:
    everywhere = len(row.taken_by) == len(KINDS)
    return (
        code(row.shown),
        FORMS.get(STANDARD[row.name], "text"),
        row.text,
        "every command" if everywhere else KINDS[row.taken_by[0]],
    )


def _commands(tool: Tool) -> list[tuple[str, str]]:
    rows = []
    for name in tool.built_in_names():
        found = tool.find(name)
        rows.append((code(name), description(found) if found else ""))
    return rows
