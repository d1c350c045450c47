"""TOOL.md (AIP-14, with the argv template of AIP-29): the contract of one command.

`runner.argv` builds the command line from the inputs; each `${input.x}` stays within its element of argv, and no shell sees
it. A `sandbox` here may narrow that of the bundle (`runner.cli`), never widen it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from operable.manifest.blocks import Block, SecretBinding, ToolSandbox
from operable.manifest.kind import Kind, Reference
from operable.manifest.rules.tool import TOOL_RULES, within_bundle

DriverKind = Literal["cli", "http", "mcp", "sdk", "builtin"]


class ToolRunner(Block, frozen=True, kw_only=True):
    cli: str | None = None
    """Path of the CLI.md that this command belongs to."""
    argv: tuple[str, ...] = ()


class ToolRequires(Block, frozen=True, kw_only=True):
    network: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Retry(Block, frozen=True, kw_only=True):
    max_attempts: int
    backoff: Literal["fixed", "exponential"]
    initial_ms: int = 0


class DriverConstraints(Block, frozen=True, kw_only=True):
    forbid: tuple[DriverKind, ...] = ()
    require_kind: tuple[DriverKind, ...] = ()


class ToolExample(Block, frozen=True, kw_only=True):
    name: str
    input: Any
    output: Any = None
    note: str = ""


class ToolManifest(Block, frozen=True, kw_only=True):
    """The frontmatter of a TOOL.md."""

    name: str
    id: str
    description: str
    version: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    idempotent: bool = False
    mutates: tuple[str, ...] = ()
    requires: ToolRequires = ToolRequires()
    approval: str = "auto"
    risk_level: int = 0
    cost_class: Literal["trivial", "metered", "expensive"] = "trivial"
    timeout_ms: int = 30_000
    retry: Retry | None = None
    default_implementation: str | None = None
    implements: str | None = None
    driver_constraints: DriverConstraints = DriverConstraints()
    runner: ToolRunner = ToolRunner()
    sandbox: ToolSandbox | None = None
    secrets: dict[str, SecretBinding] = msgspec.field(default_factory=dict)
    tags: tuple[str, ...] = ()
    examples: tuple[ToolExample, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)


def _recognise(data: Mapping[str, Any]) -> bool:
    return {"inputs", "outputs"} <= data.keys()


KIND = Kind(
    name="tool",
    file_name="TOOL.md",
    schema="manifest-tool",
    model=ToolManifest,
    summary="One command: inputs, outputs, effects, approval, and its argv.",
    recognise=_recognise,
    rules=TOOL_RULES,
    references=(Reference("cli", ("runner", "cli"), "cli"),),
    bound_rules=(within_bundle,),
)
