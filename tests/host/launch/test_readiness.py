import asyncio
import os
from typing import Any

import pytest

from operable.host.launch.readiness import areadiness, readiness
from operable.kernel.errors import Fail
from operable.manifest.blocks import Auth, CmdStep, Install, Login, Persist, PromptStep, VersionCheck
from tests.host.launch.making import Somebody, Turnstile, Vault, agent, calls, launch, program, recorder
from tests.requirement import requirement

VENDORED = Install(method="vendored", path="vendor/agent")
OPEN = Login(cmd="agent login")


@pytest.fixture
def turnstile(tmp_path):
    """Counts the calls of a program that may write nothing; each of its words has a pipe to pass."""
    with Turnstile(tmp_path / "turnstile", "--version", "setup", "login") as counting:
        yield counting


def npm_that_installs(tmp_path, *versions):
    """A fake npm that installs another version each time."""
    for number, version in enumerate(versions):
        program(tmp_path / f"v{number}", f"echo agent {version}")
    put = f'n=$(wc -l < {tmp_path}/npm.calls); mkdir -p "$3/node_modules/.bin"; cp {tmp_path}/v$((n-1)) "$3/node_modules/.bin/agent"'
    recorder(tmp_path, "npm", put)
    return (Install(method="npm", package="an-agent"),)


@requirement("aip45:lifecycle:install", "aip45:lifecycle:version-check")
def test_a_manifest_becomes_a_program_that_may_be_started(tmp_path):
    program(tmp_path / "vendor" / "agent")
    ready = readiness(launch(tmp_path, agent(install=(VENDORED,))))
    assert (ready.binary, ready.version, ready.method) == (
        str(tmp_path / "vendor" / "agent"),
        "1.5.0",
        "vendored",
    )
    assert ready.env["PATH"].split(os.pathsep)[0] == str(tmp_path / "vendor")


def test_a_second_start_runs_nothing_at_all(tmp_path, turnstile):
    program(tmp_path / "vendor" / "agent", turnstile.script)
    manifest = agent(install=(VENDORED,), setup=(CmdStep(id="a", cmd="agent setup"),), auth=Auth(login=OPEN))
    person = Somebody()
    for _ in range(3):
        readiness(launch(tmp_path, manifest, person=person))
    assert turnstile.passed == ["--version", "setup", "login"]


def test_a_program_that_was_already_there_is_asked_once(tmp_path, turnstile):
    program(tmp_path / "bin" / "agent", turnstile.script)
    methods = {readiness(launch(tmp_path, agent(), tmp_path / "bin")).method for _ in range(3)}
    assert (methods, turnstile.passed) == ({None}, ["--version"])


def test_a_program_that_changed_on_the_search_path_is_asked_again(tmp_path, turnstile):
    for folder in ("one", "two"):
        program(tmp_path / folder / "agent", turnstile.script)
        ready = readiness(launch(tmp_path, agent(), tmp_path / folder))
        assert ready.binary == str(tmp_path / folder / "agent")
    assert len(turnstile.passed) == 2


@requirement("aip-substrate:4.3:reinstall-once")
def test_a_version_out_of_range_is_installed_again_once(tmp_path):
    methods = npm_that_installs(tmp_path, "1.1.0", "1.9.0")
    first = launch(
        tmp_path,
        agent(install=methods, version_check=VersionCheck(cmd="agent -V", parse=r"(\d\S+)", range="1.1")),
        tmp_path,
    )
    assert readiness(first).version == "1.1.0"
    newer = agent(
        install=methods, version_check=VersionCheck(cmd="agent -V", parse=r"(\d\S+)", range=">=1.5 <2")
    )
    assert readiness(launch(tmp_path, newer, tmp_path)).version == "1.9.0"
    assert len(calls(tmp_path, "npm")) == 2


@requirement("aip-substrate:4.3:reinstall-once", "aip-substrate:4.2:cache-per-major")
def test_a_version_that_stays_out_of_range_is_a_mismatch_and_is_forgotten(tmp_path):
    methods = npm_that_installs(tmp_path, "3.0.0", "3.0.0", "3.0.0")
    program(tmp_path / "bin" / "agent", "echo agent 2.0.0")
    work = launch(tmp_path, agent(install=methods), tmp_path, tmp_path / "bin")
    with pytest.raises(Fail) as caught:
        readiness(work)
    assert (caught.value.code, caught.value.details["aip_code"], caught.value.details["version"]) == (
        "VERSION_MISMATCH",
        "version_mismatch",
        "3.0.0",
    )
    assert len(calls(tmp_path, "npm")) == 1
    assert work.ledger.install("agent@1", work.installation().source) is None


def test_when_nothing_better_can_be_had_the_version_is_the_problem(tmp_path):
    program(tmp_path / "bin" / "agent", "echo 9.0.0")
    with pytest.raises(Fail) as caught:
        readiness(launch(tmp_path, agent(install=(Install(method="scoop", package="x"),)), tmp_path / "bin"))
    assert caught.value.code == "VERSION_MISMATCH"
    assert "scoop" in str(caught.value.details["attempts"])


def test_installing_can_be_forbidden(tmp_path):
    program(tmp_path / "vendor" / "agent")
    with pytest.raises(Fail) as caught:
        readiness(launch(tmp_path, agent(install=(VENDORED,)), may_install=False))
    assert (caught.value.code, caught.value.hint) == ("AGENT_NOT_INSTALLED", "operable agent install agent")


@requirement("aip45:setup:headless", "aip45:setup:refuses-spawn")
def test_without_a_person_open_steps_are_listed_and_nothing_is_ready(tmp_path):
    program(tmp_path / "bin" / "agent")
    steps = (CmdStep(id="a", cmd="touch ran"), PromptStep(id="b", prompt="?"))
    with pytest.raises(Fail) as caught:
        readiness(launch(tmp_path, agent(setup=steps), tmp_path / "bin"))
    assert caught.value.details["aip_code"] == "setup_required"
    pending: Any = caught.value.details["pending"]
    assert [step["id"] for step in pending] == ["a", "b"]
    assert not (tmp_path / "workspace" / "ran").exists()


@requirement("aip45:setup:once")
def test_setup_is_done_once_for_a_workspace_and_a_user(tmp_path):
    program(tmp_path / "bin" / "agent")
    manifest = agent(setup=(CmdStep(id="a", cmd="echo x >> ran"),))
    for user in ("me", "me", "you"):
        readiness(launch(tmp_path, manifest, tmp_path / "bin", person=Somebody(), user=user))
    assert (tmp_path / "workspace" / "ran").read_text().split() == ["x", "x"]


def test_what_setup_kept_is_in_the_environment(tmp_path):
    program(tmp_path / "bin" / "agent")
    step = PromptStep(id="a", prompt="?", type="secret", persist=Persist(env="AGENT_TOKEN"))
    manifest, vault = agent(setup=(step,)), Vault()
    readiness(launch(tmp_path, manifest, tmp_path / "bin", person=Somebody("t0ken"), store=vault))
    ready = readiness(launch(tmp_path, manifest, tmp_path / "bin", store=vault))
    assert ready.env["AGENT_TOKEN"] == "t0ken"
    assert "t0ken" not in repr(ready)


@requirement("aip45:setup:once", "aip45:setup:refuses-spawn")
def test_setup_comes_before_login_and_login_before_the_start(tmp_path, turnstile):
    program(tmp_path / "bin" / "agent", turnstile.script)
    manifest = agent(setup=(CmdStep(id="a", cmd="agent setup"),), auth=Auth(login=OPEN))
    with pytest.raises(Fail) as caught:
        readiness(launch(tmp_path, manifest, tmp_path / "bin"))
    assert caught.value.details["aip_code"] == "setup_required"
    launch(tmp_path, manifest, tmp_path / "bin").setup(str(tmp_path / "bin" / "agent")).run()
    with pytest.raises(Fail) as caught:
        readiness(launch(tmp_path, manifest, tmp_path / "bin"))
    assert (caught.value.details["aip_code"], caught.value.details["login_command"]) == (
        "auth_required",
        "agent login",
    )
    assert turnstile.passed == ["--version", "setup"]


def test_the_commands_of_a_manifest_are_confined_as_the_caller_wants(tmp_path):
    confined = []

    def confine(command):
        confined.append(command.argv)
        return command

    binary = program(tmp_path / "bin" / "agent")
    manifest = agent(setup=(CmdStep(id="a", cmd="agent setup"),))
    readiness(launch(tmp_path, manifest, tmp_path / "bin", person=Somebody(), confine=confine))
    assert confined == [(str(binary), "--version"), (str(binary), "setup")]


def test_asyncio_waits_without_blocking_and_cancelling_stops_the_work(tmp_path):
    os.mkfifo(tmp_path / "started")
    recorder(tmp_path, "npm", f"echo > {tmp_path}/started; exec sleep 600")

    async def main():
        work = launch(tmp_path, agent(install=(Install(method="npm", package="x"),)), tmp_path)
        task = asyncio.create_task(areadiness(work))
        await asyncio.to_thread((tmp_path / "started").read_text)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return os.listdir(tmp_path / "state" / "installs" / "agent@1")

    assert asyncio.run(main()) == []


def test_asyncio_gives_the_same_answer(tmp_path):
    program(tmp_path / "bin" / "agent")
    assert asyncio.run(areadiness(launch(tmp_path, agent(), tmp_path / "bin"))).version == "1.5.0"
    with pytest.raises(Fail):
        asyncio.run(areadiness(launch(tmp_path, agent(bin="missing"), tmp_path / "bin")))
