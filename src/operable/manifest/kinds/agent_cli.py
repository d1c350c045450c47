"""AGENT-CLI.md (AIP-45): an interactive agent program, and how to install, confine, authenticate, start and talk to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from operable.manifest.blocks import (
    Auth,
    Block,
    Install,
    Requires,
    Runner,
    SandboxBlock,
    SetupStep,
    VersionCheck,
)
from operable.manifest.kind import Kind, Reference
from operable.manifest.part import ManifestPart, embedded
from operable.manifest.rules.agent import AGENT_RULES, capabilities_within_profile, environment_isolated
from operable.manifest.rules.agent_blocks import (
    CapabilitiesBlock,
    Continuation,
    Mcp,
    ModeBlock,
    Models,
    OptionBlock,
    SessionBlock,
)
from operable.manifest.rules.bundle import BUNDLE_RULES, secrets_declared
from operable.manifest.rules.governance import GOVERNANCE_RULES
from operable.manifest.rules.runner import embedded_runner, runner_rules
from operable.manifest.rules.sandbox import sandbox_inline, sandbox_tolerances


class AgentExample(Block, frozen=True, kw_only=True):
    goal: str
    prompt: str
    note: str = ""


class AgentCli(Block, frozen=True, kw_only=True):
    """The frontmatter of an AGENT-CLI.md. `sandbox` and `runner` are a block, or the reference to a file."""

    name: str
    id: str
    description: str
    version: str
    bin: str
    install: tuple[Install, ...]
    version_check: VersionCheck
    sandbox: SandboxBlock | str
    protocol: Literal["acp", "mcp", "proprietary"]
    bin_args: tuple[str, ...] = ()
    setup: tuple[SetupStep, ...] = ()
    auth: Auth | None = None
    runner: Runner | str | None = None
    acp: str | None = None
    mcp: Mcp | None = None
    adapter: str | None = None
    session: SessionBlock = SessionBlock()
    models: Models = Models()
    capabilities: CapabilitiesBlock = CapabilitiesBlock()
    modes: tuple[ModeBlock, ...] = ()
    options: tuple[OptionBlock, ...] = ()
    continuation: Continuation | None = None
    requires: Requires = Requires()
    examples: tuple[AgentExample, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def major(self) -> str:
        """The identity under which install state is kept: `id@major`."""
        return f"{self.id}@{self.version.partition('.')[0]}"


def _normalise(data: dict[str, Any]) -> dict[str, Any]:
    return embedded_runner(embedded(data, "sandbox"))


def _relax(root: ManifestPart) -> Iterator[tuple[ManifestPart, Any, str]]:
    for item in root.at("models", "allowed").items():
        name = item.at("id").text
        if name is not None:
            yield item, name, "a model with its provider"


def _recognise(data: Mapping[str, Any]) -> bool:
    return {"bin", "protocol"} <= data.keys()


KIND = Kind(
    name="agent-cli",
    file_name="AGENT-CLI.md",
    schema="manifest-agent-cli",
    model=AgentCli,
    summary="An interactive agent CLI: install, sandbox, auth, protocol, modes, options.",
    recognise=_recognise,
    rules=(
        *BUNDLE_RULES,
        *AGENT_RULES,
        *GOVERNANCE_RULES,
        sandbox_inline,
        lambda root: runner_rules(root.at("runner")),
    ),
    references=(
        Reference("acp", ("acp",), "acp", "ACP_REF_UNRESOLVABLE"),
        Reference("sandbox", ("sandbox",), "sandbox", "SANDBOX_REF_UNRESOLVABLE"),
        Reference("secrets", ("auth", "ref"), "secrets", "SECRETS_REF_UNRESOLVABLE"),
        Reference("runner", ("runner",), "runner", "RUNNER_REF_UNRESOLVABLE"),
    ),
    bound_rules=(secrets_declared, capabilities_within_profile, environment_isolated),
    normalise=_normalise,
    relax=_relax,
    extensions={
        "capabilities.file_attach": "reads files that the prompt names by path",
        "options.*.env_unset": "variables to take out of the environment when the option is set",
        **{f"sandbox.{key}": meaning for key, meaning in sandbox_tolerances().items()},
    },
)
