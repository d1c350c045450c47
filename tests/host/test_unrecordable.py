"""Nothing goes on unrecorded: a session, a turn, a permission and what the host does for an agent, when the chain fails."""

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from operable.gate.audit.chain import verify_audit
from operable.host.session.registry import Registry
from operable.host.start.assembly import start_session
from operable.kernel.errors import Fail
from operable.proc.spawn import prepare
from operable.wire.events import ToolResult
from tests.host.scene import SCRIPTED, session, starting, steps
from tests.host.session.test_client_methods import call, methods


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 200))


def spoil(tmp_path):
    """Nothing can be appended any more: something else has the place of the next head."""
    (chain,) = tmp_path.glob("state/*/audit.jsonl")
    Path(f"{chain}.head.new").mkdir()
    return chain


def restore(chain):
    Path(f"{chain}.head.new").rmdir()


def crowd_out(file):
    """Something else has the place of a file: it cannot be replaced."""
    file.unlink()
    file.mkdir()


def records(chain):
    return [msgspec.json.decode(line) for line in chain.read_bytes().splitlines()]


def test_a_yes_that_cannot_be_recorded_does_not_reach_the_agent(tmp_path):
    chains, seen = [], []

    def on_ask(_):
        chains.append(spoil(tmp_path))
        return True

    async def scene():
        async with session(tmp_path, on_ask=on_ask) as talk:
            asked = steps(
                {"call": "Write", "kind": "edit", "ask": True, "args": {"path": "a"}, "result": "ok"}
            )
            turn = talk.send(asked)
            try:
                while True:
                    seen.append(await anext(turn))
            except Fail as failure:
                return failure

    failed = run(scene())
    restore(chains[0])

    assert failed.code == "AUDIT_UNWRITABLE"
    assert [event for event in seen if isinstance(event, ToolResult) and not event.is_error] == []
    assert "agent.decision" not in [record["action"] for record in records(chains[0])]
    assert verify_audit(str(chains[0])).ok


def heard(file):
    """A scripted agent of which everything that it is sent is in a file too."""
    agent = [*SCRIPTED, "--protocol", "json-stream", "--json", "{}"]
    return lambda words: prepare(["sh", "-c", 'tee "$0" | "$@"', str(file), *agent, *words])


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_message_that_cannot_be_recorded_is_not_sent(tmp_path, monkeypatch, is_locked):
    """While the host waits for the lock, an agent that had the message would long have it in its file."""
    monkeypatch.setattr("operable.gate.audit.chain._WAIT", 1.0)
    file = tmp_path / "sent"

    async def scene():
        async with session(tmp_path, spawn=heard(file)) as talk:
            (lock,) = tmp_path.glob("state/*/audit.jsonl.lock")
            with lock.open() as held:
                if is_locked:
                    fcntl.flock(held, fcntl.LOCK_EX)
                found = await talk.send(steps({"say": "I heard it"})).result()
            return found, talk.status

    found, status = run(scene())
    assert ("I heard it" in file.read_text()) is not is_locked
    if is_locked:
        assert [error.code for error in found.errors] == ["audit_unwritable"]
        assert (found.reason, found.text, status) == ("error", "", "error")


def test_an_agent_whose_session_cannot_be_recorded_is_not_started(tmp_path):
    started: list[object] = []
    start = starting(tmp_path, spawn=started.append)
    assert start.registry is not None
    os.makedirs(start.registry.audit_path(start.workspace))

    with pytest.raises(Fail, match="the audit chain cannot be written"):
        run(start_session(start))
    assert started == []


@pytest.mark.parametrize(
    "method, params",
    [
        ("fs/write_text_file", {"path": "made", "content": "x"}),
        ("terminal/create", {"command": "touch", "args": ["made"]}),
    ],
)
def test_what_the_host_cannot_record_it_does_not_do_and_the_session_hears_of_it(tmp_path, method, params):
    served, work, desk = methods(tmp_path)
    (tmp_path / "audit.jsonl.head.new").mkdir()

    async def scene():
        try:
            await call(served, desk, method, **params)
        finally:
            await served.close()

    with pytest.raises(Fail) as failure:
        run(scene())

    assert failure.value.code == "AUDIT_UNWRITABLE"
    assert os.listdir(work) == []


def test_what_the_host_does_for_an_agent_is_recorded_before_and_after(tmp_path):
    served, work, desk = methods(tmp_path)

    async def scene():
        await call(served, desk, "fs/write_text_file", path="a", content="four")
        made, _ = await call(served, desk, "terminal/create", command="sh", args=["-c", "exit 3"])
        await call(served, desk, "terminal/wait_for_exit", terminalId=made["terminalId"])
        await call(served, desk, "fs/write_text_file", path="a/b", content="x")
        await served.close()

    run(scene())
    found = records(tmp_path / "audit.jsonl")
    told = [(each["action"], each["metadata"].get("closes"), each.get("output")) for each in found]

    assert (work / "a").read_text() == "four"
    assert told == [
        ("agent.host-call.started", None, None),
        ("agent.host-call", 0, {"characters": 4}),
        ("agent.host-call.started", None, None),
        ("agent.host-call", 2, {"exitCode": 3, "signal": None}),
        ("agent.host-call.started", None, None),
        ("agent.host-call", 4, told[-1][2]),
    ]
    assert "error" in told[-1][2]
    assert verify_audit(str(tmp_path / "audit.jsonl")).running == 0


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.host.scene import session, steps
async def scene(folder):
    async with session(folder) as talk:
        async for event in talk.send(steps({"say": "x"}, {"hang": True})):
            print("seen", flush=True)
asyncio.run(scene(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGHUP])
def test_what_a_killed_host_had_begun_is_lost_to_the_next_one(tmp_path, how):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "seen\n"
        (chain,) = tmp_path.glob("state/*/audit.jsonl")
        alive = verify_audit(str(chain))
        host.send_signal(how)
        host.wait(100)
    assert (alive.ok, alive.lost) == (True, 0)
    assert alive.running >= 2  # the session and its turn
    assert verify_audit(str(chain)).lost == alive.running

    async def scene():
        async with session(tmp_path):
            pass

    run(scene())
    found = verify_audit(str(chain))
    assert (found.ok, found.lost, found.running) == (True, alive.running, 0)
    assert {"session.start", "agent.turn.started"} <= {
        each["output"].get("action") for each in records(chain) if each["action"] == "audit.lost"
    }
    assert len(Registry(str(tmp_path / "state")).sessions()) == 2


def test_an_announced_call_and_its_end_are_in_the_chain_while_the_turn_still_runs(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            call = {"call": "Read", "kind": "read", "args": {"path": "a"}, "result": "ok"}
            async for event in talk.send(steps(call, {"hang": True})):
                if isinstance(event, ToolResult):
                    (chain,) = tmp_path.glob("state/*/audit.jsonl")
                    return records(chain)
        return []

    found = run(scene())
    (begun,) = [each for each in found if each["action"] == "agent.tool-call.started"]
    (ended,) = [each for each in found if each["action"] == "agent.tool-call"]

    assert begun["metadata"]["phase"] == "started"
    assert ended["metadata"]["closes"] == begun["seq"]
    assert "agent.turn" not in [each["action"] for each in found]


def test_a_session_whose_registry_cannot_be_written_ends_and_lets_everybody_go(tmp_path):
    async def scene():
        talk = await start_session(starting(tmp_path))
        crowd_out(Path(talk.home.folder, "meta.json"))
        found = await talk.send(steps({"say": "x"})).result()
        with contextlib.suppress(Fail):
            await talk.close()
        return found.text, talk.status, talk.log.closed

    assert run(scene()) == ("x", "error", True)


def test_an_agent_whose_session_cannot_be_marked_as_running_is_ended(tmp_path):
    pid = tmp_path / "pid"

    def spawn(words):
        (meta,) = tmp_path.glob("state/*/sessions/*/meta.json")
        crowd_out(meta)
        agent = [*SCRIPTED, "--protocol", "json-stream", "--json", "{}"]
        return prepare(["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(pid), *agent, *words])

    with pytest.raises(Fail) as failure:
        run(start_session(starting(tmp_path, spawn=spawn)))

    assert failure.value.code == "STATE_UNWRITABLE"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
