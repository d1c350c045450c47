r"""Tools in the place of programs: how a manifest of the contract names an agent-operable tool, a wrapper, an application,
the tool of an MCP server.

    "shell": {"program": "tool:NAME", "args": ["search"], "stdin": "{\"query\": \"x\"}"}

`tool:` is a program that describes itself (on the task's PATH, or by its path), `wrap:` a wrapper, `app:` an application,
`mcp:` an upstream MCP server (`operable upstream add`). The arguments are the words of the command, and the standard input
is a JSON object: what the command is given. Other readers
of the contract would look for a program of that name, so only Operable's own runners take it; other targets refuse it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

KINDS = ("tool", "wrap", "app", "mcp")


class ToolName(NamedTuple):
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def tool_of(task: Mapping[str, Any]) -> ToolName | None:
    """The tool that a task names in the place of its program. Returns None if it names a program."""
    kind, colon, name = str((task.get("shell") or {}).get("program") or "").partition(":")
    return ToolName(kind, name) if colon and kind in KINDS else None


def tool_problems(task: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(member, message) for what a tool task must not say, by its text alone."""
    tool, shell = tool_of(task), task.get("shell") or {}
    if tool is None:
        return
    if not tool.name:
        yield "shell.program", f"names no {tool.kind}"
    if not shell.get("args"):
        yield "shell.args", f"must be the words of a command of {tool}"
    try:
        tool_arguments(shell)
    except ValueError as problem:
        yield "shell.stdin", f"must be a JSON object, the arguments of the command: {problem}"


def foreign_tools(manifest: Mapping[str, Any], target: str) -> Iterator[dict[str, str]]:
    """An error for every task of an expanded manifest that names a tool, for a target that cannot take one."""
    for index, workflow in enumerate(manifest["workflows"]):
        for number, task in enumerate(workflow["tasks"]):
            if (tool := tool_of(task)) is not None:
                path = f"$.workflows[{index}].tasks[{number}].shell.program"
                message = f"{tool} is not a program: {target} cannot call tools, use the target operable"
                yield {"path": path, "message": message}


def tool_arguments(shell: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the command. Raises ValueError if the text is not a JSON object."""
    text = shell.get("stdin")
    found = {} if text is None or not text.strip() else json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - a text that cannot be read, as one that is not JSON
    return found
