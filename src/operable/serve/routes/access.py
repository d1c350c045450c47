"""Who the caller is, the login of a browser, and the tokens."""

import re
from typing import Annotated

import msgspec
from starlette.responses import Response

from operable.kernel.errors import Fail
from operable.serve.http.access.browser import CODE_SECONDS, csrf_of, how_to_log_in
from operable.serve.http.access.tokens import BROWSER, BROWSER_DAYS, Scope, Token
from operable.serve.http.errors import STATUS_OF_CATEGORY
from operable.serve.http.route import HttpRoute, NoQuery, RouteCall

Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="A short name.")]
_DAY = 86_400
_ENTERED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
    '<title>Operable</title><p>You are logged in. <a href="/">Continue</a></p></html>'
)


class AccessView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The caller: what it may do, and, for a page, what it sends as X-Operable-CSRF."""

    name: str
    kind: str
    scopes: list[str]
    workspace: str | None = None
    csrf: str | None = None


class LoginQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str


class LoginLink(msgspec.Struct, frozen=True, rename="camel"):
    """A link that logs one browser in, once."""

    url: str
    expires_in: int


class Done(msgspec.Struct, frozen=True):
    ok: bool


class TokenView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A token without its text. `text` is there only in the answer to the request that made it."""

    name: str
    kind: str
    scopes: tuple[Scope, ...]
    created_at: int
    workspace: str | None = None
    expires_at: int | None = None
    text: str | None = None


class TokenList(msgspec.Struct, frozen=True):
    tokens: list[TokenView]


class NewToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`workspace` is a slug: the token then sees that workspace only."""

    name: Name
    scopes: Annotated[tuple[Scope, ...], msgspec.Meta(min_length=1)]
    workspace: Name | None = None


async def show_access(call: RouteCall[NoQuery, None]) -> AccessView:
    who = call.identity
    token = call.daemon.names.cookie_token(call.headers) if who.kind == BROWSER else None
    csrf = None if token is None else csrf_of(token)
    return AccessView(who.name, who.kind, sorted(who.scopes), who.workspace, csrf)


async def make_login(call: RouteCall[NoQuery, None]) -> LoginLink:
    return LoginLink(f"{call.daemon.url}/login?code={call.daemon.codes.make()}", CODE_SECONDS)


async def login(call: RouteCall[LoginQuery, None]) -> Response:
    """A page that goes on by itself: a redirect from another site would not carry a strict cookie."""
    try:
        call.daemon.codes.take(call.query.code)
    except Fail as refused:
        return _without_login(call, refused)
    text, _ = call.daemon.tokens.make_browser()
    cookie = call.daemon.names.set_cookie(text, BROWSER_DAYS * _DAY)
    headers = {"set-cookie": cookie, "cache-control": "no-store"}
    return Response(_ENTERED, media_type="text/html", headers=headers)


def _without_login(call: RouteCall[LoginQuery, None], refused: Fail) -> Response:
    """A person who opens an old link goes on where the browser is logged in, else reads how to log in."""
    if "text/html" not in call.headers.get("accept", ""):
        raise refused
    headers = {"cache-control": "no-store"}
    token = call.daemon.names.cookie_token(call.headers)
    if token is not None and call.daemon.tokens.identify(token) is not None:
        return Response(_ENTERED, media_type="text/html", headers=headers)
    text = how_to_log_in(call.daemon.url, refused.message.capitalize())
    return Response(text, STATUS_OF_CATEGORY[refused.category], media_type="text/html", headers=headers)


async def logout(call: RouteCall[NoQuery, None]) -> Response:
    if call.identity.kind == BROWSER:
        call.daemon.revoke(call.identity.name)
    headers = {"set-cookie": call.daemon.names.set_cookie("", 0), "cache-control": "no-store"}
    return Response(msgspec.json.encode(Done(True)), media_type="application/json", headers=headers)


async def list_tokens(call: RouteCall[NoQuery, None]) -> TokenList:
    return TokenList([_view(token) for token in call.daemon.tokens.list_tokens()])


async def make_token(call: RouteCall[NoQuery, NewToken]) -> TokenView:
    wanted = call.body
    text, token = call.daemon.tokens.make(wanted.name, wanted.scopes, workspace=wanted.workspace)
    return _view(token, text)


async def revoke_token(call: RouteCall[NoQuery, None]) -> Done:
    name = call.path["name"]
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,80}", name):
        raise Fail("not_found", "NO_SUCH_TOKEN", "there is no such token", target=name[:80])
    call.daemon.revoke(name)
    return Done(True)


def _view(token: Token, text: str | None = None) -> TokenView:
    return TokenView(
        token.name, token.kind, token.scopes, token.created_at, token.workspace, token.expires_at, text
    )


ROUTES = (
    HttpRoute(
        "GET",
        "/access",
        "getAccess",
        "Who the caller is, and what it may do.",
        "read",
        show_access,
        AccessView,
    ),
    HttpRoute(
        "GET",
        "/login",
        "login",
        "Log a browser in with the code of a link; the code works once.",
        "none",
        login,
        query=LoginQuery,
        media="text/html",
        errors={401: ("LOGIN_INVALID",), 429: ("TOO_MANY_LOGINS",)},
    ),
    HttpRoute(
        "POST", "/logins", "makeLogin", "Make a login link.", "admin", make_login, LoginLink, status=201
    ),
    HttpRoute("POST", "/logout", "logout", "End the login of this browser.", "read", logout),
    HttpRoute(
        "GET", "/tokens", "listTokens", "The tokens, without their texts.", "admin", list_tokens, TokenList
    ),
    HttpRoute(
        "POST",
        "/tokens",
        "makeToken",
        "Make a token; its text is in this answer only.",
        "admin",
        make_token,
        TokenView,
        body=NewToken,
        status=201,
        errors={409: ("TOKEN_EXISTS", "TOO_MANY_TOKENS")},
    ),
    HttpRoute(
        "DELETE",
        "/tokens/{name}",
        "revokeToken",
        "Revoke a token.",
        "admin",
        revoke_token,
        Done,
        errors={404: ("NO_SUCH_TOKEN",)},
    ),
)
