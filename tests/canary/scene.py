"""A session of the leaking agent: a state, a workspace and a folder for temporary files, all of one test's own."""

import json
import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from operable.manifest import render
from tests.cli.drive import command_line
from tests.host.agents import manifest

LIMIT = 60.0
PASSED = (
    *("PASSED_TOKEN", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "AWS_SHARED_CREDENTIALS_FILE", "KUBECONFIG", "PGPASSFILE", "NETRC"),
)
PLACES = ("home", "work", "tmp")
# None looks like a secret by itself: only who knows it can keep it back.
CANARIES = {
    "vault as a variable": "zEbra/quilt ninety\n91-a",
    "vault as a file": "zEbra&quilt <ninety>-92-b",
    "passed on": "zEbraquiltninety93c",
    "given as a value": "zEbraquiltninety94d",
    "given as a file": "zEbra'quilt\"ninety95e",
    "key of a cloud": "zEbraquiltninety31/AwS",
    "session of a cloud": "zEbraquiltninety32AwS",
    "secret of a client": "zEbraquiltninety33AzU",
}
# Only an agent with the host's own home can read these.
IN_FILES = {
    "access token of a login": "zEbraquiltninety34access",
    "refresh token of a login": "zEbraquiltninety35refresh",
    "token in a list of a login": "zEbraquilt36list",
    "key of an account": "zEbraquiltninety36MIIEvQIBADANBgkqhkiG9w0BAQ",
    "key in a profile": "zEbraquiltninety37profile",
    "token in a block of YAML": "zEbraquilt38block",
    "password of a database": "zEbraquilt39base",
    "password of a machine": "zEbraquilt40net",
    "password behind base64": "zEbraquilt41registry",
}
CANARIES |= IN_FILES
_ACCOUNT = {
    "type": "service_account",
    "client_email": "a@b.example",
    "private_key": f"-----BEGIN PRIVATE KEY-----\n{IN_FILES['key of an account']}\n-----END PRIVATE KEY-----\n",
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
            "env": {"passthrough": ["STAY", "ECHO", *PASSED]},
            **(sandbox or {}),
        }
        if provider != "local":
            found["auth"] = {"ref": "./SECRETS.md", "state": {"env": ["VAULTED"]}}
            found["sandbox"]["mounts"] = [{"at": "/workspace", "source": "workspace", "mode": "read-write"}]
        found["metadata"] = {
            "operable": {"login_files": ["~/.leaking/login.json", "~/.leaking/registry.json"]}
        }
        self.manifest = agent / "AGENT-CLI.md"
        self._found = found
        self.write()
        (folder / "given").write_text(CANARIES["given as a file"] + "\n")
        self._keep_logins(folder)

    def _keep_logins(self, folder: Path) -> None:
        (folder / ".leaking").mkdir()
        tokens = {
            "access_token": IN_FILES["access token of a login"],
            "refresh": IN_FILES["refresh token of a login"],
        }
        (folder / ".leaking" / "login.json").write_text(
            json.dumps(
                {
                    "provider": {**tokens, "expires": 1},
                    "apiKeys": {"approved": [IN_FILES["token in a list of a login"]]},
                }
            )
        )
        (folder / "account.json").write_text(json.dumps(_ACCOUNT, indent=2))
        (folder / "profiles").write_text(
            f"[default]\naws_secret_access_key = {IN_FILES['key in a profile']}\nregion = eu-central-1\n"
        )

        (folder / "cluster").write_text(
            f"users:\n- name: ada\n  user:\n    token: |\n      {IN_FILES['token in a block of YAML']}\n"
        )
        (folder / "databases").write_text(f"# mine\n*:5432:shop:ada:{IN_FILES['password of a database']}\n")
        (folder / "machines").write_text(
            f"machine a.example\n  login ada\n  password\n  {IN_FILES['password of a machine']}\n"
        )
        login = b64encode(f"ada:{IN_FILES['password behind base64']}".encode()).decode()
        registry = {"auths": {"registry.example": {"auth": login}}}
        (folder / ".leaking" / "registry.json").write_text(json.dumps(registry))

    def write(self, **more: Any) -> None:
        """The manifest, with what `more` has."""
        self.manifest.write_text(render(self._found | more))

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
            "AWS_SECRET_ACCESS_KEY": CANARIES["key of a cloud"],
            "AWS_SESSION_TOKEN": CANARIES["session of a cloud"],
            "AZURE_CLIENT_SECRET": CANARIES["secret of a client"],
            "GOOGLE_APPLICATION_CREDENTIALS": str(self.folder / "account.json"),
            "AWS_SHARED_CREDENTIALS_FILE": str(self.folder / "profiles"),
            "KUBECONFIG": f"{self.folder / 'none'}:{self.folder / 'cluster'}",  # a list
            "PGPASSFILE": str(self.folder / "databases"),
            "NETRC": str(self.folder / "machines"),
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
        for place in [*(str(self.folder / name) for name in PLACES), "/dev/shm"]:
            for folder, _, names in os.walk(place):
                found.append(os.fsencode(folder))
                for path in (Path(folder, name) for name in names):
                    found.append(os.fsencode(path))
                    with suppress(OSError):
                        if path.is_file() and not path.is_symlink():
                            found.append(path.read_bytes())
        return b"\n".join(found)
