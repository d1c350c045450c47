"""Plays one reply of the scripted model: each step becomes bytes of the dialect, and time passes where the script says so.

The steps are described in `operable.testing.models`. A client that goes away ends the reply where it is, also in the middle
of a wait.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from operable.testing.dialect import Asked, Dialect, Offered, Rendering, TokenUsage, new_id
from operable.testing.exchange import Exchange
from operable.testing.http_edge import Reply
from operable.testing.script import Step, pieces, verb_of

_TEXT = frozenset({"chunks", "delay"})
_NOTHING: frozenset[str] = frozenset()
VERBS = {
    "say": _TEXT,
    "think": _TEXT,
    "call": frozenset({"args", "id"}),
    "usage": _NOTHING,
    "end": _NOTHING,
    "wait": _NOTHING,
    "hang": _NOTHING,
    "drop": _NOTHING,
    "raw": _NOTHING,
    "fail": frozenset({"message"}),
    "status": frozenset({"headers", "message", "times"}),
}


# What a script wants done, in the words of the agent that asks: a file is written with `Write` here, `write_file`
# there.
# A call in a script names a role (`write`, `shell`, `read`, `fetch`, `delete`) with plain arguments, or a tool by its
# exact name with its exact arguments. For a role the tools on offer are searched by name and the arguments are laid
# into their schema by the names of its properties, so a new agent usually needs no change here.
class ScriptedCall(NamedTuple):
    tool: Offered
    arguments: Any
    """an object, or text for a tool that takes text"""


_NAMES = {
    "write": [
        "Write", "write", "write_file", "developer__write", "apply_patch", "developer__text_editor", "text_editor", "create",
        "editor", "Create",
    ],
    "shell": [
        "Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command", "developer__shell", "terminal",
        "ExecCommand", "execute", "run_command", "run_commands", "execute_command", "Execute",
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


class Playing:
    """One reply on its way out."""

    def __init__(self, dialect: Dialect, asked: Asked, reply: Reply, exchange: Exchange) -> None:
        self._dialect = dialect
        self._asked = asked
        self._reply = reply
        self._exchange = exchange
        self._reason = "stop"
        self._over = False

    async def play(self, steps: list[Step]) -> None:
        status = next((step for step in steps if "status" in step), None)
        if status is not None:
            self._exchange.status = status["status"]
            message = status.get("message", f"scripted status {status['status']}")
            body = self._dialect.failure(status["status"], message)
            await self._reply.whole(status["status"], body, status.get("headers"))
            return
        # Before the client can see anything of it: what it then finds here is never behind.
        self._exchange.status = 200
        usage = TokenUsage(**next((step["usage"] for step in steps if "usage" in step), {}))
        rendering = self._dialect.render(self._asked, usage)
        if self._asked.streamed:
            await self._reply.start(rendering.content_type, {"cache-control": "no-cache"})
        await self._piece(rendering.open())
        for step in steps:
            await self._step(rendering, step)
            if self._over:
                return
        if self._asked.streamed:
            await self._piece(rendering.close(self._reason))
            await self._reply.finish()
        else:
            await self._reply.whole(200, rendering.whole(self._reason))

    async def _step(self, rendering: Rendering, step: Step) -> None:
        match verb_of(step, VERBS):
            case "say":
                await self._text(rendering.say, step["say"], step)
            case "think":
                await self._text(rendering.think, step["think"], step)
            case "call":
                await self._call(rendering, step)
            case "end":
                self._reason = step["end"]
            case "wait":
                await self._wait(step["wait"])
            case "hang":
                await self._reply.gone.wait()
                raise ConnectionResetError("the client has gone")
            case "drop":
                await self._drop(step["drop"])
            case "raw":
                await self._piece(step["raw"].encode())
            case "fail":
                await self._piece(rendering.fail(step["fail"], step.get("message", "scripted failure")))
                await self._drop("end")

    async def _text(self, render: Callable[[str], bytes], text: Any, step: Step) -> None:
        for index, piece in enumerate(pieces(text, step.get("chunks", 1))):
            if index and "delay" in step:
                await self._wait(step["delay"])
            await self._piece(render(piece))

    async def _call(self, rendering: Rendering, step: Step) -> None:
        call = call_for(step["call"], step.get("args", {}), self._asked.tools)
        if call is None:
            offered = ", ".join(tool.name for tool in self._asked.tools) or "none"
            await self._piece(rendering.say(f"No tool for {step['call']!r} among: {offered}"))
            return
        self._reason = "tool"
        await self._piece(rendering.call(step.get("id", new_id("")), call.tool, call.arguments))

    async def _drop(self, how: str) -> None:
        self._over = True
        if how == "cut" or not self._asked.streamed:
            self._exchange.outcome = "cut"
            self._reply.cut()
        else:
            await self._reply.finish()

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._reply.gone.wait(), seconds)

    async def _piece(self, data: bytes) -> None:
        if self._asked.streamed:
            await self._reply.piece(data)
