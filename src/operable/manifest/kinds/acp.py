"""ACP.md (AIP-44): which part of the Agent Client Protocol a program speaks.

`capabilities` override what the tier implies; a capability that neither names is unsupported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from operable.manifest.blocks import Block
from operable.manifest.kind import Kind, Reference
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem

TIERS = ("basic", "governance-aware", "sandboxed")
# Official examples show a revision in this form before they are filled in (decision on manifest contradictions, point 6).
_PLACEHOLDERS = ("<", "…", "...", "xxx", "todo", "pinned", "your")


class AcpFs(Block, frozen=True, kw_only=True, rename="camel"):
    read_text_file: bool = False
    write_text_file: bool = False


class AcpClient(Block, frozen=True, kw_only=True):
    fs: AcpFs = AcpFs()
    terminal: bool = False


class PromptCapabilities(Block, frozen=True, kw_only=True, rename="camel"):
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(Block, frozen=True, kw_only=True):
    http: bool = False
    sse: bool = False


class AcpAgent(Block, frozen=True, kw_only=True, rename="camel"):
    load_session: bool = False
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()


class AcpCapabilities(Block, frozen=True, kw_only=True):
    client: AcpClient = AcpClient()
    agent: AcpAgent = AcpAgent()


class AcpAudit(Block, frozen=True, kw_only=True):
    ref: str | None = None
    kind: Literal["governance", "external", "off"] = "governance"


class AcpMcpServer(Block, frozen=True, kw_only=True):
    name: str
    transport: Literal["stdio", "http", "sse"]
    ref: str | None = None


class Aip44(Block, frozen=True, kw_only=True):
    acp_rev: str
    tier: Literal["basic", "governance-aware", "sandboxed"]
    capabilities: AcpCapabilities | None = None
    operator: str | None = None
    governance: str | None = None
    sandbox: str | None = None
    audit: AcpAudit = AcpAudit()
    mcp_servers: tuple[AcpMcpServer, ...] = ()


class AcpMetadata(Block, frozen=True, kw_only=True):
    aip44: Aip44


class AcpProfile(Block, frozen=True, kw_only=True):
    """The frontmatter of an ACP.md."""

    name: str
    id: str
    description: str
    version: str
    kind: Literal["client", "server", "bridge"]
    transport: tuple[Literal["stdio", "websocket"], ...]
    metadata: AcpMetadata
    tags: tuple[str, ...] = ()

    @property
    def aip44(self) -> Aip44:
        return self.metadata.aip44

    def capabilities(self) -> AcpCapabilities:
        """As declared, else as the tier implies."""
        declared = self.aip44.capabilities
        if declared is not None:
            return declared
        level = TIERS.index(self.aip44.tier)
        mcp = McpCapabilities(http=level >= 2, sse=level >= 2)
        return AcpCapabilities(agent=AcpAgent(load_session=level >= 1, mcp_capabilities=mcp))


def _normalise(data: dict[str, Any]) -> dict[str, Any]:
    transport = data.get("transport")
    return {**data, "transport": [transport]} if isinstance(transport, str) else dict(data)


def _transport(root: ManifestPart) -> Iterator[Problem]:
    given = root.at("transport")
    offered = [given.text] if given.text else [text for _, text in given.texts()]
    if offered and "stdio" not in offered:
        yield given.problem("ACP_NO_STDIO", "the transport stdio is mandatory", "add stdio to transport")


def _operator(root: ManifestPart) -> Iterator[Problem]:
    # Required by the text, missing in the text's own example: point 5 of the decision on manifest contradictions.
    if root.at("kind").text == "server" and not root.at("metadata", "aip44", "operator").present:
        yield root.at("metadata", "aip44").problem(
            "ACP_OPERATOR_MISSING",
            "a server should name its operator",
            "add metadata.aip44.operator",
            "warning",
        )


def _placeholder(root: ManifestPart) -> Iterator[Problem]:
    revision = root.at("metadata", "aip44", "acp_rev")
    if revision.text and any(mark in revision.text.lower() for mark in _PLACEHOLDERS):
        yield revision.problem(
            "PLACEHOLDER",
            f"acp_rev is a placeholder ({revision.text!r}), not a commit",
            "write 7 to 40 hexadecimal digits",
        )


def _recognise(data: Mapping[str, Any]) -> bool:
    metadata = data.get("metadata")
    return isinstance(metadata, dict) and "aip44" in metadata


KIND = Kind(
    name="acp",
    file_name="ACP.md",
    schema="manifest-acp",
    model=AcpProfile,
    summary="A profile of the Agent Client Protocol: role, transport, tier, capabilities.",
    recognise=_recognise,
    rules=(_transport, _operator, _placeholder),
    references=(
        Reference("sandbox", ("metadata", "aip44", "sandbox"), "sandbox", "SANDBOX_REF_UNRESOLVABLE"),
    ),
    normalise=_normalise,
)
