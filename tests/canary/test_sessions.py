"""Secrets of a session: through every way in, told by the agent on every channel, found on no surface, after every death."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from operable.manifest import render
from operable.proc.tree import living
from tests.canary.spellings import sightings
from tests.cli.drive import command_line
from tests.host.agents import manifest

LIMIT = 60.0
# None looks like a secret by itself: only who knows it can keep it back.
CANARIES = {
    "vault as a variable": "zEbra/quilt ninety\n91-a",
    "vault as a file": "zEbra&quilt <ninety>-92-b",
    "passed on": "zEbraquiltninety93c",
    "given as a value": "zEbraquiltninety94d",
    "given as a file": "zEbra'quilt\"ninety95e",
}
SECRETS = """---
secrets:
  - {slug: vaulted, name: A, description: As a variable.}
  - {slug: filed, name: B, description: As a file., exposures: [{kind: file, path: ~/.vaulted}]}
---
"""


class Scene:
    """A state, a workspace and a folder for temporary files, all of this test's own."""

    def __init__(self, folder: Path, provider: str) -> None:
        self.folder = folder
        for name in ("home", "work", "tmp"):
            (folder / name).mkdir()
        agent = folder / "home" / "config" / "agents" / "leaking"
        agent.mkdir(parents=True)
        shutil.copy(Path(__file__).parent / "leaking_agent.py", agent / "leaking")
        (agent / "leaking").chmod(0o755)
        (agent / "SECRETS.md").write_text(SECRETS)
        confined = {"auth": {"ref": "./SECRETS.md", "state": {"env": ["VAULTED"]}}}
        found = manifest(agent, name="leaking", id="leaking") | (confined if provider == "bubblewrap" else {})
        found |= {"bin": str(agent / "leaking"), "install": [{"method": "vendored", "path": "leaking"}]}
        found["version_check"] = {
            "cmd": f"{agent / 'leaking'} --version",
            "parse": r"(\d+\.\d+\.\d+)",
            "range": ">=1.0.0",
        }
        found["sandbox"] = {
            "provider": provider,
            "config": {},
            "mounts": [{"at": "/workspace", "source": "workspace", "mode": "read-write"}],
            "env": {"passthrough": ["PASSED_TOKEN", "STAY"]},
        }
        if provider == "local":
            del found["sandbox"]["mounts"]
        (agent / "AGENT-CLI.md").write_text(render(found))
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

    def kept(self) -> bytes:
        """Everything that the session could have written, names of files included."""
        found = []
        for name in ("home", "work", "tmp"):
            for path in (self.folder / name).rglob("*"):
                found.append(os.fsencode(path))
                if path.is_file() and not path.is_symlink():
                    found.append(path.read_bytes())
        return b"\n".join(found)


@pytest.fixture(params=["bubblewrap", "local"])
def scene(request, tmp_path) -> Scene:
    if request.param == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    return Scene(tmp_path, request.param)


def test_what_an_agent_tells_is_on_no_surface(scene):
    done = subprocess.run(
        scene.command(),
        env=scene.environment(),
        cwd=scene.folder / "work",
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    said = "".join(event.get("text", "") for event in events if event["type"] == "text-delta")
    thought = "".join(event.get("text", "") for event in events if event["type"] == "thought")

    assert "ALL TOLD" in said, done.stdout.decode()[-3000:] + done.stderr.decode()[-1000:]
    assert said.startswith("5 secrets" if "bubblewrap" in str(scene.kept()) else "3 secrets")
    assert said.count("[redacted]") > 10
    assert sightings(done.stdout + done.stderr, CANARIES) == []
    assert sightings(said.encode() + thought.encode(), CANARIES) == []
    kept = scene.kept()
    assert b"ALL TOLD" in kept  # the log is among it
    assert b"audit" in kept
    assert sightings(kept, CANARIES) == []


@contextmanager
def staying(scene: Scene) -> Iterator[subprocess.Popen[bytes]]:
    """The command, in the moment in which the agent has told all and waits."""
    process = subprocess.Popen(
        scene.command(),
        env=scene.environment(STAY="1"),
        cwd=scene.folder / "work",
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        heard: list[bytes] = []
        for line in process.stdout:
            heard.append(line)
            if b'"waiting"' in line:
                break
        assert any(b'"waiting"' in line for line in heard), b"".join(heard)[-3000:].decode()
        yield process
    finally:
        process.kill()
        process.wait(LIMIT)
        if process.stdout is not None:
            process.stdout.close()


def test_no_process_but_the_host_and_the_agent_has_a_secret_in_its_environment_or_words(scene):
    with staying(scene) as process:
        offenders = []
        for member in living(process.pid):
            pid = member.pid
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            secrets = sightings(Path(f"/proc/{pid}/environ").read_bytes(), CANARIES)
            inside = (
                len(Path(f"/proc/{pid}/status").read_text().partition("NSpid:")[2].split("\n")[0].split()) > 1
            )
            agent = b"leaking" in words and b"bwrap" not in words
            if secrets and not (inside or agent):
                offenders.append((words, secrets))
            offenders += [(words, found) for found in [sightings(words, CANARIES)] if found]
        assert offenders == []
        assert len(living(process.pid)) > 1


def keeper_of(host: int) -> int:
    (found,) = [
        member.pid
        for member in living(host)
        if b"operable.proc.keeping" in Path(f"/proc/{member.pid}/cmdline").read_bytes()
        and member.generation == 1
    ]
    return found


def agent_of(host: int) -> int:
    return living(host)[-1].pid


DEATHS: dict[str, Callable[[int], list[tuple[int, int]]]] = {
    "terminated": lambda host: [(host, signal.SIGTERM)],
    "interrupted": lambda host: [(host, signal.SIGINT)],
    "host killed": lambda host: [(host, signal.SIGKILL)],
    "keeper killed": lambda host: [(keeper_of(host), signal.SIGKILL)],
    "agent killed": lambda host: [(agent_of(host), signal.SIGKILL)],
    "keeper and host killed": lambda host: [(keeper_of(host), signal.SIGKILL), (host, signal.SIGKILL)],
    "host and keeper killed": lambda host: [(host, signal.SIGKILL), (keeper_of(host), signal.SIGKILL)],
}


@pytest.mark.parametrize("death", DEATHS)
def test_after_every_kind_of_death_no_file_has_a_secret(scene, death):
    with staying(scene) as process:
        assert sightings(scene.kept(), CANARIES) == []  # nor before it
        members = [member.pid for member in living(process.pid)]
        for pid, number in DEATHS[death](process.pid):
            os.kill(pid, number)
        if death not in ("keeper killed", "agent killed"):
            process.wait(LIMIT)
            deadline = time.monotonic() + LIMIT
            while any(Path(f"/proc/{pid}").exists() for pid in members) and time.monotonic() < deadline:
                os.sched_yield()
        assert sightings(scene.kept(), CANARIES) == []
    assert sightings(scene.kept(), CANARIES) == []


def test_the_next_host_removes_what_a_killed_one_and_its_keeper_have_left(scene):
    with staying(scene) as process:
        for pid, number in DEATHS["keeper and host killed"](process.pid):
            os.kill(pid, number)
        process.wait(LIMIT)
        left = {path.name for path in (scene.folder / "tmp").iterdir()}
    assert left  # nobody was there to remove it

    subprocess.run(
        scene.command(),
        env=scene.environment(),
        cwd=scene.folder / "work",
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )

    assert left.isdisjoint(path.name for path in (scene.folder / "tmp").iterdir())
