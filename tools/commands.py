"""Reference pages of command-line tools that are built on the SDK: the help of every command, and the events it gives."""

import inspect
import sys

from operable.tool import Command, Tool
from operable.tool.discovery.capabilities import command_capabilities
from operable.tool.discovery.help_text import command_help, description, parameter_help
from operable.tool.discovery.overview import tool_help
from tools.markdown import block, code, paragraph, table


def page(tool: Tool, introduction: list[str]) -> str:
    """A tool on one page."""
    lines = [f"# {tool.name}", "", *introduction, "", *block("text", tool_help(tool))]
    for name in tool.names():
        lines += ["", f"## {tool.name} {name}", "", *_entry(tool, found(tool, name))]
    return "\n".join(lines) + "\n"


def index(tool: Tool, introduction: list[str], folder: str) -> str:
    """The commands of a tool that has a page for each: by group, with what each does."""
    lines = [f"# {tool.name}", "", *introduction]
    groups: dict[str, list[str]] = {}
    for name in tool.names():
        groups.setdefault(name.partition(" ")[0], []).append(name)
    several = {group: names for group, names in groups.items() if len(names) > 1}
    single = [name for names in groups.values() if len(names) == 1 for name in names]
    for title, names in {"Commands of one word": single, **several}.items():
        heading = f"{tool.name} {title}" if title in several else title
        rows = [
            (f"[{tool.name} {name}]({folder}/{file_name(name)})", _first(description(found(tool, name))))
            for name in names
        ]
        lines += ["", f"## {heading}", "", *table(("command", "does"), rows)]
    return "\n".join(lines) + "\n"


def single_page(tool: Tool, name: str, back: str) -> str:
    """The page of one command; `back` leads to the index."""
    lines = [f"# {tool.name} {name}", "", *_entry(tool, found(tool, name)), "", f"[All commands]({back})"]
    return "\n".join(lines) + "\n"


def file_name(name: str) -> str:
    return name.replace(" ", "-") + ".md"


def _first(text: str) -> str:
    return text.partition("\n")[0]


def _entry(tool: Tool, command: Command) -> list[str]:
    facts = _facts(command_capabilities(tool, command))
    return [*_story(command), *facts, *block("text", command_help(tool, command))]


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
        if part.startswith("    "):
            lines += [*block("text", inspect.cleandoc(part)), ""]
            continue
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
