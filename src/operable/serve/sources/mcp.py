"""Upstream MCP servers (`operable upstream add`): each is one operable, with a command per approved tool.

Nothing is started to list them: what the user approved is listed, and a tool that is different when it is called is
refused. Whether a tool only reads is its server's word, which counts only if the user said so (`--trust-hints`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

from operable.kernel.errors import Fail
from operable.offer.action import Action, Confirmation, Progress, Result
from operable.offer.result import ResultCollector
from operable.run.validator import self_contained
from operable.serve.catalog import Operable, OperableSource
from operable.serve.upstream.registration import UpstreamServer, UpstreamServers

_ENTRY: dict[str, Any] = {
    "type": "object",
    "properties": {"type": {"type": "string"}},
    "required": ["type"],
}


class UpstreamAdapter:
    """The tools of one server."""

    def __init__(self, server: UpstreamServer) -> None:
        self._server = server
        self._tools = {tool.name: tool for tool in server.tools}

    async def input_schema(self, action: Action) -> dict[str, Any]:
        import jsonschema_rs

        schema = {"properties": {}, "required": [], **self._tools[action.name].schema, "type": "object"}
        try:
            jsonschema_rs.validator_for(schema, retriever=self_contained)
        except ValueError:
            return {"type": "object", "properties": {}, "required": []}
        return schema

    def entry_schema(self, action: Action) -> dict[str, Any] | None:
        del action  # what a server declares of its results would have to be believed
        return _ENTRY

    def program_line(self, action: Action, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        del action, arguments
        return ()

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: Confirmation, progress: Progress
    ) -> Result:
        del confirmed
        from operable.serve.upstream.connection import connection

        # A server of ours lives longer than a listing, and a question about a call longer than a registration.
        if not any(
            each.digest == self._server.digest for each in await asyncio.to_thread(UpstreamServers().all)
        ):
            name = self._server.name
            message = f"{name} is not registered any more as it was listed"
            raise Fail("authz", "UPSTREAM_CHANGED", message, target=f"mcp/{name}/{action.name}")
        live = connection(self._server)
        answer = await live.call(self._tools[action.name], arguments, progress)
        entries = [part.model_dump(by_alias=True, mode="json", exclude_none=True) for part in answer.content]
        if answer.structured_content is not None:
            entries.insert(0, {"type": "structured", "content": answer.structured_content})
        with ResultCollector() as collector:
            for entry in entries:
                _require_json(entry)
                collector.entry(live.known.value(entry))
            if not answer.is_error:
                return collector.result({})
            return collector.result({}, code="UPSTREAM_TOOL_FAILED")


def _require_json(value: Any) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as problem:
        text = "the result is not JSON: it has NaN, an infinity, or no end"
        raise Fail("internal", "UPSTREAM_RESULT_INVALID", text) from problem


def find(workspace: str) -> Iterator[Operable]:
    """Every registered server; none of them belongs to a workspace."""
    del workspace
    for server in UpstreamServers().all():
        yield Operable(
            "mcp",
            server.name,
            description=f"the MCP server {server.name}",
            place=server.url or server.argv[0],
            actions=tuple(map(server.action, server.tools)),
            adapter=UpstreamAdapter(server),
        )


SOURCE = OperableSource("mcp", "upstream MCP servers", find)
