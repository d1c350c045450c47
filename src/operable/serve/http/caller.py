"""Who makes a request, and the answer to one that is refused: the same for requests and for sockets."""

from starlette.requests import HTTPConnection
from starlette.responses import Response

from operable.gate.call import CallerId, person
from operable.kernel.errors import Fail
from operable.serve.daemon import Daemon
from operable.serve.http.access.tokens import BROWSER, SESSION, HttpIdentity
from operable.serve.http.errors import answer_of, encode_answer, status_of


def identify(daemon: Daemon, request: HTTPConnection) -> HttpIdentity:
    """Who calls: by the token in the header, else by that in the cookie. Raises Fail authn."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        token: str | None = text.strip()
    else:
        token = daemon.names.cookie_token(request.headers)
    identity = None if token is None else daemon.identify(token)
    if token is None or identity is None:
        message = "the request has no token" if token is None else "the token is not valid"
        hint = "send it as a bearer; `operable serve` names the file that has one"
        raise Fail("authn", "TOKEN_MISSING" if token is None else "TOKEN_UNKNOWN", message, hint=hint)
    if scheme.lower() != "bearer":
        daemon.names.check_cookie_use(request.scope.get("method", "GET"), request.headers, token)
    return identity


def caller_id(identity: HttpIdentity) -> CallerId:
    """The caller for the rules: a browser is the person who logged it in."""
    if identity.kind == BROWSER:
        return person()
    return CallerId("session" if identity.kind == SESSION else "http", identity.name)


def error_response(fail: Fail) -> Response:
    status = status_of(fail)
    headers = {"cache-control": "no-store"}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status in (408, 413):
        headers["connection"] = "close"  # the rest of the body is not read
    if status == 429:
        headers["retry-after"] = "1"
    return Response(encode_answer(answer_of(fail)), status, headers=headers, media_type="application/json")
