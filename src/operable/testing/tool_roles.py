"""What a script wants done, in the words of the agent that asks: a file is written with `Write` here, `write_file` there.

A call in a script names a role (`write`, `shell`, `read`, `fetch`, `delete`) with plain arguments, or a tool by its exact
name with its exact arguments. For a role the tools on offer are searched by name and the arguments are laid into their
schema by the names of its properties, so a new agent usually needs no change here.
"""

import re
from typing import Any, NamedTuple

from operable.testing.model_request import Offered


class ScriptedCall(NamedTuple):
    tool: Offered
    arguments: Any
    """an object, or text for a tool that takes text"""


_NAMES = {
    "write": [
        "Write", "write", "write_file", "developer__write", "apply_patch", "developer__text_editor", "text_editor", "create",
        "editor",
    ],
    "shell": [
        "Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command", "developer__shell", "terminal",
        "ExecCommand", "execute", "run_command", "run_commands", "execute_command",
    ],
    "read": ["Read", "read", "read_file", "developer__read", "view", "read_files"],
    "fetch": ["WebFetch", "web_fetch", "webfetch", "FetchURL", "fetch_web_content", "fetch", "web_extract"],
    "delete": ["delete_file", "remove_file", "apply_patch"],
}  # fmt: skip
_PROPERTIES = {
    "path": ["file_path", "filePath", "absolute_path", "path", "filename", "files"],
    "text": ["content", "contents", "file_text", "text"],
    "command": ["command", "cmd", "script", "commands"],
    "url": ["url", "uri", "urls", "requests", "prompt"],
}
_ACTIONS = {"write": ["write", "create"], "read": ["view", "read"]}
"""Editors with one tool for everything have a property `command` that says what to do."""


def call_for(role: str, arguments: dict[str, Any], tools: list[Offered]) -> ScriptedCall | None:
    """The call that does what the role says, or None when no tool on offer can."""
    by_name = {tool.name: tool for tool in tools}
    if role in by_name and role not in _NAMES:
        return ScriptedCall(by_name[role], arguments)
    tool = next((by_name[name] for name in _NAMES.get(role, []) if name in by_name), None)
    if tool is None:
        # `mcp__server__write_file` and similar names.
        pattern = "|".join(re.escape(name) for name in _NAMES.get(role, [role]))
        tool = next((tool for tool in tools if re.search(rf"(?:__|\.)(?:{pattern})$", tool.name)), None)
    if tool is None:
        return None
    return ScriptedCall(tool, _laid_out(role, arguments, tool))


def _laid_out(role: str, arguments: dict[str, Any], tool: Offered) -> Any:
    if tool.name == "apply_patch":
        patch = _patch(role, arguments)
        return patch if tool.freeform else {"input": patch}
    properties: dict[str, Any] = tool.schema.get("properties", {})
    laid: dict[str, Any] = {}
    for given, value in arguments.items():
        name = next((name for name in _PROPERTIES.get(given, [given]) if name in properties), given)
        laid[name] = _value(given, name, value, properties.get(name, {}))
    if "command" in properties and role in _ACTIONS:
        choices = properties["command"].get("enum", _ACTIONS[role])
        laid["command"] = next((action for action in _ACTIONS[role] if action in choices), choices[0])
    if "sandbox_permissions" in properties:
        # Codex asks its host only about commands that are to leave its own sandbox.
        laid |= {"sandbox_permissions": "require_escalated", "justification": "as the script says"}
    for name in tool.schema.get("required", []):
        if name not in laid:
            laid[name] = _filling(properties.get(name, {}))
    return laid


def _value(given: str, name: str, value: Any, schema: dict[str, Any]) -> Any:
    """The value in the form that the property has: alone, as the only one of several, or as the words of a command."""
    if schema.get("type") != "array":
        return value
    item = schema.get("items", {})
    if item.get("type") == "object":
        members = item.get("properties", {})
        inner = next((inner for inner in _PROPERTIES.get(given, [given]) if inner in members), given)
        required = [other for other in item.get("required", []) if other != inner]
        return [{inner: value, **{other: _filling(members.get(other, {})) for other in required}}]
    return ["bash", "-lc", value] if name == "command" else [value]


def _filling(schema: dict[str, Any]) -> Any:
    """Something that is valid for a required property about which the script says nothing."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    return {"boolean": False, "integer": 1, "number": 1, "array": [], "object": {}}.get(str(kind), "scripted")


def _patch(role: str, arguments: dict[str, Any]) -> str:
    path = arguments["path"]
    if role == "delete":
        return f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n"
    added = "".join(f"+{line}\n" for line in arguments["text"].splitlines() or [""])
    return f"*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch\n"
