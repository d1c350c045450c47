"""Secrets of a session: through every way in, told by the agent on every channel, found on no surface, after every death."""

import json
import os
import random
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from operable.proc.tree.descendants import living
from tests.canary.scene import CANARIES, LIMIT, Scene
from tests.canary.spellings import sightings


@pytest.fixture(params=["bubblewrap", "local"])
def scene(request, tmp_path) -> Scene:
    if request.param == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    return Scene(tmp_path, request.param)


def test_what_an_agent_tells_is_on_no_surface(scene):
    done = scene.run()
    events = [json.loads(line) for line in done.stdout.splitlines()]
    said = "".join(event.get("text", "") for event in events if event["type"] == "text-delta")
    thought = "".join(event.get("text", "") for event in events if event["type"] == "thought")

    assert "ALL TOLD" in said, done.stdout.decode()[-3000:] + done.stderr.decode()[-1000:]
    assert said.startswith("8 secrets" if scene.provider == "bubblewrap" else "15 secrets")
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
        if b"operable.proc.tree.keeper_process" in Path(f"/proc/{member.pid}/cmdline").read_bytes()
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
            await_end(members)
        assert sightings(scene.kept(), CANARIES) == []
    assert sightings(scene.kept(), CANARIES) == []


def test_the_next_host_removes_what_a_killed_one_and_its_keeper_have_left(scene):
    with staying(scene) as process:
        for pid, number in DEATHS["keeper and host killed"](process.pid):
            os.kill(pid, number)
        process.wait(LIMIT)
        left = {path.name for path in (scene.folder / "tmp").iterdir()}
    assert left  # nobody was there to remove it

    scene.run()

    assert left.isdisjoint(path.name for path in (scene.folder / "tmp").iterdir())


# Deaths per run: a part of it in each batch. More by the environment.
DEATHS_AT_RANDOM = int(os.environ.get("OPERABLE_CANARY_DEATHS", "20"))
BATCHES = range(2)  # of each sandbox
VICTIMS = {
    "host": ("host",),
    "keeper": ("keeper",),
    "agent": ("agent",),
    "host and keeper": ("host", "keeper"),
    "keeper and host": ("keeper", "host"),
}
LONGEST = 1.0  # seconds; by then the agent has told all and waits, on a quiet machine


def role_of(pid: int, host: int) -> str:
    if pid == host:
        return "host"
    words = Path(f"/proc/{pid}/cmdline").read_bytes()
    if b"operable.proc.tree.keeper_process" in words:
        return "keeper"
    return "agent" if b"leaking" in words and b"bwrap" not in words and b"operable" not in words else "other"


def roles(host: int) -> dict[str, int]:
    """Who is there by now: role -> process."""
    found = {"host": host}
    for member in living(host):
        with suppress(OSError):
            found.setdefault(role_of(member.pid, host), member.pid)
    return found


def die_at_random(scene: Scene, chance: random.Random) -> str:
    """One session that ends so; who died. The disk is looked at all the time up to then, and after it."""
    victims = VICTIMS[chance.choice(sorted(VICTIMS))]
    # Counted from the moment in which all of them are there; one time in six from the start, whoever is there.
    begun = chance.randrange(6) == 0
    awaited = {*victims, *chance.choice([["agent"], []])}
    delay = chance.uniform(0, LONGEST)
    with subprocess.Popen(
        scene.command(),
        env=scene.environment(STAY="1"),
        cwd=scene.folder / "work",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        told = b""
        limit = time.monotonic() + LIMIT
        moment = time.monotonic() + delay if begun else limit
        while (left := moment - time.monotonic()) > 0:
            assert process.poll() is None, told
            assert sightings(scene.kept(), CANARIES) == []
            if select.select([process.stdout], [], [], min(left, 0.01))[0]:
                told += process.stdout.read() or b""
            if not begun and awaited <= set(roles(process.pid)):
                begun, moment = True, time.monotonic() + delay
        assert begun, f"{awaited} did not come within {LIMIT} s: {told!r}"
        there = roles(process.pid)
        members = [member.pid for member in living(process.pid)]
        struck = [name for name in victims if name in there]
        for name in struck:
            with suppress(ProcessLookupError):
                os.kill(there[name], signal.SIGKILL)
        assert sightings(scene.kept(), CANARIES) == []
        process.kill()  # where only another died: it goes the same way in the end
        process.wait(LIMIT)
        await_end(members)
        told += process.stdout.read() or b""
    assert sightings(told, CANARIES) == []
    assert sightings(scene.kept(), CANARIES) == []
    return " and ".join(struck) or "nobody"


def await_end(members: list[int]) -> None:
    deadline = time.monotonic() + LIMIT
    while any(Path(f"/proc/{pid}").exists() for pid in members):
        assert time.monotonic() < deadline, "the agent survives its host"
        select.select([], [], [], 0.01)


@pytest.mark.parametrize("batch", BATCHES)
def test_deaths_at_random_points_leave_no_secret_and_the_next_host_leaves_nothing_of_them(
    scene, batch, record_property
):
    chance = random.Random(f"{scene.provider} {batch}")
    died = [die_at_random(scene, chance) for _ in range(max(1, DEATHS_AT_RANDOM // (2 * len(BATCHES))))]
    record_property("died", died)
    left = {path.name for path in (scene.folder / "tmp").iterdir()}

    done = scene.run()

    assert b"ALL TOLD" in done.stdout, done.stdout[-3000:] + done.stderr[-1000:]
    assert sightings(done.stdout + done.stderr + scene.kept(), CANARIES) == []
    assert left.isdisjoint(path.name for path in (scene.folder / "tmp").iterdir())
