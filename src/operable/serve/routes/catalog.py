"""The catalog: everything operable on this machine, and calls of it, under the gate."""

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from starlette.responses import StreamingResponse

from operable.kernel.errors import Fail
from operable.offer.action import Action
from operable.offer.aoi import AoiAdapter
from operable.offer.words import PLAN
from operable.serve.catalog import Operable, recent_catalog
from operable.serve.catalog_call import CallResult, catalog_call, find_operable
from operable.serve.daemon import Daemon
from operable.serve.http.access.tokens import SESSION
from operable.serve.http.caller import caller_id
from operable.serve.http.route import CALL_BODY_LIMIT, HttpRoute, NoQuery, RouteCall
from operable.serve.http.sse import message
from operable.serve.session.delegation import denied


class CatalogQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`q` are words, `kind` one kind of things."""

    q: str = ""
    kind: Literal["tool", "wrap", "app", "agent", "flow", "mcp"] | None = None


class ActionView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One command of a thing. `inputSchema` is there when one thing is asked for.

    `operands` are the arguments that come behind `--` on the command line, in their order.
    """

    name: str
    summary: str
    risk: str
    assurance: str = ""
    dry_run: bool = False
    input_schema: dict[str, Any] | None = None
    operands: list[str] = []


class OperableView(msgspec.Struct, frozen=True, rename="camel"):
    """One thing. `health` says whether it can be used now, `problem` why not.

    `start` is there when one agent is asked for that can be started: the JSON Schema of the body of `POST /sessions/agent`,
    with what the manifest of this agent offers and the caller may choose.
    """

    kind: str
    name: str
    version: str
    description: str
    risk: str
    auth: str
    health: str
    callable: bool
    actions: list[ActionView]
    capabilities: list[str]
    problem: str | None = None
    start: dict[str, Any] | None = None


class CatalogList(msgspec.Struct, frozen=True):
    entries: list[OperableView]


class CallQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stream`: progress and the result as server-sent events, in place of one answer."""

    stream: Literal[0, 1] = 0


class CallBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`dry_run`: only say what it would do, where it can."""

    arguments: dict[str, Any] = {}
    dry_run: bool = False


async def list_catalog(call: RouteCall[CatalogQuery, None]) -> CatalogList:
    words = call.query.q.lower().split()
    found = [_view(each) for each in await recent_catalog(call.query.kind)]
    texts = ((view, f"{view.kind} {view.name} {view.description}".lower()) for view in found)
    return CatalogList([view for view, text in texts if all(word in text for word in words)])


async def show_operable(call: RouteCall[NoQuery, None]) -> OperableView:
    operable = await _find(call.path["kind"], call.path["name"])
    schemas: dict[str, dict[str, Any]] = {}
    operands: dict[str, list[str]] = {}
    adapter = operable.adapter
    if adapter is not None:
        for action in operable.actions:
            schemas[action.name] = await adapter.input_schema(action)
            if isinstance(adapter, AoiAdapter):
                operands[action.name] = await adapter.operand_names(action)
    view = _view(operable, schemas, operands)
    if operable.kind != "agent" or operable.adapter is None or call.identity.kind == SESSION:
        return view  # a session starts what its AGENT.md names, and chooses nothing of it
    start = await asyncio.to_thread(_start_schema, call, operable)
    return msgspec.structs.replace(view, start=start)


def _start_schema(call: RouteCall[NoQuery, None], operable: Operable) -> dict[str, Any]:
    from operable.manifest.loader import load
    from operable.serve.session.start_form import start_schema

    return start_schema(
        load(operable.place, kind="agent-cli", strict=False),
        operable.name,
        call.daemon.sessions.workspaces.list(),
        sandboxes=call.identity.allows("admin"),
    )


async def call_action(call: RouteCall[CallQuery, CallBody]) -> Any:
    operable = await _find(call.path["kind"], call.path["name"])
    is_session = call.identity.kind == SESSION
    if operable.kind == "agent" and is_session:
        raise denied("a session starts agents with POST /sessions/agent, as its AGENT.md says", operable.name)
    made = await catalog_call(
        operable,
        call.path["action"],
        {**call.body.arguments, **({PLAN: True} if call.body.dry_run else {})},
        caller_id(call.identity),
        workspace=os.getcwd(),
        bounds=call.daemon.sessions.bounds(call.identity.name) if is_session else None,
    )
    if call.query.stream:
        run = functools.partial(made.run, call.daemon.gate)
        return _CallStream(call.daemon, call.identity.name, _streamed(call.daemon, call.identity.name, run))
    return await made.run(call.daemon.gate, _quiet)


class _CallStream(StreamingResponse):
    """A call that is followed. It counts among the requests of its token until it ends."""

    def __init__(self, daemon: Daemon, name: str, messages: AsyncIterator[bytes]) -> None:
        super().__init__(messages, media_type="text/event-stream", headers={"cache-control": "no-store"})
        self._daemon, self._name = daemon, name

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._daemon.enter(self._name)  # the request that began it has left its place this moment
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._daemon.leave(self._name)


async def _streamed(
    daemon: Daemon, name: str, run: Callable[[Any], Awaitable[CallResult]]
) -> AsyncIterator[bytes]:
    """Progress as it comes, then the result or the error. A client that leaves ends the call, and so does its end."""
    from operable.serve.http.errors import answer_of

    waiting: asyncio.Queue[bytes] = asyncio.Queue(100)

    async def progress(done: float, total: float | None, text: str | None) -> None:
        if not waiting.full():  # a report that no client reads in time is not worth waiting for
            waiting.put_nowait(message("progress", {"progress": done, "total": total, "message": text}))

    async def until_end() -> CallResult:
        async with daemon.work.until_end(name):
            return await run(progress)

    task = asyncio.ensure_future(until_end())
    try:
        while not task.done():
            getting = asyncio.ensure_future(waiting.get())
            await asyncio.wait((task, getting), return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                yield getting.result()
            getting.cancel()
        while not waiting.empty():
            yield waiting.get_nowait()
        try:
            yield message("result", task.result())
        except Fail as fail:
            yield message("error", answer_of(fail).error)
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def _quiet(_done: float, _total: float | None, _text: str | None) -> None:
    """No client wants progress."""


async def _find(kind: str, name: str) -> Operable:
    if kind not in ("tool", "wrap", "app", "agent", "flow", "mcp"):
        raise Fail("not_found", "NO_SUCH_OPERABLE", "there is no such kind of things", target=kind[:40])
    return find_operable(await recent_catalog(kind), kind, name)


def _view(
    operable: Operable,
    schemas: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    operands: Mapping[str, list[str]] = MappingProxyType({}),
) -> OperableView:
    def shown(action: Action) -> ActionView:
        name = action.name
        return ActionView(
            name,
            action.summary,
            action.risk,
            action.assurance,
            action.dry_run,
            schemas.get(name),
            operands.get(name, []),
        )

    return OperableView(
        operable.kind,
        operable.name,
        operable.version,
        operable.description,
        operable.risk,
        operable.auth,
        operable.health,
        operable.adapter is not None,
        [shown(action) for action in operable.actions],
        list(operable.capabilities),
        operable.problem,
    )


_NONE = {404: ("NO_SUCH_OPERABLE", "NO_SUCH_ACTION")}
ROUTES = (
    HttpRoute(
        "GET",
        "/catalog",
        "listCatalog",
        "Everything on this machine that can be called.",
        "read",
        list_catalog,
        CatalogList,
        query=CatalogQuery,
        for_sessions=True,
    ),
    HttpRoute(
        "GET",
        "/catalog/{kind}/{name:path}",
        "getOperable",
        "One thing, with the schema of each command.",
        "read",
        show_operable,
        OperableView,
        errors=_NONE,
        for_sessions=True,
    ),
    HttpRoute(
        "POST",
        "/catalog/{kind}/{name:path}/{action}/call",
        "callAction",
        "Call a command, if the rules and a person allow it.",
        "prompt",
        call_action,
        CallResult,
        query=CallQuery,
        body=CallBody,
        body_limit=CALL_BODY_LIMIT,
        errors={
            **_NONE,
            400: ("INVALID_ARGUMENTS",),
            403: ("CALL_DENIED", "CALL_UNANSWERED", "delegation_denied"),
            409: ("NOT_CALLABLE",),
            504: ("TIMEOUT",),
        },
        for_sessions=True,
    ),
)
