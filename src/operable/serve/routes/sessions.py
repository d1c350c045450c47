"""Sessions: the routes of AIP-46, and the log of each session as pages and as a stream."""

from typing import Annotated, Any, Literal

import msgspec
from starlette.responses import Response

from operable.host.session.log_files import FileCursor
from operable.host.session.registry import ALIVE, SessionHome, SessionMeta
from operable.kernel.errors import Fail
from operable.serve.daemon import last_id
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall
from operable.serve.http.sse import EventStream, message, read_cursor, require_streaming

Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]
_PAGE = 100


class SessionsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`q` are words that the id, label, agent or folder of a session has."""

    workspace: str | None = None
    status: Literal["starting", "running", "exited", "killed", "error"] | None = None
    q: str = ""
    limit: Count = _PAGE
    cursor: str | None = None


class SessionList(msgspec.Struct, frozen=True, omit_defaults=True):
    """Newest first. `next_cursor` is for the next page."""

    sessions: list[SessionMeta]
    next_cursor: str | None = None


class EventsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`last`: so many of the newest events, in place of those after a cursor."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0
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
    """`after`: a cursor; the header Last-Event-ID has precedence."""

    typed: Literal[0, 1] = 0
    after: str | None = None


class StatusEvent(msgspec.Struct, frozen=True, rename="camel"):
    """The message `status` of a stream."""

    status: str


def _home(call: RouteCall[Any, Any]) -> SessionHome:
    home = call.daemon.registry.session(call.path["id"])
    call.identity.require_workspace(home.meta.workspace_slug)
    return home


async def list_sessions(call: RouteCall[SessionsQuery, None]) -> SessionList:
    query, daemon = call.query, call.daemon
    workspace = call.identity.workspace or query.workspace
    words = query.q.lower().split()
    views: list[SessionMeta] = []
    behind = query.cursor is None
    for home in daemon.registry.sessions():
        meta = home.meta
        if not behind:
            behind = meta.id == query.cursor
            continue
        if (workspace and meta.workspace_slug != workspace) or (query.status and meta.status != query.status):
            continue
        if not _has(meta, words):
            continue
        if len(views) == query.limit:
            return SessionList(views, views[-1].id)
        views.append(meta)
    if not behind:
        raise Fail("usage", "CURSOR_INVALID", "the cursor is not a session", target=query.cursor)
    return SessionList(views)


def _has(view: SessionMeta, words: list[str]) -> bool:
    text = " ".join((view.id, view.label or "", view.adapter_slug, view.agent_slug or "", view.cwd))
    return all(word in text.lower() for word in words)


async def show_session(call: RouteCall[NoQuery, None]) -> SessionMeta:
    return _home(call).meta


async def list_events(call: RouteCall[EventsQuery, None]) -> EventPage:
    folder, after = _home(call).folder, call.query.after
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
    home, daemon = _home(call), call.daemon
    after = read_cursor(call.query.after, call.headers.get("last-event-id"))
    if home.meta.status not in ALIVE and after >= last_id(home.folder) > 0:
        return Response(status_code=204)  # a browser does not come back after this
    first = message("status", StatusEvent(home.meta.status))
    return EventStream(daemon.feeds, home.meta.id, daemon.feed_of(home), after, None, first)


_NONE = {404: ("NO_SUCH_SESSION",)}
ROUTES = (
    HttpRoute(
        "GET",
        "/sessions",
        "listSessions",
        "Sessions, newest first.",
        "read",
        list_sessions,
        SessionList,
        query=SessionsQuery,
        errors={400: ("CURSOR_INVALID",)},
    ),
    HttpRoute(
        "GET", "/sessions/{id}", "getSession", "One session.", "read", show_session, SessionMeta, errors=_NONE
    ),
    HttpRoute(
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
    HttpRoute(
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
