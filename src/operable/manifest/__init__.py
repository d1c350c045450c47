"""Markdown manifests as typed values: AGENT-CLI.md, ACP.md, SANDBOX.md, SECRETS.md, RUNNER.md, CLI.md, TOOL.md, APP.md.

    from operable.manifest import load

    loaded = load("agents/hermes/AGENT-CLI.md", workspace="agents")
    loaded.value.bin, loaded.bound["acp"].value.aip44.tier

A manifest that cannot be used raises `ManifestError`, which has every problem with its line. Names are looked up on first
use, and the YAML reader and the validator are loaded when the first manifest is.
"""

from operable import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.manifest.frontmatter import render as render
    from operable.manifest.kind import Kind as Kind
    from operable.manifest.kind import all_kinds as all_kinds
    from operable.manifest.kind import kind_named as kind_named
    from operable.manifest.kinds.acp import AcpProfile as AcpProfile
    from operable.manifest.kinds.agent_cli import AgentCli as AgentCli
    from operable.manifest.kinds.app import App as App
    from operable.manifest.kinds.cli import Cli as Cli
    from operable.manifest.kinds.runner import RunnerFile as RunnerFile
    from operable.manifest.kinds.secrets import Secret as Secret
    from operable.manifest.kinds.secrets import Secrets as Secrets
    from operable.manifest.kinds.tool import ToolManifest as ToolManifest
    from operable.manifest.loader import Loaded as Loaded
    from operable.manifest.loader import from_mapping as from_mapping
    from operable.manifest.loader import load as load
    from operable.manifest.loader import parse as parse
    from operable.manifest.patches import SelectionError as SelectionError
    from operable.manifest.patches import Spawn as Spawn
    from operable.manifest.patches import spawn_for as spawn_for
    from operable.manifest.patches import strategy_for as strategy_for
    from operable.manifest.problem import ManifestError as ManifestError
    from operable.manifest.problem import Problem as Problem
    from operable.manifest.refs import Workspace as Workspace

_HOMES = {
    "AcpProfile": "operable.manifest.kinds.acp",
    "AgentCli": "operable.manifest.kinds.agent_cli",
    "App": "operable.manifest.kinds.app",
    "Cli": "operable.manifest.kinds.cli",
    "Kind": "operable.manifest.kind",
    "Loaded": "operable.manifest.loader",
    "ManifestError": "operable.manifest.problem",
    "Problem": "operable.manifest.problem",
    "RunnerFile": "operable.manifest.kinds.runner",
    "Secret": "operable.manifest.kinds.secrets",
    "Secrets": "operable.manifest.kinds.secrets",
    "SelectionError": "operable.manifest.patches",
    "Spawn": "operable.manifest.patches",
    "ToolManifest": "operable.manifest.kinds.tool",
    "Workspace": "operable.manifest.refs",
    "all_kinds": "operable.manifest.kind",
    "from_mapping": "operable.manifest.loader",
    "kind_named": "operable.manifest.kind",
    "load": "operable.manifest.loader",
    "parse": "operable.manifest.loader",
    "render": "operable.manifest.frontmatter",
    "spawn_for": "operable.manifest.patches",
    "strategy_for": "operable.manifest.patches",
}

__all__ = [
    "AcpProfile",
    "AgentCli",
    "App",
    "Cli",
    "Kind",
    "Loaded",
    "ManifestError",
    "Problem",
    "RunnerFile",
    "Secret",
    "Secrets",
    "SelectionError",
    "Spawn",
    "ToolManifest",
    "Workspace",
    "all_kinds",
    "from_mapping",
    "kind_named",
    "load",
    "parse",
    "render",
    "spawn_for",
    "strategy_for",
]

__getattr__ = lazily(__name__, _HOMES)
