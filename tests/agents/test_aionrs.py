"""The bundled manifest of aionrs against a real one, of whichever release `AIONRS_BIN` names (several: as in PATH).

Without it the recorded conversations of the releases are replayed (`tests/host/cassettes/aionrs-*`), as in every run.
"""

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

import operable.host
from operable.host import Decision, define_agent_cli, rules
from operable.testing.models import ModelServer
from operable.wire.events import AgentError, TextDelta, ToolCall, ToolResult, TurnEnd
from tests.agents.loopback import environment

MANIFEST = Path(operable.host.__file__).parent / "agents" / "aionrs" / "AGENT-CLI.md"
PROGRAMS = os.environ.get("AIONRS_BIN", "").split(os.pathsep)
LIMIT = 120


def script(*replies):
    return "SCRIPT:" + json.dumps(list(replies))


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


class Place:
    """A real aionrs on PATH, with a home, a workspace and a scripted model of its own."""

    def __init__(self, root, models):
        self.models = models
        self.work = root / "work"
        self.work.mkdir()
        self.env = environment("aionrs", root / "home", models.url)
        self.handle = define_agent_cli(MANIFEST)
        self.allow = True

    async def start(self, **options):
        options.setdefault("on_ask", lambda _: Decision(self.allow, "" if self.allow else "not in this test"))
        return await self.handle.start(
            workspace=str(self.work),
            env=self.env,
            may_install=False,
            model="claude-sonnet-5",
            options={"provider": "anthropic"},
            timeout=60,
            **options,
        )

    def write(self, name, *after):
        call = {"call": "write", "args": {"path": str(self.work / name), "text": "made\n"}}
        return script([call], *([{"say": text}] for text in after))


async def turn(session, text):
    return [event async for event in session.send(text)]


@pytest.fixture(params=PROGRAMS, ids=lambda program: Path(program).name or "none")
def place(request, tmp_path, monkeypatch):
    if not request.param:
        pytest.skip("AIONRS_BIN names no real aionrs")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "aionrs").symlink_to(request.param)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    with ModelServer() as models:
        yield Place(tmp_path, models)


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, LIMIT))


def test_a_real_aionrs_answers_asks_obeys_and_says_what_a_turn_took(place):
    async def scene():
        async with await place.start() as talk:
            plain = await turn(talk, script([{"say": "The answer.", "chunks": 3}]))
            allowed = await turn(talk, place.write("allowed.txt", "Written."))
            place.allow = False
            denied = await turn(talk, place.write("denied.txt", "Then not."))
            long = await turn(talk, script([{"say": "word " * 20_000, "chunks": 50}]))
            return plain, allowed, denied, long

    plain, allowed, denied, long = run(scene())

    assert text_of(plain) == "The answer."
    assert (place.work / "allowed.txt").read_text() == "made\n"
    (call,) = [event for event in allowed if isinstance(event, ToolCall)]
    assert (call.tool_name, call.kind) == ("Write", "edit")
    assert not (place.work / "denied.txt").exists()
    assert [event.denied for event in denied if isinstance(event, ToolResult)] == [True]
    assert len(text_of(long)) == 100_000
    usages = [events[-1].usage for events in (plain, allowed, denied, long)]
    assert [(usage.input_tokens, usage.output_tokens) for usage in usages] == [
        (100, 20),
        (200, 40),
        (200, 40),
        (100, 20),
    ]


def test_a_real_aionrs_goes_on_after_a_cancel_and_remembers(place):
    async def scene():
        async with await place.start() as talk:
            await turn(talk, script([{"say": "First."}]))
            running = talk.send(script([{"say": "Going on."}, {"hang": True}]))
            await anext(running)
            await talk.cancel()
            end = [event async for event in running][-1]
            again = await turn(talk, script([{"say": "Still here."}]))
            return end, again

    end, again = run(scene())

    assert end.reason == "cancelled"
    assert text_of(again) == "Still here."
    assert "First." in json.dumps(place.models.exchanges[-1].body["messages"])


def test_a_real_aionrs_is_resumed_with_the_usage_of_the_turn(place):
    async def scene():
        async with await place.start() as talk:
            await turn(talk, script([{"say": "First."}]))
            session_id = talk.agent_session_id
        async with await place.start(resume=session_id) as talk:
            return await turn(talk, script([{"say": "I remember."}]))

    resumed = run(scene())

    assert text_of(resumed) == "I remember."
    assert (resumed[-1].usage.input_tokens, resumed[-1].usage.output_tokens) == (100, 20)
    assert "First." in json.dumps(place.models.exchanges[-1].body["messages"])


@pytest.mark.parametrize(
    "reply, shown",
    [
        ([{"status": 401, "message": "invalid key"}], "401"),
        ([{"status": 400, "message": "bad request"}], "400"),
        ([{"say": "Half"}, {"drop": "cut"}], ""),
    ],
    ids=["401", "400", "cut"],
)
def test_an_error_of_the_model_is_an_error_of_the_turn_of_a_real_aionrs(place, reply, shown):
    async def scene():
        async with await place.start() as talk:
            failed = await turn(talk, script(reply, reply, reply, reply))
            return failed, await turn(talk, script([{"say": "Better."}]))

    failed, after = run(scene())

    errors = [event for event in failed if isinstance(event, AgentError)]
    assert isinstance(failed[-1], TurnEnd)
    assert failed[-1].reason == "error"
    assert shown in errors[0].error.message
    assert text_of(after) == "Better."


def test_a_rule_decides_for_a_real_aionrs_without_a_question(place):
    async def scene():
        def nobody(_):
            raise AssertionError("a rule decides this")

        policy = rules(allow=["edit:**/yes.txt"], deny=["edit:**"])
        async with await place.start(policy=policy, on_ask=nobody) as talk:
            await turn(talk, place.write("yes.txt", "Written."))
            await turn(talk, place.write("no.txt", "Not written."))

    run(scene())

    assert sorted(path.name for path in place.work.glob("*.txt")) == ["yes.txt"]


def test_a_real_aionrs_that_is_killed_ends_its_turn_and_two_at_once_do_not_disturb_each_other(place):
    async def scene():
        async with await place.start() as first, await place.start() as second:
            running = first.send(script([{"say": "x"}, {"hang": True}]))
            await anext(running)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(first._link.process.pid, signal.SIGKILL)
            lost = [event async for event in running][-1]
            return lost, await turn(second, script([{"say": "Unharmed."}]))

    lost, other = run(scene())

    assert lost.reason == "error"
    assert text_of(other) == "Unharmed."
