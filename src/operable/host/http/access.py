"""How an agent that runs elsewhere is reached: at an address on the manifest's egress list, with its secrets as headers.

The agent runs on a machine of its own, so there is no process to confine; what can be enforced is where messages go.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any
from urllib.parse import urljoin, urlsplit

from operable.host.start.placement import Placing, needed, sandbox_of, vault_of
from operable.host.start.vault import Vault
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.extras import ExtraMissingError, installed
from operable.kernel.redact import redact_url
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded
from operable.proc.sandbox.egress.rules import Rules

CONNECT_TIMEOUT = 10.0
_PLACEHOLDER = re.compile(r"\$\{secrets\.([^}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HERE = ("127.0.0.1", "::1", "localhost")
_PURPOSE = "session"


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
    try:
        return __import__("httpx2")
    except ExtraMissingError:
        if installed("httpx"):
            return __import__("httpx")
        raise


# How we authenticate to an agent that runs elsewhere: the manifest's secrets as headers of every request.
# A program of ours gets its secrets in its environment (AIP-45, "Auth surface"); a server has none, so that they travel
# as headers. One secret is a bearer token, which is what the authorization of the Model Context Protocol expects. For
# anything else the manifest says what it wants in `metadata.operable.http_headers`, with `${secrets.SLUG}` where a
# value belongs. Secrets go over HTTPS, or to this machine; never in the clear to another.
@dataclass(frozen=True, slots=True)
class Authorization:
    """Headers. The values in them are in the registry of the session."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def authorization(loaded: Loaded, placing: Placing, url: str) -> Authorization:
    """What is sent with every request to this address. Blocking: secrets may be in a vault."""
    manifest = loaded.as_(AgentCli)
    vault = vault_of(loaded, placing)
    if vault is None or manifest.auth is None:
        return Authorization()
    templates = _templates(manifest, vault, placing)
    if not templates:
        return Authorization()
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in HERE:
        raise Fail(
            "authz",
            "AUTH_IN_THE_CLEAR",
            f"the secrets of {manifest.id} would go to {parts.hostname} unencrypted",
            target=manifest.id,
            hint="use https in mcp.url",
        )

    def revealed(found: re.Match[str]) -> str:
        return vault.reveal(found[1], _PURPOSE).reveal()

    headers = {name: _PLACEHOLDER.sub(revealed, text) for name, text in templates.items()}
    for name, text in headers.items():
        if not _NAME.fullmatch(name) or not text.isascii() or not text.isprintable():
            # The value is not shown: it is a secret.
            raise Fail(
                "config", "HTTP_HEADER_INVALID", f"the header {name!r} cannot be sent", target=manifest.id
            )
    return Authorization(headers)


def _templates(manifest: AgentCli, vault: Vault, placing: Placing) -> dict[str, str]:
    quirks = manifest.metadata.get("operable", {})
    declared = quirks.get("http_headers") if isinstance(quirks, dict) else None
    if isinstance(declared, dict):
        return {str(name): str(text) for name, text in declared.items()}
    slugs = [entry.slug for entry in needed(vault, placing)]
    if len(slugs) > 1:
        raise Fail(
            "config",
            "HTTP_HEADERS_UNKNOWN",
            f"{manifest.id} has {len(slugs)} secrets, and does not say how they are sent",
            target=manifest.id,
            hint='write metadata.operable.http_headers: {Authorization: "Bearer ${secrets.SLUG}"}',
        )
    return {"Authorization": f"Bearer ${{secrets.{slugs[0]}}}"} if slugs else {}
