"""The agents of the matrix: which manifest drives which, in which mode, and what each calls its tools (rules/agents.toml)."""

import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import operable.host
from operable.host import define_agent_cli
from operable.host.agent_cli import AgentCliHandle
from tests.agents.rule_cells import Way

BUNDLED = Path(operable.host.__file__).parent / "agents"
FOR_TESTS = Path(__file__).parent / "manifests"
RULES = Path(__file__).parent / "rules"


@dataclass(frozen=True)
class Subject:
    """One row of the matrix."""

    row: str
    agent: str
    """its name in agents.toml"""
    manifest: str
    shell: str
    write: str
    fetch: str = ""
    """its tool for addresses; empty where it has none that reaches loopback, so that a command fetches"""
    mode: str = ""
    client_methods: bool = False
    """whether the host reads, writes and runs for it"""
    why: Mapping[str, str] = field(default_factory=dict)
    """cells that are stricter than their rule says ("form effect action", each may be *) -> the reason"""

    @property
    def ways(self) -> dict[str, Way]:
        write = Way("write", "edit", self.write)
        fetch = Way("shell", "execute", self.shell, "curl -s")
        return {
            "execute": Way("shell", "execute", self.shell, "touch"),
            "edit": write,
            "delete": Way("shell", "execute", self.shell, "rm"),
            "fetch": Way("fetch", "fetch", self.fetch) if self.fetch else fetch,
            "outside": write,
        }

    @property
    def start(self) -> dict[str, Any]:
        return {"mode": self.mode} if self.mode else {}

    def handle(self, folder: Path) -> AgentCliHandle:
        """Its manifest; where the host serves it, a copy of it in this folder whose profile grants that."""
        manifest = BUNDLED / self.manifest
        if not manifest.exists():
            manifest = FOR_TESTS / self.manifest
        if self.client_methods:
            copy = folder / self.manifest
            shutil.copytree(manifest, copy)
            profile = (copy / "ACP.md").read_text("utf-8")
            for grant in ("readTextFile", "writeTextFile", "terminal"):
                profile = profile.replace(f"{grant}: false", f"{grant}: true")
            (copy / "ACP.md").write_text(profile, "utf-8")
            manifest = copy
        return define_agent_cli(manifest / "AGENT-CLI.md", trusted=True)

    def reason(self, key: str) -> str:
        """Why this cell or case is stricter than its rule says; empty where nobody has said so."""
        return next((why for pattern, why in self.why.items() if self.matches(pattern, key)), "")

    @staticmethod
    def matches(pattern: str, key: str) -> bool:
        mine, theirs = pattern.split(), key.split()
        if len(mine) != len(theirs):
            return False
        return all(a in ("*", b) for a, b in zip(mine, theirs, strict=True))


def subjects() -> list[Subject]:
    found = tomllib.loads((RULES / "agents.toml").read_text("utf-8"))
    return [
        Subject(row, **{"agent": row, "manifest": row, **fields}) for row, fields in found["agents"].items()
    ]
