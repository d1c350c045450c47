"""Agents as packages from elsewhere (`distribution.installation`): what is downloaded and run, and how it is confined."""

import os
from typing import Any

import msgspec

from operable.distribution.installation import JudgedPackage, PackageKind
from operable.host.launch.places import MANIFEST, bundled_agents, user_agents
from operable.kernel.canonical import canonical_json
from operable.kernel.errors import Fail
from operable.manifest.blocks import SandboxBlock
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded, load
from operable.manifest.problem import ManifestError


class AgentPackages(PackageKind):
    group = "agent"
    marker = MANIFEST

    def home(self) -> str | None:
        return user_agents()

    def judged(self, folder: str) -> JudgedPackage:
        try:
            loaded = load(os.path.join(folder, MANIFEST), kind="agent-cli", workspace=folder)
        except ManifestError as problem:
            message = f"the package cannot be used: {problem.problems[0] if problem.problems else problem}"
            hint = "each problem: operable agent validate FOLDER"
            raise Fail("validation", "AGENT_INVALID", message, hint=hint, target=MANIFEST) from problem
        agent = loaded.as_(AgentCli)
        bundled = os.path.join(bundled_agents(), agent.name)
        shown = {
            "id": agent.id,
            "summary": agent.description,
            "protocol": agent.protocol,
            "adapter": agent.adapter,
            "program": [agent.bin, *agent.bin_args],
            "install": [
                " ".join(filter(None, (each.method, each.package or each.url or each.path)))
                for each in agent.install
            ],
            "setup": _declared(agent.setup),
            "login": _declared([agent.auth.login] if agent.auth and agent.auth.login else []),
            "sandbox": _sandbox(loaded, agent),
            "in_place_of": bundled if os.path.isdir(bundled) else None,
        }
        return JudgedPackage(agent.name, agent.version, shown)


def _sandbox(loaded: Loaded, agent: AgentCli) -> list[str]:
    """How it is confined, one setting a line, whether that is in the manifest or in a file that it names."""
    bound = loaded.bound.get("sandbox")
    block = agent.sandbox if isinstance(agent.sandbox, SandboxBlock) else bound.value if bound else None
    plain: dict[str, Any] = {} if block is None else msgspec.to_builtins(block)
    return [f"{name}: {_text(value)}" for name, value in plain.items() if value not in (None, "", [], {})]


def _declared(parts: Any) -> list[str]:
    """What is run before it can be used, as it is declared."""
    return [_text(msgspec.to_builtins(part)) for part in parts]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()
