"""A session of the leaking agent: a state, a workspace and a folder for temporary files, all of one test's own."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from operable.manifest import render
from tests.cli.drive import command_line
from tests.host.agents import manifest

LIMIT = 60.0
PLACES = ("home", "work", "tmp")
# None looks like a secret by itself: only who knows it can keep it back.
CANARIES = {
    "vault as a variable": "zEbra/quilt ninety\n91-a",
    "vault as a file": "zEbra&quilt <ninety>-92-b",
    "passed on": "zEbraquiltninety93c",
    "given as a value": "zEbraquiltninety94d",
    "given as a file": "zEbra'quilt\"ninety95e",
}
SECRETS = """
  - {slug: vaulted, name: A, description: As a variable.}
  - {slug: filed, name: B, description: As a file., exposures: [{kind: file, path: ~/.vaulted}]}
"""


class Scene:
    """`secrets`: the entries of the SECRETS.md; `sandbox`: what the manifest's block has beside the usual."""

    def __init__(
        self, folder: Path, provider: str, secrets: str = SECRETS, sandbox: Mapping[str, Any] | None = None
    ) -> None:
        self.folder, self.provider = folder, provider
        for name in PLACES:
            (folder / name).mkdir()
        agent = folder / "home" / "config" / "agents" / "leaking"
        agent.mkdir(parents=True)
        shutil.copy(Path(__file__).parent / "leaking_agent.py", agent / "leaking")
        (agent / "leaking").chmod(0o755)
        (agent / "SECRETS.md").write_text(f"---\nsecrets:{secrets}---\n")
        found = manifest(agent, name="leaking", id="leaking")
        found |= {"bin": str(agent / "leaking"), "install": [{"method": "vendored", "path": "leaking"}]}
        found["version_check"] = {
            "cmd": f"{agent / 'leaking'} --version",
            "parse": r"(\d+\.\d+\.\d+)",
            "range": ">=1.0.0",
        }
        found["sandbox"] = {
            "provider": provider,
            "config": {},
            "env": {"passthrough": ["PASSED_TOKEN", "STAY", "ECHO"]},
            **(sandbox or {}),
        }
        if provider != "local":
            found["auth"] = {"ref": "./SECRETS.md", "state": {"env": ["VAULTED"]}}
            found["sandbox"]["mounts"] = [{"at": "/workspace", "source": "workspace", "mode": "read-write"}]
        self.manifest = agent / "AGENT-CLI.md"
        self.manifest.write_text(render(found))
        (folder / "given").write_text(CANARIES["given as a file"] + "\n")

    def command(self, *words: str) -> list[str]:
        given = f"GIVEN_WORD={CANARIES['given as a value']}"
        return command_line(
            *("agent", "prompt", "leaking", "--prompt", "Tell all.", "--allow", "*"),
            *("--env", given, "--env", f"GIVEN_TOKEN=@{self.folder / 'given'}", *words),
        )

    def environment(self, **more: str) -> dict[str, str]:
        secrets = {
            "VAULTED": CANARIES["vault as a variable"],
            "FILED": CANARIES["vault as a file"],
            "PASSED_TOKEN": CANARIES["passed on"],
        }
        places = {"OPERABLE_HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp")}
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), **secrets, **places, **more}

    def run(self, words: list[str] | None = None, /, **more: str) -> subprocess.CompletedProcess[bytes]:
        """A command of `operable` to its end; the prompt, where none is named."""
        return subprocess.run(
            words or self.command(),
            env=self.environment(**more),
            cwd=self.folder / "work",
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )

    def kept(self) -> bytes:
        """Everything that is written, names of files included. What vanishes while it is read is not there."""
        found = []
        for name in PLACES:
            for folder, _, names in os.walk(self.folder / name):
                found.append(os.fsencode(folder))
                for path in (Path(folder, name) for name in names):
                    found.append(os.fsencode(path))
                    with suppress(OSError):
                        if path.is_file() and not path.is_symlink():
                            found.append(path.read_bytes())
        return b"\n".join(found)
