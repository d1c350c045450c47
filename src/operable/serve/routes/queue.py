"""The prompts that wait for the end of a turn: what they are, and taking one back."""

import msgspec

from operable.serve.http.route import HttpRoute, NoQuery, RouteCall
from operable.serve.session.prompt_queue import QueuedPrompt


class QueueList(msgspec.Struct, frozen=True):
    """Oldest first: the order in which they are sent. Those of a session that has ended were not sent."""

    prompts: list[QueuedPrompt]


async def list_queue(call: RouteCall[NoQuery, None]) -> QueueList:
    return QueueList(list(call.daemon.sessions.queued(call.session.id)))


async def take_back(call: RouteCall[NoQuery, None]) -> QueuedPrompt:
    return call.daemon.sessions.unqueue(call.session.id, call.path["prompt"])


ROUTES = (
    HttpRoute(
        "GET",
        "/sessions/{id}/queue",
        "listQueue",
        "The prompts that wait for the end of a turn.",
        "read",
        list_queue,
        QueueList,
        errors={404: ("NO_SUCH_SESSION",)},
        for_sessions=True,
    ),
    HttpRoute(
        "DELETE",
        "/sessions/{id}/queue/{prompt}",
        "takeBackPrompt",
        "Take back a prompt that waits, before it is sent.",
        "prompt",
        take_back,
        QueuedPrompt,
        errors={404: ("NO_SUCH_SESSION", "NO_SUCH_PROMPT"), 409: ("SESSION_ENDED", "SESSION_ELSEWHERE")},
        for_sessions=True,
    ),
)
