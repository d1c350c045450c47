"""The catalog as MCP tools: one per command, with a strict schema, annotations, and a guard before what is destructive.

Destructive commands, and those that need the user's confirmation, are off unless they were enabled; then they need an
approval: from the person at the client (elicitation) where the client can ask one, else the argument `confirm: true`. A
dry run needs none, unless it runs code of the project. Results are structured; what is too long for a model is one
resource away.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.offer.action import Action, Progress, Result, check_arguments, tool_name, with_any_words
from operable.offer.result import remove
from operable.offer.words import takes_any_words
from operable.serve.catalog import Operable

_KEPT_RESULTS = 50
# Commands whose tools are asked for their schemas at the same time.
_AT_ONCE = 8
_CONFIRM = {
    "type": "boolean",
    "description": "true when the user has agreed to this very call; it cannot be undone",
}
_CONFIRM_CODE = f"{_CONFIRM['description']}; with dry-run: lets the plan run code of the project"
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean"},
        "code": {"type": "string", "description": "OK, or why it failed"},
        "entries": {"type": "array", "items": {}, "description": "the results"},
        "summary": {"type": "object"},
        "warnings": {"type": "array", "items": {"type": "object"}},
        "errors": {"type": "array", "items": {"type": "object"}},
        "truncated": {
            "type": "boolean",
            "description": "there is more: see the resource, or go on with the cursor",
        },
        "more": {"type": "string", "description": "the resource that has all of it"},
    },
    "required": ["ok", "code", "entries", "truncated"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class McpTool:
    """One command of one operable, as a client sees it."""

    name: str
    operable: Operable
    action: Action
    schema: dict[str, Any]

    @property
    def guarded(self) -> bool:
        return self.action.destructive or self.action.confirm

    @property
    def description(self) -> str:
        said = (
            self.action.summary or f"{self.action.name} of {self.operable.name}: {self.operable.description}"
        )
        said = f"{said} {self.action.assurance}".strip()
        return f"{said} Needs the user's confirmation." if self.guarded else said


class Toolbox:
    """The tools of one server. `enabled`: destructive ones may also be called."""

    def __init__(self, operables: Iterable[Operable], *, enabled: bool = False) -> None:
        self._operables = [each for each in operables if each.adapter is not None]
        self._enabled = enabled
        self._tools: dict[str, McpTool] | None = None
        self.results = Results()

    async def tools(self) -> dict[str, McpTool]:
        """All that may be called, by name."""
        if self._tools is None:
            named: dict[str, tuple[Operable, Action]] = {}
            for operable in self._operables:
                for action in operable.actions:
                    name = tool_name(operable.name, action.name, kind=operable.kind, taken=named)
                    named[name] = operable, action
            turn = asyncio.Semaphore(_AT_ONCE)

            async def made(name: str) -> McpTool:
                async with turn:
                    return await _made(name, *named[name])

            self._tools = dict(zip(named, await asyncio.gather(*map(made, named)), strict=True))
        return {name: tool for name, tool in self._tools.items() if self._enabled or not tool.guarded}

    async def tool(self, name: str) -> McpTool:
        """One by its name; Raises Fail if the tool does not exist or is off."""
        tools = await self.tools()
        if name in tools:
            return tools[name]
        if name in (self._tools or {}):
            raise Fail(
                "authz",
                "DESTRUCTIVE_DISABLED",
                f"{name} cannot be undone and is off in this server",
                target=name,
                hint="start it with: operable mcp --allow-destructive",
            )
        raise Fail("not_found", "UNKNOWN_TOOL", f"there is no tool {name[:100]!r}", target=name[:100])

    async def call(
        self, tool: McpTool, arguments: Mapping[str, Any], *, confirmed: bool, progress: Progress
    ) -> Result:
        """Call it, when the arguments are right and what needs an approval has one."""
        check_arguments(tool.name, tool.schema, arguments)
        if needs_yes(tool, arguments) and not confirmed:
            raise Fail(
                "usage",
                "CONFIRMATION_REQUIRED",
                f"{tool.name} needs the user's confirmation; nothing was run",
                target=tool.name,
                hint="ask the user, then call again with confirm: true",
            )
        adapter = tool.operable.adapter
        assert adapter is not None  # noqa: S101 - the constructor has left out what has none
        given = {name: value for name, value in arguments.items() if name != "confirm" or not tool.guarded}
        return await adapter.call(tool.action, given, confirmed=confirmed, progress=progress)


class Results:
    """Results that were too long: files, a limited number of them, gone with the server."""

    def __init__(self) -> None:
        self._paths: OrderedDict[str, str] = OrderedDict()

    def keep(self, path: str) -> str:
        """The address of a result."""
        uri = f"operable://results/{hashlib.sha256(os.urandom(32)).hexdigest()[:32]}"
        self._paths[uri] = path
        while len(self._paths) > _KEPT_RESULTS:
            remove(self._paths.popitem(last=False)[1])
        return uri

    def all(self) -> dict[str, int]:
        """Their addresses and sizes."""
        there = {uri: path for uri, path in self._paths.items() if os.path.isfile(path)}
        return {uri: os.path.getsize(path) for uri, path in there.items()}

    def read(self, uri: str) -> str:
        try:
            with open(self._paths[uri], encoding="utf-8", errors="replace") as file:
                return file.read()
        except (KeyError, OSError) as problem:
            raise Fail(
                "not_found", "UNKNOWN_RESOURCE", "there is no such result, or it is gone", target=uri[:200]
            ) from problem

    def close(self) -> None:
        """Remove them all."""
        while self._paths:
            remove(self._paths.popitem()[1])


def needs_yes(tool: McpTool, arguments: Mapping[str, Any]) -> bool:
    """Whether the user has to agree to this call."""
    return tool.guarded and not (arguments.get("dry-run") is True and not _runs_code(tool, arguments))


def consequence(tool: McpTool, arguments: Mapping[str, Any]) -> str:
    """What the person who is asked has to know about the call."""
    code = f"It runs code of the project: {tool.action.project_code}." if tool.action.project_code else ""
    if arguments.get("dry-run") is True:
        return code
    return f"It cannot be undone. {code}".strip()


def _runs_code(tool: McpTool, arguments: Mapping[str, Any]) -> bool:
    """Whether a dry run may run code of the project: it always does, or it could and the caller asks for that."""
    consent = tool.action.plan_consent
    return consent == "required" or (consent == "optional" and arguments.get("confirm") is True)


def structured(result: Result, uri: str | None) -> dict[str, Any]:
    """What a client gets, under OUTPUT_SCHEMA."""
    found: dict[str, Any] = {
        "ok": result.ok,
        "code": result.code,
        "entries": result.entries,
        "summary": result.summary,
        "warnings": result.warnings,
        "errors": result.errors,
        "truncated": result.truncated or result.summary.get("truncated") is True,
    }
    return found if uri is None else {**found, "more": uri}


async def _made(name: str, operable: Operable, action: Action) -> McpTool:
    assert operable.adapter is not None  # noqa: S101 - the constructor has left out what has none
    schema = await operable.adapter.input_schema(action)
    if takes_any_words(schema):
        action = with_any_words(action, operable.actions)
    if action.destructive or action.confirm:
        confirm = _CONFIRM | ({"description": _CONFIRM_CODE} if action.plan_consent else {})
        schema = {**schema, "properties": {**schema["properties"], "confirm": confirm}}
    return McpTool(name, operable, action, schema)
