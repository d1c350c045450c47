"""Reference pages of command-line tools that are built on the SDK: the help of every command, and the events it gives."""

import inspect
import sys

from operable.tool import Command, Tool
from operable.tool.discovery.capabilities import command_capabilities
from operable.tool.discovery.help_text import command_help, description, parameter_help, tool_help
from tools.markdown import block, code, paragraph


def page(tool: Tool, introduction: list[str]) -> str:
    lines = [f"# {tool.name}", "", *introduction, "", *block("text", tool_help(tool))]
    for name in tool.names():
        command = found(tool, name)
        lines += ["", f"## {tool.name} {name}", "", *_story(command)]
        lines += [*_facts(command_capabilities(tool, command)), *block("text", command_help(tool, command))]
    return "\n".join(lines) + "\n"


def found(tool: Tool, name: str) -> Command:
    command = tool.find(name)
    if command is None:
        raise LookupError(f"{tool.name} has no command {name}")
    return command


def undocumented(tool: Tool) -> list[str]:
    """Commands, parameters and event types that have no description."""
    gaps = []
    for name in tool.names():
        command = found(tool, name)
        texts = parameter_help(command)
        if not description(command):
            gaps.append(f"{tool.name} {name}")
        if not command.examples:
            gaps.append(f"{tool.name} {name}: no example")
        gaps += [f"{tool.name} {name}: {param.name}" for param in command.params if not texts.get(param.name)]
        gaps += [f"{event.__name__}" for event in command.event_classes() if not event.__doc__]
    return gaps


def _story(command: Command) -> list[str]:
    """What the file of the command says about it, without the name that it begins with."""
    text = inspect.cleandoc(sys.modules[command.function.__module__].__doc__ or "")
    _, _, first = text.partition(": ")
    lines = []
    for part in first.split("\n\n"):
        words = paragraph(part)
        lines += [words[:1].upper() + words[1:], ""]
    return lines


def _facts(facts: dict[str, object]) -> list[str]:
    """What the capabilities say and the help does not, in words."""
    words = []
    if facts["supports_cursor"]:
        words.append("It gives pages.")
    if facts["role"] != "source":
        words.append(f"In a pipeline it is a {facts['role']}.")
    types = facts["event_types"]
    own = [name for name in types if not name.startswith("aoi:")] if isinstance(types, list) else []
    if own:
        words.append(f"Events: {', '.join(map(code, own))}.")
    return [" ".join(words), ""] if words else []
