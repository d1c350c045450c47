"""The rows of the table of behaviour: which manifest drives which real agent, and what each documents about itself.

`behaviour/agents.toml` names them, `behaviour/ROW.json` has what was seen, with a digest of what it was seen of.
"""

import functools
import hashlib
import json
import os
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from operable.host import define_agent_cli
from operable.host.agent_cli import AgentCliHandle
from tests.agents.install import PINS, missing
from tests.agents.rule_subjects import BUNDLED, FOR_TESTS

FOLDER = Path(__file__).parent / "behaviour"
CELLS = (
    "plain",
    "approve",
    "deny",
    "rule",
    "cancel",
    "large",
    "usage",
    "resume",
    "crash",
    "two",
    "400",
    "401",
    "429",
    "500",
    "cut",
)
# What a manifest says that changes nothing in a conversation.
_WORDS = ("description", "tags", "install", "requires", "examples", "version")
NO_AIONRS = "AIONRS_BIN names no real aionrs"


@dataclass(frozen=True)
class BehaviourRow:
    """One real agent."""

    row: str
    agent: str
    """its name in ../agents.toml, and in `loopback`"""
    manifest: str
    release: str = ""
    """of an agent that is no package: the version that one of AIONRS_BIN has"""
    allow: tuple[str, ...] = ()
    """what a session's rules have to allow so that it starts"""
    start: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    """cells that are not right -> the agent's own limit, as its manifest says it"""

    @property
    def folder(self) -> Path:
        bundled = BUNDLED / self.manifest
        return bundled if bundled.exists() else FOR_TESTS / self.manifest

    @property
    def handle(self) -> AgentCliHandle:
        return define_agent_cli(self.folder / "AGENT-CLI.md", trusted=True)

    def absent(self) -> str | None:
        """Why it cannot be driven here; None: it can."""
        if self.release:
            return None if self.release in releases() else f"{NO_AIONRS} {self.release}"
        return missing(self.agent) if self.agent in PINS else None

    def of(self) -> str:
        """What the outcomes are of: another package or manifest makes them old."""
        package = str(PINS.get(self.agent, self.release))
        told = {name: value for name, value in self.handle.loaded.data.items() if name not in _WORDS}
        own = told.get("metadata", {}).get("operable", {})
        told["metadata"] = {name: value for name, value in own.items() if not name.startswith("login_")}
        profile = b"".join(path.read_bytes() for path in self.folder.glob("ACP.md"))
        text = json.dumps([package, told], sort_keys=True, default=str).encode() + profile
        return hashlib.sha256(text).hexdigest()[:16]

    def kept(self) -> dict[str, str]:
        found: dict[str, str] = self._file().get("cells", {})
        return found

    def is_old(self) -> bool:
        return bool(self._file().get("of") != self.of())

    def keep(self, cells: dict[str, str]) -> None:
        text = json.dumps({"of": self.of(), "cells": cells}, indent=1, ensure_ascii=False)
        (FOLDER / f"{self.row}.json").write_text(f"{text}\n", "utf-8")

    def _file(self) -> dict[str, Any]:
        path = FOLDER / f"{self.row}.json"
        found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return found


def rows() -> list[BehaviourRow]:
    told = tomllib.loads((FOLDER / "agents.toml").read_text("utf-8"))["agents"]
    return [
        BehaviourRow(
            row, **{"agent": row, "manifest": row, **fields, "allow": tuple(fields.get("allow", ()))}
        )
        for row, fields in told.items()
    ]


@functools.cache
def releases() -> dict[str, str]:
    """Version -> path, of each program that AIONRS_BIN names."""
    found = {}
    for path in filter(None, os.environ.get("AIONRS_BIN", "").split(os.pathsep)):
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=True)
        found[said.stdout.split()[-1]] = path
    return found
