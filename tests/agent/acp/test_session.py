"""The built-in agent in our own host, by both of its bundled manifests: one over ACP, one over JSON-stream."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

import operable.host
from operable.host import Ask, Decision, define_agent_cli, rules
from operable.wire.events import AgentPlan, AgentPrompt, ModeChange, TextDelta, Thought, ToolCall, ToolResult

BUNDLED = Path(operable.host.__file__).parent / "agents"
NAMES = ("operable-agent", "operable-agent-acp")
pytestmark = pytest.mark.timeout(400)


def script(*lines: str) -> str:
    return "\n".join(("script:", *lines))


class Scene:
    """One agent in a workspace of its own, with a host that answers what it is told to answer."""

    def __init__(self, name: str, root: Path) -> None:
        self.work = root / "work"
        self.work.mkdir(exist_ok=True)
        self.state = root / "state"
        program = root / "bin" / "operable-agent"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!{sys.executable}\nfrom operable.agent.front import main\nmain()\n")
        program.chmod(0o755)
        self.env = {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "OPERABLE_HOME": str(root / "agent"),
            "HOME": str(root),
        }
        self.handle = define_agent_cli(BUNDLED / name / "AGENT-CLI.md")
        self.asks: list[Ask] = []
        self.decision = Decision(True)

    def answer(self, ask: Ask) -> Decision:
        self.asks.append(ask)
        return self.decision

    async def start(self, **options):
        return await self.handle.start(
            workspace=str(self.work),
            state=str(self.state),
            env=self.env,
            options={"provider": "offline"},
            may_install=False,
            timeout=200,
            **({} if "policy" in options else {"on_ask": self.answer}),
            **options,
        )


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def text_of(events):
    return "".join(event.text for event in of(events, TextDelta))


async def events_of(turn):
    return [event async for event in turn]


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 300))


@pytest.fixture(params=NAMES)
def scene(request, tmp_path, monkeypatch):
    made = Scene(request.param, tmp_path)
    monkeypatch.setenv("PATH", made.env["PATH"])
    return made


def test_a_turn_gives_text_thoughts_and_usage_and_the_process_ends(scene):
    async def play():
        async with await scene.start() as session:
            events = await events_of(session.send(script("think so", "say Hello")))
        return events, session.status

    events, status = run(play())

    assert (text_of(events), of(events, Thought)[0].text) == ("Hello", "so")
    assert events[-1].reason == "completed"
    assert events[-1].usage.output_tokens > 0
    assert status == "exited"


def test_calls_are_asked_about_and_allowed_or_denied_with_the_reason(scene):
    async def play():
        async with await scene.start() as session:
            write = 'call Write {"file_path": "a.txt", "content": "x"}'
            allowed = await events_of(session.send(script(write, "say done")))
            scene.decision = Decision(False, "not today")
            denied = await events_of(session.send(script('call Bash {"command": "touch b"}', "say {result}")))
        return allowed, denied

    allowed, denied = run(play())

    assert [ask.tool for ask in scene.asks] == ["Write", "Bash"]
    assert (scene.work / "a.txt").read_text() == "x"
    assert not (scene.work / "b").exists()
    assert of(allowed, ToolCall)[0].kind == "edit"
    assert not of(allowed, ToolResult)[0].is_error
    assert of(denied, ToolResult)[0].denied
    assert text_of(denied) == "Tool denied: not today"
    assert denied[-1].reason == "completed"


def test_a_cancel_ends_the_turn_and_the_session_goes_on(scene):
    async def play():
        async with await scene.start() as session:
            turn = session.send(script("say begun", 'call Bash {"command": "sleep 600"}', "say never"))
            async for event in turn:
                if isinstance(event, ToolCall):
                    break
            await session.cancel()
            rest = await events_of(turn)
            again = await session.send("and now?").result()
        return rest, again

    rest, again = run(play())

    assert rest[-1].reason == "cancelled"
    assert again.text == "You said: and now?"


def test_a_session_is_taken_up_by_another_process(scene):
    async def play():
        async with await scene.start() as first:
            await first.send("remember this").result()
            agents_id = first.agent_session_id
        async with await scene.start(resume=agents_id) as second:
            again = await second.send("go on").result()
        return agents_id, second.agent_session_id, again

    before, after, again = run(play())

    assert before == after
    assert again.ok


async def _until_now(session):
    last = session.log.last_id
    async for record in session.events():
        yield record
        if record.id >= last:
            return


def test_a_mode_is_chosen_at_the_start_and_changed_later(scene):
    async def play():
        # In a mode that does not ask, only rules that deny nothing can be kept.
        async with await scene.start(mode="auto-edit", policy=rules(allow=["*"])) as session:
            write = 'call Write {"file_path": "a.txt", "content": "x"}'
            unasked = await events_of(session.send(script(write, "say done")))
            session.select(mode="default")
            asked = await events_of(session.send(script(write.replace("a.txt", "b.txt"), "say done")))
            changes = [
                record.event.mode
                async for record in _until_now(session)
                if isinstance(record.event, ModeChange)
            ]
        return unasked, asked, changes

    unasked, asked, changes = run(play())

    assert (len(of(unasked, AgentPrompt)), len(of(asked, AgentPrompt))) == (0, 1)
    assert {path.name for path in scene.work.iterdir()} == {"a.txt", "b.txt"}
    assert changes[-1] == "default"


def test_over_acp_its_plan_is_an_event_of_its_own(tmp_path, monkeypatch):
    scene = Scene("operable-agent-acp", tmp_path)
    monkeypatch.setenv("PATH", scene.env["PATH"])
    call = 'call UpdatePlan {"entries": [{"content": "Look", "status": "pending"}]}'

    async def play():
        async with await scene.start() as session:
            return await events_of(session.send(script(call, "say planned")))

    events = run(play())

    assert [entry.content for plan in of(events, AgentPlan) for entry in plan.entries] == ["Look"]
    assert scene.asks == []
