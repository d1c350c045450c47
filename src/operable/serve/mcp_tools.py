"""The catalog as MCP tools: one per command, with a strict schema and annotations; every call passes the gate.

Destructive commands, those that need the user's confirmation, and agents are off unless they were enabled. Whether a call
runs is for the rules (`operable.gate`): without a policy file a person is asked about each call of these, at the client
where it can ask one (elicitation), else in the queue of `operable inbox list`. The argument `confirm` is what a model
says, and nothing more. With `read_only` nothing else is offered. Results are structured; what is too long for a model is
one resource away.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from operable.gate.approvals import Decision, OnAsk
from operable.gate.call import CallerId, GatedCall
from operable.gate.call_gate import CallGate
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.offer.action import Action, Progress, Result, tool_name, with_any_words
from operable.offer.gate_call import call_gated, effect_of, gated_call
from operable.offer.result import remove
from operable.offer.words import takes_any_words
from operable.serve.catalog import Operable

_KEPT_RESULTS = 50
# Commands whose tools are asked for their schemas at the same time.
_AT_ONCE = 8
_CONFIRM = {
    "type": "boolean",
    "description": "says that you know that this cannot be undone; a person is asked all the same",
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
        """Whether what it does cannot be undone, or is not known."""
        return self.action.risk in ("destructive", "unknown")

    @property
    def description(self) -> str:
        said = (
            self.action.summary or f"{self.action.name} of {self.operable.name}: {self.operable.description}"
        )
        said = f"{said} {self.action.assurance}".strip()
        return f"{said} Needs the user's confirmation." if self.guarded else said


class Toolbox:
    """The tools of one server. `enabled`: destructive ones may also be called; `read_only`: nothing that changes anything.

    `workspace` is the folder whose audit chain has the calls.
    """

    def __init__(
        self,
        operables: Iterable[Operable],
        *,
        gate: CallGate,
        workspace: str,
        enabled: bool = False,
        read_only: bool = False,
    ) -> None:
        self._operables = [each for each in operables if each.adapter is not None]
        self._enabled, self._read_only = enabled, read_only
        self.gate, self._workspace = gate, workspace
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
        return {name: tool for name, tool in self._tools.items() if self._offers(tool)}

    def _offers(self, tool: McpTool) -> bool:
        if self._read_only:
            return tool.action.read_only
        return self._enabled or not tool.guarded

    async def tool(self, name: str) -> McpTool:
        """One by its name; Raises Fail if the tool does not exist or is off."""
        tools = await self.tools()
        if name in tools:
            return tools[name]
        if name in (self._tools or {}) and self._read_only:
            raise Fail(
                "authz",
                "READ_ONLY_SERVER",
                f"{name} may change something, and this server only reads",
                target=name,
                hint="start it without --read-only",
            )
        if name in (self._tools or {}):
            raise Fail(
                "authz",
                "DESTRUCTIVE_DISABLED",
                f"{name} cannot be undone and is off in this server",
                target=name,
                hint="start it with: operable mcp --allow-destructive",
            )
        raise Fail("not_found", "UNKNOWN_TOOL", f"there is no tool {name[:100]!r}", target=name[:100])

    def call_of(self, tool: McpTool, arguments: Mapping[str, Any], caller: CallerId) -> GatedCall:
        """The call for the gate. What a model says for the user is not part of it."""
        adapter = tool.operable.adapter
        assert adapter is not None  # noqa: S101 - the constructor has left out what has none
        given = {name: value for name, value in arguments.items() if name != "confirm" or not tool.guarded}
        said = arguments.get("confirm") is True
        return gated_call(
            caller,
            kind=tool.operable.kind,
            name=tool.operable.name,
            action=tool.action,
            adapter=adapter,
            arguments=given,
            workspace=self._workspace,
            effect=effect_of(tool.action, given, runs_code=said),
        )

    async def call(
        self,
        tool: McpTool,
        call: GatedCall,
        *,
        progress: Progress,
        on_ask: OnAsk | None = None,
        answer: Decision | None = None,
    ) -> Result:
        """Call it, if the gate lets it."""
        adapter = tool.operable.adapter
        assert adapter is not None  # noqa: S101 - the constructor has left out what has none
        return await call_gated(
            self.gate, call, tool.action, adapter, progress=progress, on_ask=on_ask, answer=answer
        )


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
    if action.risk == "destructive":
        confirm = _CONFIRM | ({"description": _CONFIRM_CODE} if action.plan_consent else {})
        schema = {**schema, "properties": {**schema["properties"], "confirm": confirm}}
    return McpTool(name, operable, action, schema)
