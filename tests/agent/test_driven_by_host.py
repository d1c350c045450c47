"""The built-in agent, driven by this project's own host like any other agent."""

import sys
from pathlib import Path
from typing import Any

from operable.host import define_agent_cli, rules
from operable.wire.events import TextDelta, ToolCall, ToolResult, TurnEnd

AGENT: dict[str, Any] = {
    "name": "operable-agent",
    "id": "operable-agent",
    "description": "The built-in agent.",
    "version": "1.0.0",
    "bin": str(Path(sys.executable).parent / "operable-agent"),
    "bin_args": ["--json-stream", "--offline"],
    "install": [{"method": "vendored", "path": "operable-agent"}],
    "version_check": {"cmd": f"{sys.executable} --version", "parse": r"(\d+\.\d+\.\d+)", "range": ">=3.11"},
    "sandbox": {"provider": "local", "config": {}},
    "protocol": "proprietary",
    "adapter": "operable/json-stream",
    "capabilities": {"resumable": True},
    "continuation": {"default": "pinned-session", "supported": ["pinned-session", "transcript", "none"]},
}


def test_a_turn_with_an_allowed_and_a_denied_call(tmp_path: Path) -> None:
    script = 'script:\ncall Write {"file_path": "a.txt", "content": "x"}\ncall Bash {"command": "touch b.txt"}\nsay {result}'
    judge = rules(allow=["edit:**"], default="deny")
    with define_agent_cli(AGENT).start_sync(workspace=str(tmp_path), policy=judge) as session:
        events = list(session.send(script))
        again = session.send("and again").result()
    # A denial is an answer at once, an allowed call has work to do: which ends first is not said.
    denied = {event.tool_call_id: event.denied for event in events if isinstance(event, ToolResult)}
    called = {event.tool_name: event.tool_call_id for event in events if isinstance(event, ToolCall)}
    assert {name: denied[call_id] for name, call_id in called.items()} == {"Write": False, "Bash": True}
    assert "denied" in "".join(event.text for event in events if isinstance(event, TextDelta))
    assert isinstance(events[-1], TurnEnd)
    assert "You said: and again" in again.text
    assert sorted(path.name for path in tmp_path.glob("*.txt")) == ["a.txt"]
