"""What a login yields, by the callback of its host or by consent in a browser: code and tokens are on no surface."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from operable.proc.tree.descendants import living
from tests.canary.authorization_server import ACCESS, CLIENT, GIVEN, AuthorizationServer
from tests.canary.scene import LIMIT, SECRETS, Scene
from tests.canary.spellings import sightings
from tests.canary.test_sessions import await_end
from tests.cli.drive import PROGRAM, command_line
from tests.tool.drive import terminal


@pytest.fixture
def provider():
    with AuthorizationServer() as listening:
        yield listening


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path, "local")
    (tmp_path / ".leaking" / "login.json").unlink()
    shutil.copy(Path(__file__).parent / "logging_in.py", made.manifest.parent / "log-in")
    return made


def declare(scene, provider, wanted):
    """Let the manifest log in so."""
    login = {
        "cmd": f"{scene.manifest.parent / 'log-in'} {provider.url} {wanted}",
        "requires_callback_url": True,
    }
    scene.write(auth={"state": {"paths": ["~/.leaking/login.json"]}, "login": login})


def surfaces(scene, done):
    return done.stdout + done.stderr + scene.kept()


@pytest.mark.parametrize("output", ["jsonl", "human"])
def test_a_login_shows_and_keeps_nothing_of_what_it_yields(scene, provider, output):
    declare(scene, provider, "succeed")

    done = scene.run(command_line("agent", "login", "leaking", output=output))

    assert (done.returncode, provider.tokens) == (0, 1), done
    assert ACCESS in (scene.folder / ".leaking" / "login.json").read_text()
    assert sightings(surfaces(scene, done), GIVEN) == []
    for view in (("agent", "doctor", "leaking"), ("agent", "audit"), ("agent", "show", "leaking")):
        seen = scene.run(command_line(*view, output=output))
        assert seen.stdout + seen.stderr
        assert sightings(surfaces(scene, seen), GIVEN) == []


@pytest.mark.parametrize("wanted, status", [("fail", 3), ("fail-late", 4), ("be-refused", 1)])
@pytest.mark.parametrize("output", ["jsonl", "human"])
def test_a_login_that_fails_says_nothing_of_what_its_program_said(scene, provider, wanted, status, output):
    declare(scene, provider, wanted)

    done = scene.run(command_line("agent", "login", "leaking", output=output))

    assert done.returncode == 77, done
    assert f"its login ended with {status}".encode() in done.stdout + done.stderr
    assert sightings(surfaces(scene, done), GIVEN) == []


def test_a_recording_of_a_login_has_nothing_of_what_it_yields(scene, provider):
    declare(scene, provider, "succeed")
    cassette = scene.folder / "login.cassette"
    line = command_line("agent", "login", "leaking")

    done = scene.run(command_line("record", "--to", str(cassette), "--inherit", "*", "--", *line))

    assert provider.tokens == 1, done
    kept = cassette.read_bytes()
    assert b"agent_login" in kept
    assert sightings(surfaces(scene, done) + kept, GIVEN) == []


def test_a_session_after_a_login_masks_what_the_login_yielded(scene, provider):
    declare(scene, provider, "succeed")
    assert scene.run(command_line("agent", "login", "leaking")).returncode == 0
    scene.write()  # a provider without a sandbox takes no agent with `auth`; the file of the login is declared all the same

    done = scene.run()

    assert b"ALL TOLD" in done.stdout, done
    known = {
        name: value for name, value in GIVEN.items() if "token" in name
    }  # the code is of no use any more
    assert sightings(surfaces(scene, done), known) == []


@contextmanager
def staying(scene):
    """The login in the moment in which its program has the tokens, has told them, and waits."""
    mark = scene.folder / "work" / "staying"
    with subprocess.Popen(
        command_line("agent", "login", "leaking"),
        env=scene.environment(),
        cwd=scene.folder / "work",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        try:
            deadline = time.monotonic() + LIMIT
            while not mark.exists():
                assert process.poll() is None, process.stdout.read()
                assert time.monotonic() < deadline
                select.select([], [], [], 0.01)
            yield process
        finally:
            process.kill()


def test_no_process_of_a_login_has_what_it_yields_in_its_environment_or_words(scene, provider):
    declare(scene, provider, "stay")
    with staying(scene) as process:
        members = [process.pid, *(member.pid for member in living(process.pid))]
        assert len(set(members)) > 1
        for pid in members:
            facts = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
            assert sightings(facts, GIVEN) == [], facts


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_login_that_dies_leaves_nothing_of_what_it_yields(scene, provider, number):
    declare(scene, provider, "stay")
    with staying(scene) as process:
        members = [member.pid for member in living(process.pid)]
        assert sightings(scene.kept(), GIVEN) == []
        os.kill(process.pid, number)
        process.wait(LIMIT)
        await_end(members)
        told = process.stdout.read()
    assert sightings(told + scene.kept(), GIVEN) == []
    left = scene.run(command_line("agent", "doctor", "leaking"))
    assert sightings(surfaces(scene, left), GIVEN) == []


CONSENTED = """
  - slug: consented
    name: C
    description: By consent.
    kind: oauth
    backend: "file://{folder}/consented"
    metadata: {{oauth: {{authorization_url: "{url}/authorize", token_url: "{url}/token", client_id: {client}}}}}
"""
STEP = {"id": "consent", "kind": "oauth", "secret_slug": "consented"}


def consenting(tmp_path, provider):
    secrets = CONSENTED.format(folder=tmp_path, url=provider.url, client=CLIENT)
    made = Scene(tmp_path, "bubblewrap", secrets=SECRETS.rstrip() + secrets)
    made.write(setup=[STEP])
    return made


@contextmanager
def asked(scene):
    """A setup at a terminal that waits for the browser, and the address that it shows."""
    words = ("agent", "setup", "leaking", "--workspace", str(scene.folder / "work"))
    with terminal(*words, tool=PROGRAM, env=scene.environment()) as person:
        person.read_until("code_challenge_method")
        person.read_until("\n")
        (address,) = re.findall(r"Open (\S+)", person.screen)
        yield person, address


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_tokens_by_consent_are_in_the_place_of_the_secret_and_nowhere_else(tmp_path, provider):
    scene = consenting(tmp_path, provider)
    with asked(scene) as (person, address):
        urllib.request.urlopen(address, timeout=LIMIT).close()
        outcome = person.finish()

    assert (outcome.exit_code, provider.tokens) == (0, 1), outcome
    kept = tmp_path / "consented"
    assert (ACCESS in kept.read_text(), oct(kept.stat().st_mode)[-3:]) == (True, "600")
    assert sightings(person.screen.encode() + scene.kept(), GIVEN) == []

    done = scene.run()

    said = "".join(json.loads(line).get("text", "") for line in done.stdout.splitlines())
    assert "ALL TOLD" in said, done
    assert sightings(surfaces(scene, done) + said.encode(), GIVEN) == []


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_provider_that_refuses_and_repeats_the_code_does_not_make_us_say_it(tmp_path, provider):
    scene = consenting(tmp_path, provider)
    with asked(scene) as (person, address):
        # Asked with the challenge of another program, the code is not good for this one.
        stolen = re.sub(r"code_challenge=[^&]*", f"code_challenge={'x' * 43}", address)
        urllib.request.urlopen(stolen, timeout=LIMIT).close()
        outcome = person.finish()

    assert outcome.exit_code != 0
    assert "no token was given" in person.screen
    assert sightings(person.screen.encode() + scene.kept(), GIVEN) == []


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_consent_that_is_killed_leaves_nothing(tmp_path, provider):
    scene = consenting(tmp_path, provider)
    with asked(scene) as (person, address):
        urllib.request.urlopen(address, timeout=LIMIT).close()
        os.killpg(person.process.pid, signal.SIGKILL)
        person.finish()
    assert sightings(person.screen.encode() + scene.kept(), GIVEN) == []
    assert {path.name for path in tmp_path.glob("consented*")} <= {"consented", "consented.new"}
    (tmp_path / "consented.new").write_text(ACCESS)  # the worst moment to die
    (tmp_path / "consented").unlink(missing_ok=True)

    shutil.rmtree(tmp_path / "home" / "state" / "agents")
    with asked(scene) as (person, address):
        urllib.request.urlopen(address, timeout=LIMIT).close()
        assert person.finish().exit_code == 0
    assert [path.name for path in tmp_path.glob("consented*")] == ["consented"]


@pytest.mark.parametrize("persist", [{"env": "KEPT"}, {"secret_slug": "consented"}])
def test_a_step_that_prints_what_is_to_be_kept_and_fails_does_not_make_us_say_it(scene, persist):
    words = " ".join(GIVEN.values())
    step = {"id": "ask", "kind": "cmd", "cmd": f"sh {scene.folder / 'step'}", "persist": persist}
    (scene.folder / "step").write_text(f"echo {words}; echo {words} >&2; exit 5\n")
    scene.write(setup=[step])

    done = scene.run(command_line("agent", "setup", "leaking"))

    assert b"the command ended with 5" in done.stdout, done
    assert sightings(surfaces(scene, done), GIVEN) == []
