"""Approvals: every question that waits for a person, and the answers."""

import asyncio
from typing import Any, Literal

import msgspec

from operable.gate.approvals import Decision
from operable.gate.call import person
from operable.serve.approvals import ApprovalView
from operable.serve.attention import ATTENTION
from operable.serve.http.access.tokens import BROWSER, FIRST
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall
from operable.serve.http.sse import EventStream, message, read_cursor, require_streaming


class ApprovalsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    state: Literal["waiting", "answered"] = "waiting"


class ApprovalList(msgspec.Struct, frozen=True):
    """Those that wait longest first; answered ones newest first."""

    approvals: list[ApprovalView]


class ApprovalAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`digest` is that of the question as it was shown. `scope`: once, session (this call again), or a pattern of rules."""

    allowed: bool
    digest: str
    reason: str = ""
    option_id: str | None = None
    scope: str = "once"
    content: Any = None


class AttentionQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`after`: a cursor; without one the stream begins with what comes. Last-Event-ID has precedence."""

    after: str | None = None


class Hello(msgspec.Struct, frozen=True):
    """The first message of the stream: how much there is now."""

    sessions: int
    waiting: int


async def list_approvals(call: RouteCall[ApprovalsQuery, None]) -> ApprovalList:
    approvals = call.daemon.approvals
    found = await approvals.look() if call.query.state == "waiting" else approvals.answered()
    own = call.identity.workspace
    return ApprovalList([view for view in found if own is None or view.workspace == own])


async def answer(call: RouteCall[NoQuery, ApprovalAnswer]) -> ApprovalView:
    approvals, given = call.daemon.approvals, call.body
    question = approvals.find(call.path["id"], await approvals.look())
    call.identity.require_workspace(question.workspace or None)
    remember = {"once": "", "session": "call"}.get(given.scope, given.scope)
    is_user = call.identity.kind == BROWSER or call.identity.name == FIRST
    decision = Decision(
        given.allowed,
        given.reason,
        person().name if is_user else call.identity.name,
        given.option_id,
        given.content,
        remember,
        digest=given.digest,
    )
    view = await approvals.decide(question, decision)
    call.daemon.attention.report_approval(view)
    return view


async def stream_events(call: RouteCall[AttentionQuery, None]) -> EventStream:
    require_streaming(call.scope)
    call.identity.require_workspace(None)  # the stream is about all of them
    daemon = call.daemon
    cursor = call.headers.get("last-event-id") or call.query.after
    after = daemon.attention.log.last_id if cursor is None else read_cursor(cursor)
    views = await asyncio.to_thread(daemon.sessions.homes.sessions)
    hello = message(
        "hello", Hello(len(views), len(await daemon.approvals.look())), after if cursor is None else None
    )
    daemon.require_stream(call.identity.name)
    place = daemon.stream(call.identity.name)
    return EventStream(daemon.feeds, ATTENTION, daemon.attention_feed(), after, None, hello, place)


ROUTES = (
    HttpRoute(
        "GET",
        "/approvals",
        "listApprovals",
        "Questions of sessions, calls and runs.",
        "read",
        list_approvals,
        ApprovalList,
        query=ApprovalsQuery,
    ),
    HttpRoute(
        "POST",
        "/approvals/{id}/answer",
        "answerApproval",
        "Answer a question; the first answer counts.",
        "approve",
        answer,
        ApprovalView,
        body=ApprovalAnswer,
        errors={
            400: ("OPTION_REQUIRED", "NO_SUCH_OPTION"),
            404: ("NO_SUCH_ASK",),
            409: ("ALREADY_ANSWERED", "ASK_CHANGED", "SIGNATURE_REQUIRED"),
        },
    ),
    HttpRoute(
        "GET",
        "/events",
        "streamEvents",
        "Everything that needs attention, as server-sent events: hello, session, approval, run, gap.",
        "read",
        stream_events,
        query=AttentionQuery,
        media="text/event-stream",
        errors={400: ("CURSOR_INVALID", "HTTP_TOO_OLD"), 429: ("TOO_MANY_READERS",)},
    ),
)
