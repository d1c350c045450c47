"""The HTTP client of `operable.host.http.transport`: a library of the extra `mcp`, loaded when the first one is needed."""

from typing import Any
from urllib.parse import urlsplit

from operable.host.http.auth import HERE
from operable.kernel.errors import Fail

CONNECT_TIMEOUT = 10.0


def client(url: str) -> Any:
    """A client for this one server; it follows no other."""
    library = _library()
    parts = urlsplit(url)
    return library.AsyncClient(
        # A turn streams for as long as it takes; only connecting is bounded here, silence is the session's watchdog's.
        timeout=library.Timeout(None, connect=CONNECT_TIMEOUT),
        follow_redirects=False,
        # A proxy of the environment would get, in the clear, what is meant for this machine only.
        trust_env=parts.scheme == "https" or parts.hostname not in HERE,
    )


def errors() -> Any:
    """What the library raises."""
    return _library().HTTPError


def _library() -> Any:
    for name in ("httpx2", "httpx"):
        try:
            return __import__(name)
        except ImportError:
            continue
    raise Fail(
        "config",
        "HTTP_CLIENT_MISSING",
        "agents over HTTP need an HTTP client",
        hint="pip install 'operable[mcp]'",
    )
