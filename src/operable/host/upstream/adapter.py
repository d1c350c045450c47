"""Calls of the tools of one upstream MCP server, as it was registered and approved.

A tool that is different when it is called is refused, and so is a server that is not registered any more. Every side that
calls them uses this: the catalog, and the tasks of flows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from operable.host.upstream.registration import UpstreamServer, UpstreamServers
from operable.kernel.errors import Fail
from operable.offer.action import Action, Confirmation, Progress, Result
from operable.offer.result import ResultCollector
from operable.run.validator import self_contained

_ENTRY: dict[str, Any] = {
    "type": "object",
    "properties": {"type": {"type": "string"}},
    "required": ["type"],
}


class UpstreamAdapter:
    """The tools of one server. `timeout`: seconds that a call may take, where its caller has a limit."""

    def __init__(self, server: UpstreamServer, *, timeout: float | None = None) -> None:
        self._server, self._timeout = server, timeout
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
        from operable.host.upstream.connection import connection

        # A server of ours lives longer than a listing, and a question about a call longer than a registration.
        if not any(
            each.digest == self._server.digest for each in await asyncio.to_thread(UpstreamServers().all)
        ):
            name = self._server.name
            message = f"{name} is not registered any more as it was listed"
            raise Fail("authz", "UPSTREAM_CHANGED", message, target=f"mcp/{name}/{action.name}")
        live = connection(self._server)
        answer = await live.call(self._tools[action.name], arguments, progress, timeout=self._timeout)
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
