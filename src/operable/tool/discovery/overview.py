"""Help for people about a whole tool, and about a group: the commands that begin with one word, such as `app`.

The folder of a group says what it is for (`ABOUT`) and how its commands are read (`SECTIONS`: titles, and the second words
of the commands below each). Commands that no section names come last, so that a new file needs no entry.

`short_help` is for models (`--help --compact`), about a tool, a group or a command: the same facts without what costs tokens
and says little, which is columns, blank lines, and the text of standard options, which mean the same in every tool of this
contract. It adds what a caller needs to read the answer: the events, with their fields.
"""

from __future__ import annotations

from operable.tool.discovery.help_text import (
    effects,
    facts,
    option_rows,
    rows_of_two,
    standard_rows,
    summary,
    usage,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from operable.tool.declaration import Declaration
    from operable.tool.signature import Command

# What a model does not need to be offered: the words for its own output are in the last line of a tool's help.
_LEFT_OUT = frozenset(("schema-version", "accept-schema", "no-color", "debug", "help", "fail-fast"))


def title(tool: Declaration) -> str:
    """What this is, in one line."""
    return f"{tool.name} {tool.version}" + (f": {tool.summary}" if tool.summary else "")


def tool_help(tool: Declaration) -> str:
    machine = f"--{tool.machine_flags[0]} jsonl"
    lines = [
        title(tool),
        "",
        f"Usage: {tool.invocation} COMMAND [ARGUMENTS] [OPTIONS]",
        *(line for group in _groups(tool.names()) for line in _other_usage(tool, group)),
        "",
        "Commands:",
        *rows_of_two(_summaries(tool, tool.names())),
        "",
        "Every tool has:",
        *rows_of_two(_summaries(tool, tool.built_in_names())),
        "",
        f"{tool.invocation} COMMAND --help says more. Add {machine} to any command for the machine stream.",
        "--schema, --capabilities and --version are answered without a command.",
        "--help --compact says it in few words, for models.",
    ]
    return "\n".join(lines)


def overview(tool: Declaration) -> str:
    """What a person gets who names no command: where to start, the other commands, and each group on one line."""
    names = tool.names()
    single = [name for name in names if " " not in name and name not in tool.start]
    sections = {
        "Start here:": _summaries(tool, list(tool.start)),
        "Commands:": _summaries(tool, single),
        "Groups of commands:": [
            (f"{group} …", _about(tool, group)) for group in _groups([*tool.start, *names])
        ],
    }
    closing = f"{tool.invocation} COMMAND --help says more, {tool.invocation} --help everything."
    lines = [title(tool), "", f"Usage: {tool.invocation} COMMAND [ARGUMENTS] [OPTIONS]"]
    return "\n".join([*lines, *_sections(sections), "", closing])


def group_help(tool: Declaration, group: str) -> str:
    """The commands that begin with this word, in the sections that their folder says."""
    inside = {name.partition(" ")[2]: name for name in tool.names() if name.startswith(f"{group} ")}
    sections = {}
    for heading, words in tool.sections(group).items():
        sections[f"{heading}:"] = _summaries(tool, [inside.pop(word) for word in words if word in inside])
    sections["More:" if sections else "Commands:"] = _summaries(tool, list(inside.values()))
    usage = [
        f"Usage: {tool.invocation} {group} COMMAND [ARGUMENTS] [OPTIONS]",
        *_other_usage(tool, group),
    ]
    about = ["", tool.about(group)] if tool.about(group) else []
    closing = f"{tool.invocation} {group} COMMAND --help says more."
    return "\n".join([*usage, *about, *_sections(sections), "", closing])


def _sections(sections: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Each with its rows; their texts begin in one column, wherever they are."""
    rows = rows_of_two([row for section in sections.values() for row in section])
    lines = []
    for heading, section in sections.items():
        if section:
            lines += ["", heading, *rows[: len(section)]]
            del rows[: len(section)]
    return lines


def _groups(names: list[str]) -> list[str]:
    return list(dict.fromkeys(name.partition(" ")[0] for name in names if " " in name))


def _about(tool: Declaration, group: str) -> str:
    """What a group is for; where its folder says nothing, its commands."""
    words = [name.partition(" ")[2] for name in tool.names() if name.startswith(f"{group} ")]
    return tool.about(group) or ", ".join(words)


def _other_usage(tool: Declaration, group: str) -> list[str]:
    return [f"       {tool.invocation} {group} {form}" for form in tool.other_forms(group)]


def _summaries(tool: Declaration, names: list[str]) -> list[tuple[str, str]]:
    commands = [tool.find(name) for name in names]
    return [(command.name, summary(command)) for command in commands if command and not command.hidden]


def short_help(tool: Declaration, about: Command | str | None) -> str:
    """About a tool, a command of it, or the commands that begin with a word."""
    if about is None:
        return "\n".join([title(tool), *_lines(tool, tool.names()), *_how(tool, tool.invocation)])
    return _group(tool, about) if isinstance(about, str) else _command(tool, about)


def _command(tool: Declaration, command: Command) -> str:
    text, texts, values = facts(command)
    lines = [_usage(tool, command), " ".join([*text.split(), *effects(command)])]
    operands, options = option_rows(command, texts, values)
    lines += [f"{name}: {said}" if said else name for name, said in (*operands, *options)]
    if standard := [_with_default(*row) for row in standard_rows(tool, command, without=_LEFT_OUT)]:
        lines.append(f"Standard options: {', '.join(standard)}")
    if results := _results(command):
        lines.append(f"Results: {results}")
    lines += [f"Example: {tool.invocation} {example}" for example in command.examples[:2]]
    return "\n".join(line for line in lines if line)


def _group(tool: Declaration, group: str) -> str:
    inside = [name for name in tool.names() if name.startswith(f"{group} ")]
    about = [tool.about(group)] if tool.about(group) else []
    return "\n".join([*about, *_lines(tool, inside), *_how(tool, f"{tool.invocation} {group}")])


def _how(tool: Declaration, begin: str) -> list[str]:
    return [
        f"{begin} COMMAND …; with --help --compact it says its options and results.",
        (
            f"Write --{tool.machine_flags[0]} jsonl with every command: one JSON object a line, the last is aoi:summary;"
            ' only "ok": true in it is success.'
        ),
    ]


def _lines(tool: Declaration, names: Iterable[str]) -> list[str]:
    found = [command for name in names if (command := tool.find(name)) and not command.hidden]
    begin = f"{tool.invocation} "  # once is enough, in the last lines
    return [f"{_usage(tool, each).removeprefix(begin)} - {summary(each)}{_risk(each)}" for each in found]


def _risk(command: Command) -> str:
    """What a caller must know before it tries; nothing for a command that only reads."""
    if command.destructive:
        return " [destructive]"
    if command.mutates:
        return " [changes things]"
    return " [runs other tools]" if command.runs_tools else ""


def _usage(tool: Declaration, command: Command) -> str:
    return usage(tool, command).removeprefix("Usage: ").removesuffix(" [OPTIONS]")


def _with_default(name: str, text: str) -> str:
    _, found, default = text.rpartition(" (default ")
    return f"{name} (default {default}" if found and default[:1].isdigit() else name


def _results(command: Command) -> str:
    """The events with their fields, by the names on the wire."""
    if command.document:
        return ""
    return "; ".join(
        f"{event.wire_type}({', '.join(event.__wire_names__.values())})" for event in command.event_classes()
    )
