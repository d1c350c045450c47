"""Where an agent that runs elsewhere is reached, and that it may be: its host is on the manifest's egress list.

The agent runs on a machine of its own, so there is no process to confine; what can be enforced is where messages go.
"""

from typing import Any
from urllib.parse import urljoin, urlsplit

from operable.host.http.auth import HERE
from operable.host.start.placement import sandbox_of
from operable.kernel.errors import Fail
from operable.kernel.redact import redact_url
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded
from operable.proc.sandbox.egress.rules import Rules

CONNECT_TIMEOUT = 10.0


def remote_address(loaded: Loaded) -> tuple[str, bool]:
    """(address, whether it is SSE) of a manifest whose agent runs elsewhere; Fail when it may not be reached."""
    manifest = loaded.as_(AgentCli)
    found = manifest.mcp
    if found is None or not found.url:
        raise Fail("config", "MCP_URL_MISSING", "an MCP server over HTTP needs mcp.url", target=manifest.id)
    parts = urlsplit(found.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Fail("config", "MCP_URL_INVALID", f"this is not a web address: {redact_url(found.url)}")
    if not Rules(sandbox_of(loaded).network.egress).covers(parts.hostname, port):
        raise Fail(
            "authz",
            "EGRESS_NOT_LISTED",
            f"{parts.hostname}:{port} is not on the manifest's list of hosts",
            target=parts.hostname,
            hint="add it to sandbox.network.egress",
        )
    return found.url, found.transport == "sse"


def same_host(url: str, endpoint: str) -> str:
    """The address that a server names for its messages; ValueError when it is another server's."""
    found = urljoin(url, endpoint)
    if urlsplit(found)[:2] != urlsplit(url)[:2]:
        raise ValueError("the server sends its messages to another host")
    return found


# The HTTP client of `operable.host.http.transport`: a library of the extra `mcp`, loaded when the first one is
# needed.


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
