"""The bundled manifests against the real agents: unattended, without network, each with a scripted model behind it.

One conversation per agent, because their starts are what costs: a turn with streamed text, a tool call that is allowed, one
that is denied, a cancel in the middle of a turn, a turn after that, and a close that leaves no process.
"""

import asyncio
import json
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import operable.host
from operable.host import Ask, Decision, Session, define_agent_cli, rules
from operable.testing.exchange import Exchange
from operable.testing.models import ModelServer
from operable.wire.events import TextDelta, Thought, ToolCall, ToolResult, TurnEnd
from tests.agents.install import BIN, missing
from tests.agents.loopback import SHORT_LIVED, environment

BUNDLED = Path(operable.host.__file__).parent / "agents"
LIMIT = 240
MARK = "OPERABLE_TEST_MARK"


@dataclass
class Driven:
    """A manifest, the agent of agents.toml that it drives, and how it is started."""

    manifest: str
    agent: str
    start: dict[str, Any] = field(default_factory=dict)
    tells_results: bool = True
    """Whether it says how an edit ended; else the host closes the call at the end of the turn, as not known to have worked."""


DRIVEN = [
    Driven("claude-code", "claude-code"),
    Driven("cline", "cline"),
    Driven("codex", "codex"),
    Driven("codex-app-server", "codex"),
    Driven("copilot", "copilot"),
    Driven("gemini", "gemini"),
    Driven("goose", "goose"),
    # It runs commands without a question: only a session that allows them all is not refused.
    Driven("hermes", "hermes", {"policy": rules(allow=["kind:execute"], default="ask")}, tells_results=False),
    Driven("kimi-code", "kimi-code"),
    Driven("opencode", "opencode", {"mode": "ask"}),
    Driven("qwen", "qwen"),
]
AFTER_DENIAL = {"continues": "completed", "ends": "completed", "cancelled": "cancelled"}
"""`metadata.operable.after_denial` -> the reason with which a turn ends whose only call was denied"""


class Scene:
    """One agent in its own home and workspace, with a host that answers what it is told to answer."""

    def __init__(self, driven: Driven, root: Path, models: ModelServer) -> None:
        self.driven = driven
        self.work = root / "work"
        self.work.mkdir()
        self.mark = uuid.uuid4().hex
        self.env = {**environment(driven.agent, root / "home", models.url), **SHORT_LIVED, MARK: self.mark}
        self.handle = define_agent_cli(BUNDLED / driven.manifest / "AGENT-CLI.md")
        self.quirks = self.handle.manifest.metadata["operable"]
        self.allow = True
        self.asks: list[Ask] = []

    def answer(self, ask: Ask) -> Decision:
        self.asks.append(ask)
        return Decision(self.allow, "" if self.allow else "not in this test")

    async def start(self) -> Session:
        return await self.handle.start(
            workspace=str(self.work),
            env=self.env,
            on_ask=self.answer,
            may_install=False,
            timeout=120,
            **self.driven.start,
        )

    def write(self, name: str, *after: str) -> str:
        call = {"call": "write", "args": {"path": str(self.work / name), "text": "made\n"}}
        return script([{"say": "Writing."}, call], *([{"say": text}] for text in after))

    def survivors(self) -> list[str]:
        """Processes that were started for this scene, wherever they are now."""
        found = []
        wanted = f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue  # gone while we looked, or nobody's business
        return found


def script(*replies: list[Any]) -> str:
    return "SCRIPT:" + json.dumps(list(replies))


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def only(kind: type, events: list[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


async def turn(session: Session, text: str) -> list[Any]:
    events = [event async for event in session.send(text)]
    assert [type(event) for event in events].count(TurnEnd) == 1
    assert isinstance(events[-1], TurnEnd)
    return events


@pytest.mark.timeout(LIMIT + 30)
@pytest.mark.parametrize("driven", DRIVEN, ids=lambda driven: driven.manifest)
def test_a_real_agent_converses_asks_obeys_stops_and_leaves_nothing(driven, tmp_path, monkeypatch):
    if reason := missing(driven.agent):
        pytest.skip(reason)
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    with ModelServer() as models:
        scene = Scene(driven, tmp_path, models)
        asyncio.run(asyncio.wait_for(_conversation(scene, models), LIMIT))

        assert scene.survivors() == []


async def _conversation(scene: Scene, models: ModelServer) -> None:
    session = await scene.start()
    try:
        await _text_streams(session)
        await _an_allowed_call_is_carried_out(scene, session)
        await _a_denied_call_is_not(scene, session, models)
        await _a_cancel_ends_the_turn_and_reaches_the_model(session, models)
        again = await turn(session, script([{"say": "Still here."}]))
        assert "Still here." in text_of(again)
        assert again[-1].reason == "completed"
    finally:
        await session.close()


async def _text_streams(session: Session) -> None:
    events = await turn(
        session,
        script([{"think": "Let me think.", "chunks": 2}, {"say": "Hello there, world.", "chunks": 4}]),
    )

    assert "Hello there, world." in text_of(events)
    assert len(only(TextDelta, events)) > 1
    assert only(Thought, events)
    assert events[-1].reason == "completed"


async def _an_allowed_call_is_carried_out(scene: Scene, session: Session) -> None:
    scene.allow = True
    events = await turn(session, scene.write("allowed.txt", "Written."))

    assert len(scene.asks) == 1
    assert (scene.work / "allowed.txt").read_text().rstrip() == "made"
    assert [result.tool_call_id for result in only(ToolResult, events)] == [
        call.tool_call_id for call in only(ToolCall, events)
    ]
    assert not any(result.is_error for result in only(ToolResult, events)) or not scene.driven.tells_results
    assert "Written." in text_of(events)
    assert events[-1].reason == "completed"


async def _a_denied_call_is_not(scene: Scene, session: Session, models: ModelServer) -> None:
    scene.allow = False
    before = len(models.exchanges)
    events = await turn(session, scene.write("denied.txt", "I was told no."))

    after = scene.quirks["after_denial"]
    assert len(scene.asks) == 2
    assert not (scene.work / "denied.txt").exists()
    assert all(result.is_error or result.denied for result in only(ToolResult, events))
    assert len(only(ToolResult, events)) == len(only(ToolCall, events)) == 1
    assert events[-1].reason == AFTER_DENIAL[after]
    assert ("I was told no." in text_of(events)) == (after == "continues")
    if after == "continues":
        # The agent was told: the model's next request carries the refusal as the result of the call.
        told = [said.text for said in models.exchanges[-1].asked.spoken if said.role == "tool"]
        assert len(models.exchanges) > before + 1
        assert told[-1]


async def _a_cancel_ends_the_turn_and_reaches_the_model(session: Session, models: ModelServer) -> None:
    # It goes on saying things: Hermes looks whether it was cancelled only when it hears something.
    going_on = {"say": ["On and on. "] * 2000, "delay": 0.05}
    sent = session.send(script([going_on, {"hang": True}]))
    events = []
    async for event in sent:
        events.append(event)
        if isinstance(event, TextDelta):
            break
    assert await session.cancel()
    events += [event async for event in sent]

    assert only(TurnEnd, events)[-1].reason == "cancelled"
    await asyncio.to_thread(
        models.wait, lambda exchange: exchange.outcome == "disconnected" and _hangs(exchange), 90.0
    )


def _hangs(exchange: Exchange) -> bool:
    return '"hang"' in json.dumps(exchange.position.script)
