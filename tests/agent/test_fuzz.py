"""A hundred thousand damaged lines: no crash, no tool that nobody approved, no line of output that is none."""

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from operable.agent.assembly import assemble
from operable.agent.stream_server import StreamServer
from tests.agent.agent_process import AgentProcess
from tests.agent.fuzzing import damaged
from tests.requirement import requirement

KINDS = {
    *(
        "stream_start",
        "text_delta",
        "thinking",
        "tool_request",
        "tool_result",
        "tool_cancelled",
        "stream_end",
    ),
    *("error", "info", "config_changed", "pong"),
}
ANSWERED = b'{"type":"ping"}'


def _check(events: list[dict[str, Any]], workspace: Path) -> None:
    kinds = Counter(event["type"] for event in events)
    assert set(kinds) <= KINDS  # among them no tool_running: nothing was approved
    assert kinds["error"] > len(events) / 10
    assert kinds["tool_request"] > 10
    assert kinds["stream_start"] == kinds["stream_end"] > 10
    running: Any = None
    for event in events:
        if event["type"] == "stream_start":
            assert running is None
            running = event["msg_id"]
        elif event["type"] == "stream_end":
            assert event["msg_id"] == running
            running = None
        elif event["type"] == "tool_result":
            assert event["status"] == "error"
        elif event["type"] == "error":
            assert event["error"]["code"] in ("protocol_error", "provider_error")
    assert os.listdir(workspace) == ["f"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "f").write_text("x")
    return folder


def _lines_of(descriptor: int) -> Iterator[bytes]:
    with os.fdopen(descriptor, "rb") as file:
        yield from file


@requirement("jsonstream:1:hostile-input")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(4))
def test_damaged_lines_do_no_harm(seed: int, workspace: Path) -> None:
    options = {"provider": "offline", "workspace": str(workspace), "no_session": True}
    conversation, close = assemble(options, {})
    from_agent, stdout = os.pipe()
    stdin, to_agent = os.pipe()
    server = StreamServer(conversation, stdin=stdin, stdout=stdout, close=close)
    events: list[dict[str, Any]] = []
    reader = threading.Thread(
        target=lambda: events.extend(json.loads(line) for line in _lines_of(from_agent))
    )
    reader.start()
    server.obey(b'{"type":"message","msg_id":"first","content":"closes the window for servers"}')
    for line in damaged(seed, 25_000):
        server.obey(line)
        # The history of thousands of messages is not what is tried here.
        if len(conversation.turns) > 50 and not server._busy():
            conversation.turns.clear()
    server.obey(b'{"type":"stop"}')
    server.obey(ANSWERED)
    server._leave()
    for descriptor in (stdin, to_agent, stdout):
        os.close(descriptor)
    reader.join(60)
    assert {"type": "pong"} in events[-20:]  # a queued configuration may follow
    _check(events, workspace)


@requirement("jsonstream:1:hostile-input")
def test_damaged_lines_do_no_harm_to_the_process(workspace: Path) -> None:
    with AgentProcess(workspace) as agent:
        agent.until("ready")
        agent.message("closes the window for servers", "first")
        agent.answer("first")
        first = len(agent.events)
        sender = threading.Thread(
            target=lambda: agent.raw(
                b"".join(line + b"\n" for line in damaged(99, 3000)) + b'{"type":"stop"}\n'
            )
        )
        sender.start()
        sender.join(50)
        agent.send({"type": "set_config", "model": "the-end"})
        agent.until(lambda event: event["type"] == "info" and "the-end" in event["message"])
        agent.until("config_changed")
        events = agent.events[first:]
        assert agent.end() == 0
    _check(events, workspace)
    assert b"Traceback" not in agent.stderr
