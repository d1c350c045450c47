"""The login of a browser: a link that works once, then a cookie; and which hosts and origins a request may name.

Theory of operation. A page of another site can make a browser send requests to this machine, with its cookies. Three
things stop it. The name in `Host` must be one of ours, so a name that was made to mean this machine (DNS rebinding) is
refused. Where a request has an `Origin`, it must be the one of the page that we serve. And a request that changes
something by cookie needs both that origin and the header X-Operable-CSRF, whose value only our page can read.

A browser sends cookies to every port of a host. So another server on this machine that the user opens in the same browser
can read the cookie; docs/explain/daemon.md says so.
"""

import hashlib
import hmac
import html
import re
import secrets
import time
from collections import deque
from collections.abc import Iterable, Mapping
from http.cookies import CookieError, SimpleCookie

from operable.kernel.errors import Fail

CODE_SECONDS = 300  # a login link works so long, once
FAILED_LOGINS = 10  # a minute, then every login is refused for a while
MOST_CODES = 100
CSRF_HEADER = "x-operable-csrf"
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_MINUTE = 60.0
_STRANGER = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Operable</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<h1>This browser is not logged in</h1>
<p>In a terminal on this machine, <code>operable serve --link</code> prints a link that works once.</p>
<p>{why}The daemon is at {url}.</p></html>
"""

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\],]+)(?::[0-9]{1,5})?")


def how_to_log_in(url: str, why: str = "") -> str:
    """A page for a browser without a login; `why` is a sentence."""
    return _STRANGER.format(url=html.escape(url), why=html.escape(f"{why}. ") if why else "")


class LoginCodes:
    """The codes of login links. They are in memory only: a restart makes a new link."""

    def __init__(self) -> None:
        self._codes: dict[str, float] = {}
        self._failed: deque[float] = deque(maxlen=FAILED_LOGINS)

    def make(self) -> str:
        now = time.monotonic()
        self._codes = {code: ends for code, ends in self._codes.items() if ends > now}
        if len(self._codes) >= MOST_CODES:
            raise Fail("rate_limited", "TOO_MANY_LOGINS", f"{MOST_CODES} login links wait to be used")
        code = secrets.token_urlsafe(24)
        self._codes[_digest(code)] = now + CODE_SECONDS
        return code

    def take(self, code: str) -> None:
        """Use a code up. Raises Fail authn/LOGIN_INVALID if it is not one, rate_limited/TOO_MANY_LOGINS."""
        now = time.monotonic()
        if len(self._failed) == FAILED_LOGINS and now - self._failed[0] < _MINUTE:
            message = f"{FAILED_LOGINS} logins failed within a minute"
            raise Fail("rate_limited", "TOO_MANY_LOGINS", message, hint="wait a minute")
        ends = self._codes.pop(_digest(code), None)
        if ends is None or ends <= now:
            self._failed.append(now)
            message = "this login link is not valid any more: it works once, within five minutes"
            raise Fail("authn", "LOGIN_INVALID", message, hint="`operable serve --link` prints a new one")


class OwnNames:
    """The names and the scheme that requests may give for this server."""

    def __init__(self, names: Iterable[str], *, tls: bool, port: int) -> None:
        self._names = frozenset(name.lower() for name in names)
        self._scheme = "https" if tls else "http"
        self._cookie = f"operable_{port}"
        self._attributes = "; HttpOnly; SameSite=Strict; Path=/" + ("; Secure" if tls else "")

    def check(self, method: str, headers: Mapping[str, str]) -> None:
        """Raises Fail authz for a host or an origin that is not ours."""
        host = headers.get("host", "").lower()
        if _without_port(host) not in self._names:
            hint = "the option --name of the daemon gives it more names"
            raise Fail(
                "authz", "HOST_NOT_OURS", "the request names another host", target=host[:100], hint=hint
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"{self._scheme}://{host}":
            raise Fail("authz", "ORIGIN_NOT_OURS", "the request is from another origin", target=origin[:100])
        if headers.get("sec-fetch-site") == "cross-site" and method not in SAFE_METHODS:
            raise Fail("authz", "ORIGIN_NOT_OURS", "the request is from a page of another site")

    def check_cookie_use(self, method: str, headers: Mapping[str, str], token: str) -> None:
        """Raises Fail authz/CSRF_MISSING if a request that changes something did not come from our page."""
        if method in SAFE_METHODS:
            return
        given = headers.get(CSRF_HEADER, "")
        if "origin" not in headers or not hmac.compare_digest(given.encode(), csrf_of(token).encode()):
            message = f"a request by cookie needs the header {CSRF_HEADER} and its origin"
            raise Fail("authz", "CSRF_MISSING", message, hint="GET /access gives the value")

    def cookie_token(self, headers: Mapping[str, str]) -> str | None:
        """The token in the cookie of a request."""
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return None
        return None if morsel is None else morsel.value

    def set_cookie(self, token: str, max_age: int) -> str:
        """The value of Set-Cookie; an age of 0 removes it."""
        return f"{self._cookie}={token}; Max-Age={max_age}{self._attributes}"


def csrf_of(token: str) -> str:
    """What a page sends back to show that it can read what we answer."""
    return hmac.new(token.encode(), b"operable csrf", hashlib.sha256).hexdigest()


def _without_port(host: str) -> str:
    """The name of a Host header; empty if it is not a name with at most a port: parsers of addresses pass over the rest."""
    found = _HOST.fullmatch(host)
    return "" if found is None else found[1]


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
