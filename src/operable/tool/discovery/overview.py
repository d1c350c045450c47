"""Help for people about a whole tool, and about a group: the commands that begin with one word, such as `app`.

The folder of a group says what it is for (`ABOUT`) and how its commands are read (`SECTIONS`: titles, and the second words
of the commands below each). Commands that no section names come last, so that a new file needs no entry.
"""

from __future__ import annotations

from operable.tool.discovery.help_text import rows_of_two, summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.tool.declaration import Declaration


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
