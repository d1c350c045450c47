"""A place for tests of `operable agent …`: a state of its own, a workspace, and agents that play a script."""

import json
from pathlib import Path
from typing import Any

from operable.host.importer import profile
from operable.manifest import render
from tests.cli.drive import operable, running
from tests.host.agents import manifest, program
from tests.tool.drive import Outcome


class Scene:
    """`scene("list")` is `operable agent list` in its workspace."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.env = {"OPERABLE_HOME": str(self.home)}

    def __call__(self, *words: str, output: str | None = "jsonl", **options: Any) -> Outcome:
        env = self.env | options.pop("env", {})
        return operable("agent", *words, output=output, env=env, cwd=self.work, **options)

    def running(self, *words: str, **options: Any) -> Any:
        return running("agent", *words, env=self.env, cwd=self.work, **options)

    def user(self, name: str = "scripted", script: dict[str, Any] | None = None, **more: Any) -> Path:
        """An agent of the user's own, which is trusted; its folder."""
        return self._agent(self.home / "config" / "agents" / name, name, script, more)

    def project(self, name: str = "scripted", script: dict[str, Any] | None = None, **more: Any) -> Path:
        """An agent that came with the project."""
        return self._agent(self.work / ".agents" / name, name, script, more)

    def _agent(self, folder: Path, name: str, script: dict[str, Any] | None, more: dict[str, Any]) -> Path:
        folder.mkdir(parents=True)
        voice = more.pop("voice", "json-stream")
        found = manifest(folder, script, **{"name": name, "id": name, **more})
        if voice == "acp":
            program(folder, script, "acp")
            del found["adapter"]
            found |= {"protocol": "acp", "acp": "./ACP.md"}
            (folder / "ACP.md").write_text(render(profile(name)))
        (folder / "AGENT-CLI.md").write_text(render(found))
        return folder

    def session(self, **filters: Any) -> dict[str, Any]:
        """The newest session."""
        return self("sessions", "--limit", "1").of("agent_session")[0]


def steps(*those: dict[str, Any]) -> str:
    """A message that makes the scripted agent play these steps."""
    return "SCRIPT:" + json.dumps(list(those))


def types(outcome: Outcome) -> list[str]:
    return [event["type"] for event in outcome.events]
