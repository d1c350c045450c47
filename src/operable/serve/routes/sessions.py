"""Sessions: the routes of AIP-46, and the log of each session as pages and as a stream."""

from typing import Annotated, Any, Literal

import msgspec
from starlette.responses import Response

from operable.host.session.log_files import FileCursor
from operable.host.session.registry import ALIVE
from operable.kernel.errors import Fail
from operable.serve.daemon import last_id
from operable.serve.http.access.tokens import SESSION
from operable.serve.http.caller import caller_id
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall
from operable.serve.http.sse import EventStream, LineMessages, read_cursor, require_streaming
from operable.serve.session.delegation import SessionTree
from operable.serve.session.spawn import Label, SpawnRequest
from operable.serve.session.view import SessionView

Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Number = Annotated[int, msgspec.Meta(ge=0, le=10**18)]
_PAGE = 100


class SessionsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`status` is a status or a state; `q` are words that the id, name, agent, folder or last line of a session has."""

    workspace: str | None = None
    status: str | None = None
    q: str = ""
    limit: Count = _PAGE
    cursor: str | None = None


class SessionList(msgspec.Struct, frozen=True, omit_defaults=True):
    """Newest first. `next_cursor` is for the next page."""

    sessions: list[SessionView]
    next_cursor: str | None = None


class EventsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`last`: so many of the newest events, in place of those after a cursor."""

    after: Number = 0
    limit: Count = _PAGE
    last: Count | None = None


class SessionEvent(msgspec.Struct, frozen=True):
    """One event of the log: its number, when it was written (milliseconds since 1970), what it says."""

    id: int
    at: int
    event: dict[str, Any]


class EventPage(msgspec.Struct, frozen=True):
    """`last_id` is the cursor for the next page."""

    events: list[SessionEvent]
    last_id: int


class StreamQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`typed`: each event as it is, in place of lines. `after`: a cursor; the header Last-Event-ID has precedence."""

    typed: Literal[0, 1] = 0
    after: str | None = None


class SessionDone(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`queued` is the id of a prompt that waits, `wasBusy` whether a turn was interrupted."""

    ok: bool
    id: str
    queued: str | None = None
    was_busy: bool | None = None


class PromptBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """While a turn runs, a prompt interrupts it, waits in the queue, or is refused."""

    prompt: str
    interrupt: bool = False
    queue: bool = False


class SessionChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    label: Label | None = None
    pinned: bool | None = None


class ForgetQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What becomes of its git worktree."""

    worktree: Literal["clean", "keep", "discard"] = "clean"


async def list_sessions(call: RouteCall[SessionsQuery, None]) -> SessionList:
    query, sessions = call.query, call.daemon.sessions
    page = sessions.list(
        workspace=call.identity.workspace or query.workspace,
        status=query.status,
        q=query.q,
        limit=query.limit,
        cursor=query.cursor,
        caller=call.identity.name if call.identity.kind == SESSION else None,
    )
    return SessionList(page.sessions, page.next_cursor)


async def spawn(call: RouteCall[NoQuery, SpawnRequest]) -> SessionView:
    caller = call.identity.name if call.identity.kind == SESSION else None
    if caller is None and (call.body.policy is not None or call.body.sandbox is not None):
        call.identity.require(
            "admin"
        )  # a caller that chooses the rules or the sandbox decides what is allowed
    if call.identity.workspace is not None:
        slug = call.identity.workspace
        if call.body.cwd is not None or call.body.ground not in (None, f"ws://workspaces/@me/{slug}"):
            raise Fail("authz", "OTHER_WORKSPACE", f"the token is for the workspace {slug}", target=slug)
        ground = msgspec.structs.replace(call.body, ground=f"ws://workspaces/@me/{slug}")
        return await call.daemon.sessions.spawn(ground, caller=caller, by=caller_id(call.identity))
    return await call.daemon.sessions.spawn(call.body, caller=caller, by=caller_id(call.identity))


async def show_session(call: RouteCall[NoQuery, None]) -> SessionView:
    return call.session


async def forget(call: RouteCall[ForgetQuery, None]) -> SessionDone:
    view = call.session
    await call.daemon.sessions.forget(view.id, worktree=call.query.worktree)
    return SessionDone(True, view.id)


async def change(call: RouteCall[NoQuery, SessionChange]) -> SessionView:
    return call.daemon.sessions.change(call.session.id, label=call.body.label, pinned=call.body.pinned)


async def prompt(call: RouteCall[NoQuery, PromptBody]) -> SessionDone:
    body = call.body
    receipt = await call.daemon.sessions.prompt(
        call.session.id,
        body.prompt,
        interrupt=body.interrupt,
        queue=body.queue,
        by=call.identity.name,
    )
    return SessionDone(True, receipt.id, receipt.queued)


async def interrupt(call: RouteCall[NoQuery, None]) -> SessionDone:
    view = call.session
    return SessionDone(True, view.id, was_busy=await call.daemon.sessions.interrupt(view.id))


async def kill(call: RouteCall[NoQuery, None]) -> SessionDone:
    view = call.session
    await call.daemon.sessions.kill(view.id)
    return SessionDone(True, view.id)


async def resume(call: RouteCall[NoQuery, None]) -> SessionView:
    return await call.daemon.sessions.resume(call.session.id, by=caller_id(call.identity))


async def fork(call: RouteCall[NoQuery, None]) -> SessionView:
    return await call.daemon.sessions.fork(call.session.id, by=caller_id(call.identity))


async def show_tree(call: RouteCall[NoQuery, None]) -> SessionTree:
    return call.daemon.sessions.tree(call.session.id)


async def list_events(call: RouteCall[EventsQuery, None]) -> EventPage:
    folder = call.daemon.sessions.homes.session(call.session.id).folder
    after = call.query.after
    if call.query.last is not None:
        after = max(0, last_id(folder) - call.query.last)
    cursor = FileCursor(folder, after)
    events: list[SessionEvent] = []
    try:
        while len(events) < call.query.limit and (batch := cursor.read()):
            for record in batch[: call.query.limit - len(events)]:
                events.append(SessionEvent(record.id, record.at, msgspec.to_builtins(record.event)))
    finally:
        cursor.close()
    return EventPage(events, events[-1].id if events else after)


async def stream_session(call: RouteCall[StreamQuery, None]) -> Any:
    require_streaming(call.scope)
    view, daemon = call.session, call.daemon
    cursor = call.headers.get("last-event-id") or call.query.after or "0"
    lines = None if call.query.typed else LineMessages(cursor)
    after = read_cursor(cursor) if lines is None else lines.after
    if view.status not in ALIVE and after >= last_id(daemon.sessions.homes.session(view.id).folder) > 0:
        return Response(status_code=204)  # a browser does not come back after this
    daemon.require_stream(call.identity.name)
    place = daemon.stream(call.identity.name)
    return EventStream(daemon.feeds, view.id, daemon.feed_of(view.id), after, lines, place=place)


_NONE = {404: ("NO_SUCH_SESSION",)}
_GONE = {**_NONE, 409: ("SESSION_ENDED", "SESSION_ELSEWHERE")}
_SPAWN = {
    400: ("invalid_agent", "ADAPTER_MISSING", "GROUND_INVALID"),
    403: (
        "CALL_DENIED",
        "CALL_UNANSWERED",
        "delegation_denied",
        "cwd_outside_parent",
        "max_depth_exceeded",
        "child_quota_exceeded",
    ),
    404: ("WORKSPACE_NOT_FOUND",),
    409: ("SESSION_EXISTS",),
    501: ("install_failed",),
    504: ("HANDSHAKE_TIMEOUT",),
}

_NOT_RESUMABLE = ("CONTINUATION_UNSUPPORTED", "NOT_RESUMABLE")


def _route(
    method: str, path: str, name: str, summary: str, scope: Any, run: Any, result: Any = None, **more: Any
) -> HttpRoute:
    """Of a session also with its own credential, unless `more` says otherwise."""
    return HttpRoute(method, path, name, summary, scope, run, result, **{"for_sessions": True, **more})


ROUTES = (
    _route(
        "GET",
        "/sessions",
        "listSessions",
        "Sessions, newest first.",
        "read",
        list_sessions,
        SessionList,
        query=SessionsQuery,
    ),
    _route(
        "POST",
        "/sessions/agent",
        "spawnSession",
        "Start a session of an agent.",
        "prompt",
        spawn,
        SessionView,
        body=SpawnRequest,
        status=201,
        errors=_SPAWN,
    ),
    _route(
        "GET", "/sessions/{id}", "getSession", "One session.", "read", show_session, SessionView, errors=_NONE
    ),
    _route(
        "DELETE",
        "/sessions/{id}",
        "forgetSession",
        "Remove a session that has ended, with its log.",
        "prompt",
        forget,
        SessionDone,
        query=ForgetQuery,
        errors={**_NONE, 409: ("SESSION_RUNNING", "WORKTREE_CHANGED")},
        for_sessions=False,
    ),
    _route(
        "PATCH",
        "/sessions/{id}",
        "changeSession",
        "Rename or pin a session.",
        "prompt",
        change,
        SessionView,
        body=SessionChange,
        errors=_GONE,
    ),
    _route(
        "POST",
        "/sessions/{id}/prompt",
        "promptSession",
        "Send a prompt.",
        "prompt",
        prompt,
        SessionDone,
        body=PromptBody,
        errors={**_NONE, 409: ("TURN_RUNNING", "SESSION_ENDED", "SESSION_ELSEWHERE")},
    ),
    _route(
        "POST",
        "/sessions/{id}/interrupt",
        "interruptSession",
        "End the turn that runs.",
        "prompt",
        interrupt,
        SessionDone,
        errors=_GONE,
    ),
    _route(
        "POST",
        "/sessions/{id}/kill",
        "killSession",
        "End a session, and those that it started. One that has ended stays as it is.",
        "prompt",
        kill,
        SessionDone,
        errors={**_NONE, 409: ("SESSION_ELSEWHERE",)},
    ),
    _route(
        "POST",
        "/sessions/{id}/resume",
        "resumeSession",
        "A new session that goes on where one that has ended left.",
        "prompt",
        resume,
        SessionView,
        status=201,
        errors={**_SPAWN, 400: (*_SPAWN[400], *_NOT_RESUMABLE), 409: ("SESSION_RUNNING",)},
        for_sessions=False,
    ),
    _route(
        "POST",
        "/sessions/{id}/fork",
        "forkSession",
        "A new session that begins with what was said in this one.",
        "prompt",
        fork,
        SessionView,
        status=201,
        errors={**_SPAWN, 400: (*_SPAWN[400], *_NOT_RESUMABLE)},
        for_sessions=False,
    ),
    _route(
        "GET",
        "/sessions/{id}/tree",
        "getSessionTree",
        "The sessions that it started, and what they used.",
        "read",
        show_tree,
        SessionTree,
        errors=_NONE,
    ),
    _route(
        "GET",
        "/sessions/{id}/events",
        "listSessionEvents",
        "A page of the log of a session.",
        "read",
        list_events,
        EventPage,
        query=EventsQuery,
        errors=_NONE,
    ),
    _route(
        "GET",
        "/sessions/{id}/stream",
        "streamSession",
        "The log of a session, and what comes, as server-sent events.",
        "read",
        stream_session,
        query=StreamQuery,
        media="text/event-stream",
        errors={**_NONE, 400: ("CURSOR_INVALID", "HTTP_TOO_OLD"), 429: ("TOO_MANY_READERS",)},
        other_statuses={204: "The session has ended, and the client has everything."},
    ),
)
