"""The MCP server, with the official SDK: tools from a `Toolbox`, progress, elicitation, resources; over stdio or HTTP.

Every call passes the gate. What the rules leave to people is asked in the way of the client's protocol version: until
2025-11-25 by a request of ours while the call waits, beside the queue that every process can answer; from 2026-07-28 by an
answer that asks for input, after which the client calls again. That second call must be the same as the first, and the
answer counts once. A client that cannot ask waits for the queue. A cancelled call ends its process group before it is
gone. Over HTTP only a loopback address is served, and only to clients that have the token.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from operable import __version__
from operable.gate.approvals import TIMEOUT, Ask, Decision, OnAsk
from operable.gate.call import CallerId, GatedCall
from operable.gate.policy.pattern import ASK
from operable.kernel.errors import Fail
from operable.kernel.visible import spelt_out
from operable.offer.action import Result, check_arguments
from operable.serve.mcp_tools import (
    OUTPUT_SCHEMA,
    McpTool,
    Toolbox,
    structured,
)

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.lowlevel import Server

_PAGE = 200
_SEALS = 1000
_AT_CLIENT = "the person at the client"
_INSTRUCTIONS = (
    "Every tool is one command of a program on this machine. Results are in structured content; "
    "`truncated` says that there is more, in the linked resource or behind summary.next_cursor."
)
_QUESTION = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}


def server(toolbox: Toolbox) -> Server[Any]:
    """A server for one or more connections."""
    from mcp.server.lowlevel import Server

    handlers = _Handlers(toolbox)
    return Server(
        "operable",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
    )


class _Handlers:
    def __init__(self, toolbox: Toolbox) -> None:
        import mcp_types

        self._toolbox = toolbox
        self._types = mcp_types
        self._seals: OrderedDict[str, float] = OrderedDict()  # of open questions -> until when they count

    async def list_tools(self, _: Any, params: Any) -> types.ListToolsResult:
        tools = list((await self._toolbox.tools()).values())
        start = _position(params)
        page = [self._described(tool) for tool in tools[start : start + _PAGE]]
        more = str(start + _PAGE) if start + _PAGE < len(tools) else None
        return self._types.ListToolsResult(tools=page, next_cursor=more)

    async def call_tool(
        self, ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        arguments = params.arguments or {}
        try:
            tool = await self._toolbox.tool(params.name)
            check_arguments(
                tool.name, tool.schema, arguments
            )  # the client is not asked about a call that cannot succeed
            call = self._toolbox.call_of(tool, arguments, _caller(ctx))
            on_ask: OnAsk | None = None
            answer: Decision | None = None
            if self._toolbox.gate.judge(call).effect == ASK and _can_ask(ctx.session.client_capabilities):
                if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    answer = self._answered(params, call)
                    if answer is None:
                        return self._question(call)
                else:
                    on_ask = partial(self._elicited, ctx, call)
            calling = self._toolbox.call(
                tool, call, progress=ctx.session.report_progress, on_ask=on_ask, answer=answer
            )
            result = await _cancelled_once(calling)
        except Fail as failure:
            return self._failed(failure)
        uri = self._toolbox.results.keep(result.spool) if result.spool is not None else None
        return self._answer(structured(result, uri), uri, is_error=not result.ok)

    async def list_resources(self, _: Any, __: Any) -> types.ListResourcesResult:
        found = [
            self._types.Resource(
                name=uri.rpartition("/")[2], uri=uri, mime_type="application/jsonl", size=size
            )
            for uri, size in self._toolbox.results.all().items()
        ]
        return self._types.ListResourcesResult(resources=found)

    async def read_resource(self, _: Any, params: Any) -> types.ReadResourceResult:
        from mcp.shared.exceptions import MCPError

        uri = str(params.uri)
        try:
            text = self._toolbox.results.read(uri)
        except Fail as failure:
            raise MCPError(self._types.INVALID_PARAMS, failure.message) from failure
        contents = self._types.TextResourceContents(uri=uri, mime_type="application/jsonl", text=text)
        return self._types.ReadResourceResult(contents=[contents])

    def _question(self, call: GatedCall) -> types.InputRequiredResult:
        """The question as an answer; the client calls again with what its person said, and with our seal."""
        seal = f"{call.digest} {secrets.token_hex(16)}"
        while len(self._seals) >= _SEALS:
            self._seals.popitem(last=False)
        self._seals[seal] = time.monotonic() + TIMEOUT
        form = self._types.ElicitRequestFormParams(message=_worded(call), requested_schema=_QUESTION)
        request = self._types.ElicitRequest(params=form)
        return self._types.InputRequiredResult(input_requests={"confirm": request}, request_state=seal)

    def _answered(self, params: types.CallToolRequestParams, call: GatedCall) -> Decision | None:
        """What the person at the client said to exactly this call, once; None: it was not asked yet."""
        answer = (params.input_responses or {}).get("confirm")
        if answer is None:
            return None
        seal = params.request_state or ""
        is_ours = self._seals.pop(seal, 0.0) > time.monotonic() and seal.partition(" ")[0] == call.digest
        reason = "" if is_ours else "the answer is not to a question about this call, or was used before"
        return Decision(is_ours and _is_yes(answer), reason, _AT_CLIENT, digest=call.digest)

    async def _elicited(self, ctx: Any, call: GatedCall, _: Ask) -> Decision:
        """What the person at the client says while the call waits, whatever the model says for it."""
        from mcp.shared.exceptions import MCPError

        try:
            answer = await ctx.session.elicit_form(_worded(call), _QUESTION, ctx.request_id)
        except (MCPError, ValueError):  # it says that it can ask, and does not, or answers something else
            return Decision(False, "the client did not ask", _AT_CLIENT, digest=call.digest)
        return Decision(_is_yes(answer), "", _AT_CLIENT, digest=call.digest)

    def _described(self, tool: McpTool) -> types.Tool:
        action = tool.action
        return self._types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.schema,
            output_schema=OUTPUT_SCHEMA,
            annotations=self._types.ToolAnnotations(
                read_only_hint=action.read_only,
                destructive_hint=tool.guarded,
                idempotent_hint=action.idempotent,
            ),
        )

    def _answer(self, content: dict[str, Any], uri: str | None, *, is_error: bool) -> types.CallToolResult:
        text = json.dumps(content, ensure_ascii=False)
        parts: list[Any] = [self._types.TextContent(text=text)]
        if uri is not None:
            name = "the whole result"
            parts.append(self._types.ResourceLink(name=name, uri=uri, mime_type="application/jsonl"))
        return self._types.CallToolResult(content=parts, structured_content=content, is_error=is_error)

    def _failed(self, failure: Fail) -> types.CallToolResult:
        error = {name: value for name, value in failure.event().items() if name != "type"}
        content = {"ok": False, "code": failure.code, "entries": [], "truncated": False, "errors": [error]}
        return self._answer(content, None, is_error=True)


async def _cancelled_once(calling: Coroutine[Any, Any, Result]) -> Result:
    """The result of a call. A cancellation reaches it once: it then ends what it started, politely first, and is waited for.

    The SDK's task groups repeat a cancellation until the task is gone, and a second one means SIGKILL (`operable.run`).
    After that a tool could no longer end its own processes.
    """
    import asyncio

    from anyio import CancelScope

    task = asyncio.ensure_future(calling)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with CancelScope(shield=True):
            task.cancel()
            await asyncio.wait([task])
        raise


def _position(params: Any) -> int:
    cursor = getattr(params, "cursor", None)
    return int(cursor) if isinstance(cursor, str) and cursor.isdecimal() and len(cursor) < 10 else 0


def _can_ask(client: types.ClientCapabilities | None) -> bool:
    """Whether a client can show a form. One that says nothing of forms has them, unless it can only open web pages."""
    way = client.elicitation if client is not None else None
    return way is not None and (way.form is not None or way.url is None)


def _is_yes(answer: Any) -> bool:
    content: Any = getattr(answer, "content", None) or {}
    return getattr(answer, "action", None) == "accept" and content.get("confirm") is True


def _caller(ctx: Any) -> CallerId:
    """By the name that the client gives itself: rules about it restrict, and prove nothing."""
    params = ctx.session.client_params
    return CallerId("mcp", "" if params is None else str(params.client_info.name))


def _worded(call: GatedCall) -> str:
    name = f"{call.name} {call.action}"
    return f"Run {name}? {call.consequence} Arguments: {_shown(call.arguments)}"


def _shown(arguments: Mapping[str, Any]) -> str:
    """The arguments for a person to judge: letters that cannot be seen are spelt out, what is left out is said to be.

    Secrets are not shown.
    """
    from operable.kernel.redact import redact_text

    return spelt_out(redact_text(json.dumps(arguments, ensure_ascii=False)))
