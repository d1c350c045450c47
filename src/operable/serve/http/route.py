"""The declaration of a route: who may call it, what it takes, what it answers, and the function that does it.

A file of `operable.serve.routes` ends with `ROUTES`, a tuple of these. The arguments of a request are checked against the
declared types before the function is called; `operable.serve.http.openapi` makes the document from the same types.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import msgspec

from operable.kernel.catalogue import load, names
from operable.kernel.errors import Fail
from operable.serve.daemon import Daemon
from operable.serve.http.access.tokens import SESSION, HttpIdentity
from operable.serve.session.view import SessionView

RouteScope = Literal["none", "read", "prompt", "approve", "admin"]
BODY_LIMIT = 1024 * 1024
CALL_BODY_LIMIT = 8 * 1024 * 1024  # of calls of tools: their arguments may be texts
_PACKAGE = "operable.serve.routes"
_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "routes")


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A route without parameters."""


Query = TypeVar("Query")
Body = TypeVar("Body")


@dataclass(frozen=True, slots=True)
class RouteCall(Generic[Query, Body]):
    """One request, checked. `scope` is that of ASGI, for answers that are streams."""

    daemon: Daemon
    identity: HttpIdentity
    path: Mapping[str, str]
    query: Query
    body: Body
    headers: Mapping[str, str] = field(default_factory=dict)
    scope: dict[str, Any] = field(default_factory=dict)

    @property
    def session(self) -> SessionView:
        """The session that the path names. Raises Fail not_found, or authz if the caller may not reach it."""
        sessions = self.daemon.sessions
        view = sessions.get(self.path["id"])
        self.identity.require_workspace(view.workspace_slug)
        if self.identity.kind == SESSION:
            sessions.require_reachable(self.identity.name, view.id)
        return view


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """One route. `result` is the type of the answer; None: `run` returns a response of its own, of the type `media`."""

    method: str
    path: str
    operation_id: str
    summary: str
    scope: RouteScope
    run: Callable[[RouteCall[Any, Any]], Awaitable[Any]]
    result: Any = None
    query: type[msgspec.Struct] = NoQuery
    body: type[msgspec.Struct] | None = None
    status: int = 200
    media: str = "application/json"
    errors: Mapping[int, tuple[str, ...]] = field(
        default_factory=dict
    )  # status -> codes, beside those of all routes
    other_statuses: Mapping[int, str] = field(
        default_factory=dict
    )  # status without an error -> what it means
    body_limit: int = BODY_LIMIT
    has_raw_body: bool = False  # `run` gets the bytes as they came
    for_sessions: bool = False  # whether a session of an agent may call it, with its own credential

    @property
    def takes_body(self) -> bool:
        return self.has_raw_body or self.body is not None

    @property
    def tag(self) -> str:
        return self.path.split("/")[1] or "page"


def all_routes() -> list[HttpRoute]:
    """Every route of the daemon, by file and in the order of each file."""
    return [route for name in names(_FOLDER) for route in load(_PACKAGE, name, "ROUTES", kind="routes")]


def read_query(route: HttpRoute, given: list[tuple[str, str]]) -> msgspec.Struct:
    """The parameters of a request. Raises Fail usage/PARAMETER_INVALID."""
    values = dict(given)
    if len(values) != len(given):
        raise Fail("usage", "PARAMETER_INVALID", "a parameter is given twice")
    try:
        return msgspec.convert(values, route.query, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise Fail("usage", "PARAMETER_INVALID", f"the parameters are not valid: {error}") from error


def read_body(route: HttpRoute, data: bytes) -> msgspec.Struct | bytes | None:
    """The body of a request. Raises Fail usage/BODY_INVALID."""
    if route.has_raw_body:
        return data
    if route.body is None:
        return None
    try:
        return msgspec.json.decode(data or b"{}", type=route.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Fail("usage", "BODY_INVALID", f"the body is not valid: {error}") from error
