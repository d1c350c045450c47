"""Applications as tools of the agent: only when trusted, and confirmed where their authors want it."""

import json
import os
import select
import threading
from pathlib import Path

import pytest

from operable.agent.tool.ability import Ability
from operable.agent.tool.offers import app_tools
from operable.app.trust import Approvals
from operable.kernel.errors import Fail
from tests.agent.agent_process import LIMIT, AgentProcess, of_type, text_in
from tests.agent.scene import scene
from tests.app.making import approved, made


def _tools(folder: Path, program: str | None = None) -> dict[str, Ability]:
    root = made(folder / "todo", program) if program else made(folder / "todo")
    approved(root, Approvals())
    return {ability.name: ability for ability in app_tools([str(root)], str(folder))}


def test_every_documented_command_is_a_tool(tmp_path: Path) -> None:
    tools = _tools(tmp_path)
    assert list(tools) == [
        "todo_usage", "todo_list", "todo_get", "todo_remove", "todo_item", "todo_item_add", "todo_item_remove",
    ]  # fmt: skip
    # The words of `item` may reach `item remove`.
    assert [name for name, tool in tools.items() if tool.always_ask] == [
        "todo_remove", "todo_item", "todo_item_remove",
    ]  # fmt: skip
    assert "## Commands" in tools["todo_usage"].run({}, scene(tmp_path)).output
    answer = tools["todo_item_add"].run({"arguments": ["milk; rm -rf /"]}, scene(tmp_path))
    assert answer.ok
    (document,) = map(json.loads, answer.output.splitlines())
    assert document["words"] == ["item", "add", "milk; rm -rf /"]


def test_a_command_that_wants_a_confirmation_is_reached_only_by_those_that_are_always_asked_about(
    tmp_path: Path,
) -> None:
    tools = _tools(tmp_path)
    assert (
        tools["todo_item"].run({"arguments": ["--force", "remove"]}, scene(tmp_path)).ok
    )  # whoever runs it was asked
    assert tools["todo_item_remove"].run({}, scene(tmp_path)).ok  # whoever runs it was asked
    assert not tools["todo_list"].run({"arguments": "no list"}, scene(tmp_path)).ok


def test_a_failure_of_the_application_is_told(tmp_path: Path) -> None:
    answer = _tools(
        tmp_path, 'say({"ok": False, "error": {"code": "NO_MILK", "message": "out of milk"}}, 1)'
    )["todo_list"].run({}, scene(tmp_path))
    assert not answer.ok
    assert "out of milk" in answer.output


def test_a_stop_ends_the_application(tmp_path: Path) -> None:
    program = "open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    tools, here = _tools(tmp_path, program), scene(tmp_path)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(tools["todo_list"].run({}, here)))
    thread.start()
    process = os.pidfd_open(int(text_in(tmp_path / "todo/pid")))
    here.cancellation.cancel()
    thread.join(LIMIT)
    assert answers[0].output == "Stopped"
    assert select.select([process], [], [], LIMIT)[0]
    os.close(process)


def test_what_nobody_has_approved_is_not_offered(tmp_path: Path) -> None:
    root = made(tmp_path / "todo")
    with pytest.raises(Fail, match="may not run"):
        app_tools([str(root)], str(tmp_path))
    approved(root, Approvals())
    (root / "app/cli.py").write_text("print('changed')")
    with pytest.raises(Fail, match="may not run"):
        app_tools([str(root)], str(tmp_path))


def test_the_agent_asks_about_it(tmp_path: Path) -> None:
    approved(made(tmp_path / "todo"), Approvals())
    with AgentProcess(tmp_path, "--app", "./todo", "--allow", "todo_remove") as agent:
        agent.script("call todo_remove {}", "say .")
        request = agent.until("tool_request")
        assert request["tool"]["category"] == "exec"
        agent.approve(request["call_id"], "always")
        assert of_type(agent.answer(), "tool_result")[0]["status"] == "success"
        assert agent.end() == 0
