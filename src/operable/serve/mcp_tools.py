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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from operable.gate.approvals import Decision, OnAsk
from operable.gate.call import CallerId, GatedCall, SessionBounds
from operable.gate.call_gate import CallGate
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.offer.action import Action, Progress, Result, tool_name
from operable.offer.gate_call import call_gated, effect_of, gated_call
from operable.offer.result import remove
from operable.offer.words import described as described_action
from operable.run.validator import self_contained
from operable.serve.catalog import Operable

_KEPT_RESULTS = 50
_UPSTREAM = "mcp"
# Commands whose tools are asked for their schemas at the same time.
_AT_ONCE = 8
_CONFIRM = {
    "type": "boolean",
    "description": "says that you know that this cannot be undone; a person is asked all the same",
}
_CONFIRM_CODE = f"{_CONFIRM['description']}; with dry-run: lets the plan run code of the project"
_REST: dict[str, Any] = {
    "summary": {"type": "object"},
    "warnings": {"type": "array", "items": {"type": "object"}},
    "errors": {"type": "array", "items": {"type": "object"}},
    "truncated": {"type": "boolean", "description": "there is more: in the resource, or behind the cursor"},
    "more": {"type": "string", "description": "the resource that has all of it"},
}


def output_schema(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What a call gives whose results are these; None where their owner does not say what they are."""
    if entry is None:
        return None
    item = {name: value for name, value in entry.items() if name != "$defs"}
    shared = {"$defs": entry["$defs"]} if "$defs" in entry else {}
    return {
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "code": {"type": "string", "description": "OK, or why it failed"},
            "entries": {"type": "array", "items": item},
            **_REST,
        },
        "required": ["ok", "code", "entries", "truncated"],
        **shared,
    }


@dataclass(frozen=True, slots=True)
class McpTool:
    """One command of one operable, as a client sees it."""

    name: str
    operable: Operable
    action: Action
    schema: dict[str, Any]
    entry: dict[str, Any] | None = None  # the schema of one result, where its owner says it

    @property
    def guarded(self) -> bool:
        """Whether what it does cannot be undone, or is not known."""
        return is_guarded(self.action)

    @property
    def takes_consent(self) -> bool:
        """Whether `confirm` is an argument of ours. A tool of an upstream server may have one of its own."""
        return self.guarded and self.operable.kind != _UPSTREAM

    @property
    def description(self) -> str:
        said = (
            self.action.summary or f"{self.action.name} of {self.operable.name}: {self.operable.description}"
        )
        said = f"{said} {self.action.assurance}".strip()
        return f"{said} Needs the user's confirmation." if self.guarded else said


def is_guarded(action: Action) -> bool:
    """Whether what a command does cannot be undone, or is not known."""
    return action.risk in ("destructive", "unknown")


class CommandFilter(NamedTuple):
    """Which commands are served: patterns of `KIND/NAME/ACTION`, as in rules. No `only` means all."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def takes(self, operable: Operable, action: Action) -> bool:
        call = f"{operable.kind}/{operable.name}/{action.name.replace(' ', '/')}"
        taken = not self.only or any(fnmatchcase(call, each) for each in self.only)
        return taken and not any(fnmatchcase(call, each) for each in self.without)


_EVERYTHING = CommandFilter()


class Toolbox:
    """The tools of one server. `enabled`: destructive ones may also be called; `read_only`: nothing that changes anything.

    `workspace` is the folder whose audit chain has the calls. `own` are the tools of the server itself: their names are
    reserved, and no tool of the catalog gets one. `bounds` are those of a session that calls; its own tools stay within.
    """

    def __init__(
        self,
        operables: Iterable[Operable],
        *,
        gate: CallGate,
        workspace: str,
        enabled: bool = False,
        read_only: bool = False,
        commands: CommandFilter = _EVERYTHING,
        own: Iterable[Operable] = (),
        results: Results | None = None,
        bounds: SessionBounds | None = None,
    ) -> None:
        self._enabled, self._read_only = enabled, read_only
        self.gate, self._workspace = gate, workspace
        self._bounds = bounds
        self.results = Results() if results is None else results
        own = list(own)
        self._own = {action.name for each in own for action in each.actions}
        self._named = dict(_names(own, operables, commands))
        self._made: dict[str, McpTool] = {}
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def tools(self) -> dict[str, McpTool]:
        """All that may be called, by name."""
        made = await asyncio.gather(*map(self._tool, self._named))
        return {tool.name: tool for tool in made if self._offers(tool.name, tool.action)}

    def listed(self) -> list[tuple[str, Operable, Action]]:
        """The same, without asking the tools for their schemas."""
        return [(name, *found) for name, found in self._named.items() if self._offers(name, found[1])]

    def _offers(self, name: str, action: Action) -> bool:
        if self._read_only:
            return action.read_only
        return self._enabled or name in self._own or not is_guarded(action)

    async def _tool(self, name: str) -> McpTool:
        if name not in self._made:
            async with self._turn:
                self._made[name] = await _made(name, *self._named[name])
        return self._made[name]

    async def tool(self, name: str) -> McpTool:
        """One by its name. Raises Fail UNKNOWN_TOOL if it does not exist, READ_ONLY_SERVER, DESTRUCTIVE_DISABLED."""
        if name not in self._named:
            raise Fail("not_found", "UNKNOWN_TOOL", f"there is no tool {name[:100]!r}", target=name[:100])
        tool = await self._tool(name)
        if self._offers(name, tool.action):
            return tool
        if self._read_only:
            raise Fail(
                "authz",
                "READ_ONLY_SERVER",
                f"{name} may change something, and this server only reads",
                target=name,
                hint="start it without --read-only, or use a token with the scope prompt",
            )
        raise Fail(
            "authz",
            "DESTRUCTIVE_DISABLED",
            f"{name} cannot be undone and is off in this server",
            target=name,
            hint="start it with: operable mcp --allow-destructive",
        )

    def call_of(self, tool: McpTool, arguments: Mapping[str, Any], caller: CallerId) -> GatedCall:
        """The call for the gate. What a model says for the user is not part of it."""
        adapter = tool.operable.adapter
        assert adapter is not None  # noqa: S101 - the constructor has left out what has none
        given = {
            name: value for name, value in arguments.items() if name != "confirm" or not tool.takes_consent
        }
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
            bounds=None if tool.name in self._own else self._bounds,
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
        result = await call_gated(
            self.gate, call, tool.action, adapter, progress=progress, on_ask=on_ask, answer=answer
        )
        return require_promised(tool, result)


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


def described(tool: McpTool) -> dict[str, Any]:
    """A tool as clients see it, in the words of the protocol."""
    schema = output_schema(tool.entry)
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        **({} if schema is None else {"outputSchema": schema}),
        "annotations": {
            "readOnlyHint": tool.action.read_only,
            "destructiveHint": tool.guarded,
            "idempotentHint": tool.action.idempotent,
        },
    }


def structured(result: Result, uri: str | None) -> dict[str, Any]:
    """What a client gets, under `output_schema`."""
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


def structured_failure(failure: Fail) -> dict[str, Any]:
    """The same of a call that did not run."""
    error = {name: value for name, value in failure.event().items() if name != "type"}
    return {"ok": False, "code": failure.code, "entries": [], "truncated": False, "errors": [error]}


def require_promised(tool: McpTool, result: Result) -> Result:
    """The result, or the same as a failure if it is not what its tool declares: clients refuse what they were not promised.

    The call has been made; what it gave is kept.
    """
    if not result.ok or tool.entry is None:
        return result
    import jsonschema_rs

    validator = jsonschema_rs.validator_for(tool.entry, retriever=self_contained)
    wrong = next((index for index, each in enumerate(result.entries) if not validator.is_valid(each)), None)
    if wrong is None:
        return result
    message = f"the call has ended, but its result {wrong} is not what {tool.name} declares"
    error = {"code": "RESULT_NOT_AS_DECLARED", "category": "internal", "message": message}
    return replace(result, ok=False, code="RESULT_NOT_AS_DECLARED", errors=[*result.errors, error])


def _names(
    own: Iterable[Operable], operables: Iterable[Operable], commands: CommandFilter
) -> Iterator[tuple[str, tuple[Operable, Action]]]:
    """Each command with its name. Those of the server itself come first, and are called as they are called."""
    taken: set[str] = set()
    for operable in own:
        for action in operable.actions:
            if commands.takes(operable, action):
                yield action.name, (operable, action)
            taken.add(action.name)
    # The names of upstream servers are their own words: whatever else there is gets its name first.
    for operable in sorted(operables, key=lambda each: each.kind == _UPSTREAM):
        for action in operable.actions if operable.adapter is not None else ():
            name = tool_name(operable.name, action.name, kind=operable.kind, taken=taken)
            taken.add(name)  # also of what is not served: a filter renames nothing
            if commands.takes(operable, action):
                yield name, (operable, action)


async def _made(name: str, operable: Operable, action: Action) -> McpTool:
    assert operable.adapter is not None  # noqa: S101 - the constructor has left out what has none
    action, schema = await described_action(operable.adapter, action, operable.actions)
    if action.risk == "destructive" and operable.kind != _UPSTREAM:
        confirm = _CONFIRM | ({"description": _CONFIRM_CODE} if action.plan_consent else {})
        schema = {**schema, "properties": {**schema["properties"], "confirm": confirm}}
    return McpTool(name, operable, action, schema, operable.adapter.entry_schema(action))
