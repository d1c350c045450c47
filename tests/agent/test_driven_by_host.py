"""The built-in agent, driven by this project's own host like any other agent."""

import sys
from pathlib import Path
from typing import Any

import pytest

from operable.host import Ask, define_agent_cli, rules
from operable.kernel.errors import Fail
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


@pytest.mark.parametrize(
    "allowed, written",
    [
        (["kind:edit"], ["a.txt"]),
        (["kind:edit", "edit:**"], ["a.txt"]),
        (["kind:edit", "edit:AGENTS.md"], ["AGENTS.md", "a.txt"]),
        (["*"], ["AGENTS.md", "a.txt"]),
    ],
)
def test_an_allow_of_every_edit_does_not_answer_for_a_file_that_becomes_execution(
    tmp_path: Path, allowed: list[str], written: list[str]
) -> None:
    operable = {"mode_ids": {"auto-edit": "auto_edit"}, "unasking_modes": {"auto-edit": ["edit"]}}
    manifest = {**AGENT, "modes": [{"id": "auto-edit"}], "metadata": {"operable": operable}}
    script = "script:\n" + "\n".join(
        f'call Write {{"file_path": "{name}", "content": "x"}}\nsay .' for name in ("a.txt", "AGENTS.md")
    )
    with define_agent_cli(manifest).start_sync(
        workspace=str(tmp_path), mode="auto-edit", policy=rules(allow=allowed)
    ) as session:
        session.send(script).result()

    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == written


def test_a_person_answers_for_a_file_that_becomes_execution(tmp_path: Path) -> None:
    operable = {"mode_ids": {"auto-edit": "auto_edit"}, "unasking_modes": {"auto-edit": ["edit"]}}
    manifest = {**AGENT, "modes": [{"id": "auto-edit"}], "metadata": {"operable": operable}}
    asked: list[str] = []

    def say_yes(ask: Ask) -> bool:
        asked.append(ask.why)
        return True

    with define_agent_cli(manifest).start_sync(
        workspace=str(tmp_path),
        mode="auto-edit",
        policy=rules(allow=["kind:edit"]),
        on_ask=say_yes,
    ) as session:
        session.send('script:\ncall Write {"file_path": "AGENTS.md", "content": "x"}\nsay .').result()

    assert (tmp_path / "AGENTS.md").read_text() == "x"
    assert len(asked) == 1
    assert "only a rule that names it, or a person" in asked[0]


def test_the_mode_of_the_draft_is_refused_with_the_spelling_of_manifests(tmp_path: Path) -> None:
    manifest = {**AGENT, "modes": [{"id": "auto-edit"}]}

    with pytest.raises(Fail) as failure:
        define_agent_cli(manifest).start_sync(workspace=str(tmp_path), mode="auto_edit", policy=rules())

    assert "auto-edit" in str(failure.value.hint)
