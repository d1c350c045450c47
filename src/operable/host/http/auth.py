"""How we authenticate to an agent that runs elsewhere: the manifest's secrets as headers of every request.

A program of ours gets its secrets in its environment (AIP-45, "Auth surface"); a server has none, so that they travel as
headers. One secret is a bearer token, which is what the authorization of the Model Context Protocol expects. For anything
else the manifest says what it wants in `metadata.operable.http_headers`, with `${secrets.SLUG}` where a value belongs.
Secrets go over HTTPS, or to this machine; never in the clear to another.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from operable.host.start.placement import Placing, needed, vault_of
from operable.host.start.vault import Vault
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded

_PLACEHOLDER = re.compile(r"\$\{secrets\.([^}]*)\}")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
HERE = ("127.0.0.1", "::1", "localhost")
_PURPOSE = "session"


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
