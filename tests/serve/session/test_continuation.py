"""Going on: resume, fork, and what a daemon does with the sessions of one that died."""

import json
import os
import signal
import subprocess
import sys

import pytest

from operable.host.session.registry import Registry
from operable.kernel.errors import Fail
from operable.serve.session.spawn import SpawnRequest
from operable.wire.events import TextDelta
from tests.host.agents import calls
from tests.host.scene import steps
from tests.serve.session.scene import LIMIT, registry, run, until

RESUMABLE = {
    "continuation": {"default": "none", "supported": ["none", "transcript", "native-resume"]},
    "capabilities": {"resumable": True},
}
HANGS = steps({"say": "busy"}, {"hang": True})


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))


def said(sessions, session_id):
    return "".join(
        record.event.text
        for record in sessions.events(session_id).events
        if isinstance(record.event, TextDelta)
    )


async def ended(sessions, **facts):
    """A session that has had a turn and was killed."""
    view = await sessions.spawn(SpawnRequest(adapter="scripted", prompt="one", **facts))
    await until(lambda: sessions.get(view.id).state == "idle")
    await sessions.kill(view.id)
    return view


def test_a_resume_is_native_where_the_manifest_and_the_agent_say_so(tmp_path):
    async def scene():
        async with registry(tmp_path, manifest=RESUMABLE) as sessions:
            before = await ended(sessions, label="Task")
            after = await sessions.resume(before.id)
            return before, after, sessions.get(before.id)

    before, after, kept = run(scene())
    assert (after.continues, after.label, after.status) == (before.id, "Task", "running")
    assert kept.status == "killed"  # an end is an end
    assert "--resume" in calls(tmp_path / "bin")[-1]["argv"]


def test_a_resume_by_transcript_quotes_what_was_said_before_the_first_prompt_only(tmp_path):
    async def scene():
        async with registry(tmp_path, manifest=RESUMABLE) as sessions:
            before = await ended(sessions)
            after = await sessions.resume(before.id, how="transcript")
            for number, word in enumerate(("two", "three"), 1):
                await sessions.prompt(after.id, word)
                await until(lambda n=number: (v := sessions.get(after.id)).state == "idle" and v.turns == n)
            return said(sessions, after.id)

    text = run(scene())
    assert text.count("[user] one") == 1
    assert text.endswith("You said: three")


def test_a_session_that_nothing_supports_is_not_resumed(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            before = await ended(sessions)
            with pytest.raises(Fail) as refused:
                await sessions.resume(before.id)
            running = await sessions.spawn(SpawnRequest(adapter="scripted"))
            with pytest.raises(Fail) as conflict:
                await sessions.resume(running.id)
            return refused.value, conflict.value

    refused, conflict = run(scene())
    assert "is not supported" in refused.message
    assert conflict.code == "SESSION_RUNNING"


def test_a_fork_begins_with_what_was_said_and_the_other_goes_on(tmp_path):
    async def scene():
        async with registry(tmp_path, manifest=RESUMABLE) as sessions:
            first = await sessions.spawn(SpawnRequest(adapter="scripted", prompt="one"))
            await until(lambda: sessions.get(first.id).state == "idle")
            fork = await sessions.fork(first.id)
            await sessions.prompt(fork.id, "two")
            await until(lambda: (v := sessions.get(fork.id)).state == "idle" and v.turns == 1)
            return first, fork, said(sessions, fork.id), sessions.get(first.id)

    first, fork, text, kept = run(scene())
    assert fork.continues == first.id
    assert "[user] one" in text
    assert (kept.status, kept.turns) == ("running", 1)


def test_a_resumed_session_takes_over_the_prompts_that_waited(tmp_path):
    async def scene():
        async with registry(tmp_path, manifest=RESUMABLE) as sessions:
            view = await sessions.spawn(SpawnRequest(adapter="scripted", prompt=HANGS))
            await until(lambda: sessions.get(view.id).last_line == "busy")
            for word in ("two", "three"):
                await sessions.prompt(view.id, word, queue=True)
            await sessions.kill(view.id)
            assert sessions.get(view.id).queued == 2
            after = await sessions.resume(view.id, how="native-resume")
            await until(lambda: (v := sessions.get(after.id)).state == "idle" and v.turns == 2)
            return said(sessions, after.id), sessions.get(view.id).queued

    assert run(scene()) == ("You said: twoYou said: three", 0)


DAEMON = """
import asyncio, json, sys
from pathlib import Path
from operable.serve.session.spawn import SpawnRequest
from tests.serve.session.scene import new_registry, until

async def main(folder, more):
    sessions = new_registry(folder, manifest=more)
    views = []
    for recover in ("native-resume", ""):
        view = await sessions.spawn(SpawnRequest(adapter="scripted", prompt=sys.argv[3], recover=recover))
        await until(lambda: sessions.get(view.id).last_line == "busy")
        await sessions.prompt(view.id, "two", queue=True)
        views.append(view.id)
    print(json.dumps(views), flush=True)
    await asyncio.sleep(1000)

asyncio.run(main(Path(sys.argv[1]), json.loads(sys.argv[2])))
"""


def test_after_kill_9_sessions_are_errors_or_resumed_and_nothing_acknowledged_is_lost(tmp_path):
    command = [sys.executable, "-c", DAEMON, str(tmp_path), json.dumps(RESUMABLE), HANGS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ, cwd=os.getcwd()) as daemon:
        assert daemon.stdout is not None
        try:
            asked, plain = json.loads(daemon.stdout.readline())
        finally:
            daemon.send_signal(signal.SIGKILL)
        daemon.wait(LIMIT)

    async def scene():
        async with registry(tmp_path, manifest=RESUMABLE) as sessions:
            (recovered,) = await sessions.recover()
            assert recovered.id == asked
            assert recovered.problem is None
            view = recovered.view
            await until(lambda: (v := sessions.get(view.id)).state == "idle" and v.turns == 1)
            again = await sessions.recover()
            lost = sessions.get(plain)
            return said(sessions, view.id), again, lost, sessions.get(asked), said(sessions, plain)

    text, again, lost, before, kept = run(scene())
    assert text == "You said: two"  # what had waited in the session that died
    assert again == ()
    assert (before.status, before.error, before.state) == ("error", "interrupted", "failed")
    assert (lost.status, lost.queued, kept) == ("error", 1, "busy")
    pids = [home.meta.pid for home in Registry().sessions()]
    assert daemon.pid in pids
