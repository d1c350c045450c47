"""CLI.md (AIP-29): a bundle around a one-shot program: how to get it, confine it, read it, and a TOOL.md per command."""

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
    SetupStep,
    ToolSandbox,
    VersionCheck,
)
from operable.manifest.kind import Kind, Reference
from operable.manifest.rules.bundle import BUNDLE_RULES, secrets_declared
from operable.manifest.rules.cli import CLI_RULES, command_references, tools_within_bundle
from operable.manifest.rules.runner import embedded_runner, runner_rules

Stream = Literal["stdout", "stderr", "mixed"]


class CliOutput(Block, frozen=True, kw_only=True):
    default_format: Literal["text", "json", "yaml", "binary"] = "text"
    json_flag: str | None = None
    json_flag_args: tuple[str, ...] = ()
    exit_codes: dict[str, str] = msgspec.field(default_factory=dict)
    """Exit status, as text -> what it means; the reserved words are `RESERVED_EXITS`."""
    stream: Stream = "stdout"
    error_stream: Stream = "stderr"


class RefEntry(Block, frozen=True, kw_only=True):
    ref: str


class CliExample(Block, frozen=True, kw_only=True):
    goal: str
    cmd: str
    note: str = ""


class Cli(Block, frozen=True, kw_only=True):
    """The frontmatter of a CLI.md."""

    name: str
    id: str
    description: str
    version: str
    bin: str
    install: tuple[Install, ...]
    version_check: VersionCheck
    sandbox: ToolSandbox
    commands: dict[str, Any]
    """A tree: the keys down to a leaf are the subcommand, the leaf is the path of its TOOL.md."""
    bin_args: tuple[str, ...] = ()
    setup: tuple[SetupStep, ...] = ()
    auth: Auth | None = None
    runner: Runner | str | None = None
    output: CliOutput = CliOutput()
    intents: tuple[RefEntry, ...] = ()
    actions: tuple[RefEntry, ...] = ()
    requires: Requires = Requires()
    examples: tuple[CliExample, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def major(self) -> str:
        """The identity of the bundle: `id@major`."""
        return f"{self.id}@{self.version.partition('.')[0]}"

    def leaves(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Every command as (its words, the path of its TOOL.md), in the order of the file."""
        yield from _leaves(self.commands, ())


def _leaves(tree: dict[str, Any], words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for word, below in tree.items():
        if isinstance(below, str):
            yield (*words, word), below
        else:
            yield from _leaves(below, (*words, word))


def _recognise(data: Mapping[str, Any]) -> bool:
    return {"bin", "commands"} <= data.keys() and "protocol" not in data


KIND = Kind(
    name="cli",
    file_name="CLI.md",
    schema="manifest-cli",
    model=Cli,
    summary="A one-shot CLI: install, sandbox, output, and a tree of commands.",
    recognise=_recognise,
    rules=(*BUNDLE_RULES, *CLI_RULES, lambda root: runner_rules(root.at("runner"))),
    references=(
        Reference("secrets", ("auth", "ref"), "secrets", "SECRETS_REF_UNRESOLVABLE"),
        Reference("runner", ("runner",), "runner", "RUNNER_REF_UNRESOLVABLE"),
    ),
    more_references=command_references,
    bound_rules=(secrets_declared, tools_within_bundle),
    normalise=embedded_runner,
)
