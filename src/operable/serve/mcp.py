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
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from operable import __version__
from operable.gate.approvals import TIMEOUT, Ask, Decision, OnAsk
from operable.gate.call import CallerId, GatedCall
from operable.gate.policy.pattern import ASK
from operable.kernel.errors import Fail
from operable.kernel.visible import spelt_out
from operable.offer.action import Result, check_arguments
from operable.serve.mcp_search import (
    CALL,
    SEARCH_INSTRUCTIONS,
    SEARCH_NAMES,
    SEARCH_TOOLS,
    check_search,
    look,
)
from operable.serve.mcp_tools import Toolbox, described, structured, structured_failure

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


class ClientAccess(NamedTuple):
    """What a client may reach: its tools, the identity under which it calls, and whether what its person says counts."""

    toolbox: Toolbox
    caller: CallerId
    may_ask: bool = True
    place: Callable[[], AbstractAsyncContextManager[None]] = nullcontext  # of one call; it may end it


FindAccess = Callable[[Any], Awaitable[ClientAccess]]
"""From the context of a request."""


def server(toolbox: Toolbox, *, by_search: bool = False) -> Server[Any]:
    """A server for one or more connections, all of which reach the same."""

    async def access(ctx: Any) -> ClientAccess:
        return ClientAccess(toolbox, _caller(ctx))

    return server_for(access, by_search=by_search)


def server_for(access: FindAccess, *, by_search: bool = False) -> Server[Any]:
    """A server whose clients reach different things. `by_search`: three tools lead to all others."""
    from mcp.server.lowlevel import Server

    handlers = _Handlers(access, by_search=by_search)
    return Server(
        "operable",
        version=__version__,
        instructions=f"{_INSTRUCTIONS} {SEARCH_INSTRUCTIONS}" if by_search else _INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
    )


class _Handlers:
    def __init__(self, access: FindAccess, *, by_search: bool) -> None:
        import mcp_types

        self._access = access
        self._by_search = by_search
        self._types = mcp_types
        self._seals: OrderedDict[str, float] = OrderedDict()  # of open questions -> until when they count

    async def list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        toolbox = (await self._access(ctx)).toolbox
        if self._by_search:
            tools = [self._types.Tool.model_validate(each) for each in SEARCH_TOOLS]
        else:
            tools = [self._types.Tool.model_validate(described(t)) for t in (await toolbox.tools()).values()]
        start = self._position(params, len(tools))
        more = str(start + _PAGE) if start + _PAGE < len(tools) else None
        return self._types.ListToolsResult(tools=tools[start : start + _PAGE], next_cursor=more)

    async def call_tool(
        self, ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        access = await self._access(ctx)
        name, arguments = params.name, params.arguments or {}
        try:
            if self._by_search:
                if name not in SEARCH_NAMES:
                    raise self._refused(f"there is no tool {name[:100]!r}; call {CALL} takes its name")
                check_search(name, arguments)
                if name != CALL:
                    return self._answer(await look(access.toolbox, name, arguments), None, is_error=False)
                name, arguments = arguments["name"], arguments.get("arguments") or {}
            return await self._called(ctx, params, access, name, arguments)
        except Fail as failure:
            if failure.code == "UNKNOWN_TOOL" and not self._by_search:
                raise self._refused(failure.message) from failure
            return self._failed(failure)

    async def _called(
        self,
        ctx: Any,
        params: types.CallToolRequestParams,
        access: ClientAccess,
        name: str,
        arguments: dict[str, Any],
    ) -> types.CallToolResult | types.InputRequiredResult:
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        toolbox = access.toolbox
        tool = await toolbox.tool(name)
        # The client is not asked about a call that cannot succeed.
        check_arguments(tool.name, tool.schema, arguments)
        call = toolbox.call_of(tool, arguments, access.caller)
        on_ask: OnAsk | None = None
        answer: Decision | None = None
        can_ask = access.may_ask and _can_ask(ctx.session.client_capabilities)
        if can_ask and toolbox.gate.judge(call).effect == ASK:
            if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                answer = self._answered(params, call)
                if answer is None:
                    return self._question(call)
            else:
                on_ask = partial(self._elicited, ctx, call)
        calling = toolbox.call(tool, call, progress=ctx.session.report_progress, on_ask=on_ask, answer=answer)
        async with access.place():
            result = await _cancelled_once(calling)
        uri = toolbox.results.keep(result.spool) if result.spool is not None else None
        return self._answer(structured(result, uri), uri, is_error=not result.ok)

    def _refused(self, message: str) -> Exception:
        """An error of the protocol: the request itself cannot be meant."""
        from mcp.shared.exceptions import MCPError

        return MCPError(self._types.INVALID_PARAMS, message)

    def _position(self, params: Any, count: int) -> int:
        cursor = getattr(params, "cursor", None)
        if cursor is None:
            return 0
        if isinstance(cursor, str) and cursor.isascii() and cursor.isdecimal() and len(cursor) < 10:
            start = int(cursor)
            if 0 < start < count and start % _PAGE == 0:
                return start
        raise self._refused("this cursor is not one of ours, or the list has changed: list again")

    async def list_resources(self, ctx: Any, _: Any) -> types.ListResourcesResult:
        results = (await self._access(ctx)).toolbox.results
        found = [
            self._types.Resource(
                name=uri.rpartition("/")[2], uri=uri, mime_type="application/jsonl", size=size
            )
            for uri, size in results.all().items()
        ]
        return self._types.ListResourcesResult(resources=found)

    async def read_resource(self, ctx: Any, params: Any) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = (await self._access(ctx)).toolbox.results.read(uri)
        except Fail as failure:
            raise self._refused(failure.message) from failure
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

    def _answer(self, content: dict[str, Any], uri: str | None, *, is_error: bool) -> types.CallToolResult:
        text = json.dumps(content, ensure_ascii=False)
        parts: list[Any] = [self._types.TextContent(text=text)]
        if uri is not None:
            name = "the whole result"
            parts.append(self._types.ResourceLink(name=name, uri=uri, mime_type="application/jsonl"))
        return self._types.CallToolResult(content=parts, structured_content=content, is_error=is_error)

    def _failed(self, failure: Fail) -> types.CallToolResult:
        return self._answer(structured_failure(failure), None, is_error=True)


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
