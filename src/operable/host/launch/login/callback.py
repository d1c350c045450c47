"""A web address on this machine that takes one answer, once, for a limited time: how a browser gives back a code.

The address contains a random word that is never used again; after one good answer, or at the deadline, nothing is taken any
more. A request must name that address and use the loopback name it was given, so that a page elsewhere cannot reach it by
rebinding a name. If a page made it, that page's origin must be one of those expected. What was given
is in the query; the person sees a page that says so and holds nothing of it.
"""

import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qsl, urlsplit

from operable.kernel.errors import Fail

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

_PAGE = "<!doctype html><meta charset=utf-8><title>Operable</title><p>{}</p><p>You can close this window.</p>"
# A browser sends its request at once; a client that does not is cut off.
_REQUEST_TIMEOUT = 10.0
_QUERY = 16 * 1024
_PARAMETERS = 50


def origin(url: str) -> str:
    """Scheme, host and port of an address, as browsers write origins."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


class Receiver:
    """As a context manager: listens while it is entered. `url` is what the other side must call."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(origins)
        self._path = f"/callback/{secrets.token_urlsafe(32)}"
        self._answer: dict[str, str] | None = None
        self.answer: str | None = None  # the whole address as it was called, for programs that want it pasted
        self._over = False
        self._lock = threading.Lock()
        self._arrived = threading.Event()
        self._server = _server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}{self._path}"

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever,
            kwargs={
                "poll_interval": 0.05
            },  # how long `shutdown` may take; requests have threads of their own
            name="operable-callback",
            daemon=True,
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait(self, timeout: float, stop: threading.Event | None = None) -> dict[str, str]:
        """The parameters of the one answer; Fail timeout/CALLBACK_TIMEOUT or cancelled/STOPPED."""
        deadline = time.monotonic() + timeout
        while not self._arrived.wait(0.1):
            if stop is not None and stop.is_set():
                raise Fail("cancelled", "STOPPED", "stopped while waiting for the browser")
            if time.monotonic() >= deadline and self._give_up():
                raise Fail(
                    "timeout",
                    "CALLBACK_TIMEOUT",
                    f"the browser did not come back within {timeout:g} s",
                    hint="start again; the old address is no longer valid",
                )
        return dict(self._answer or {})

    def judge(self, path: str, headers: Mapping[str, str]) -> tuple[int, str]:
        """What to say to a request; a good one is taken."""
        parts = urlsplit(path)
        if not secrets.compare_digest(parts.path.encode(), self._path.encode()):
            return 404, "There is nothing here."
        if headers.get("Host", "") != f"127.0.0.1:{self._server.server_port}":
            return 421, "This address was not requested under this host name."
        page = headers.get("Origin")
        if page is not None and page.lower() not in self._origins:
            return 403, "The page that sent this is not the one that was expected."
        if len(parts.query) > _QUERY:
            return 414, "The answer is too long."
        if not (parts.query.isascii() and parts.query.isprintable()):
            return 400, "The answer cannot be read."
        try:
            given = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_PARAMETERS))
        except ValueError:
            return 400, "The answer cannot be read."
        with self._lock:
            if self._over:
                return 410, "This address is no longer valid."
            self._over, self._answer, self.answer = True, given, f"{self.url}?{parts.query}"
        self._arrived.set()
        return 200, "The login is complete. You can close this page."

    def _give_up(self) -> bool:
        """What comes from now on is too late; False: the answer came in the last moment."""
        with self._lock:
            self._over = True
            return self._answer is None


def _server(receiver: Receiver) -> "ThreadingHTTPServer":
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # most launches never need it

    class Request(BaseHTTPRequestHandler):
        timeout = _REQUEST_TIMEOUT
        server_version, sys_version = "operable", ""

        def do_GET(self) -> None:
            status, message = receiver.judge(self.path, self.headers)  # type: ignore[arg-type]
            body = _PAGE.format(message).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            # The code is in this page's address: it must not travel on with the next click.
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Addresses hold codes: nothing is logged."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: Any) -> None:
            """A browser that closes the connection early is not an error."""

    return Server(("127.0.0.1", 0), Request)
