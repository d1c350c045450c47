"""What happens in the middle of things: a second message, a stop, an end, answers in every order, the three modes."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.agent.agent_process import AgentProcess, of_type, problems, said
from tests.requirement import requirement

WRITE = 'call Write {"file_path": "%s", "content": "x"}'


def _requests(agent: AgentProcess, count: int) -> list[str]:
    return [agent.until("tool_request")["call_id"] for _ in range(count)]


@requirement("jsonstream:2:second-message")
def test_a_second_message_is_refused_and_does_not_disturb_the_first(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.script(WRITE % "a", "say Done.")
        (call_id,) = _requests(agent, 1)
        agent.message("me, too", "m2")
        error = agent.until("error")
        assert (error["msg_id"], error["error"]["code"]) == ("m2", "protocol_error")
        agent.approve(call_id)
        assert said(agent.answer("m1")) == "Done."
        agent.message("and now", "m3")
        assert said(agent.answer("m3")) == "You said: and now"
        assert agent.end() == 0
    assert [event["msg_id"] for event in of_type(agent.events, "stream_start")] == ["m1", "m3"]


@requirement("jsonstream:2:stop")
@pytest.mark.parametrize(
    ("steps", "wait_for"),
    [
        (("say Once upon a time", "wait 600", "say never"), "text_delta"),
        (('call Bash {"command": "echo $$ > pid; trap \'\' INT TERM; sleep 600"}',), "tool_running"),
        ((WRITE % "never",), "tool_request"),
    ],
    ids=["in the answer", "in a tool", "before approval"],
)
def test_stop_ends_the_stream_and_the_conversation_goes_on(
    steps: tuple[str, ...], wait_for: str, tmp_path: Path
) -> None:
    with AgentProcess(tmp_path, "--allow", "Bash") as agent:
        agent.script(*steps)
        seen = agent.until(wait_for)
        agent.send({"type": "stop"})
        rest = agent.answer()
        assert [event["type"] for event in rest if event["type"] != "tool_cancelled"] == ["stream_end"]
        if wait_for != "text_delta":
            assert of_type(rest, "tool_cancelled")[0]["call_id"] == seen["call_id"]
        agent.send({"type": "tool_approve", "call_id": seen.get("call_id", "none")})
        assert agent.until("error")["error"]["code"] == "protocol_error"
        agent.message("go on", "m2")
        assert said(agent.answer("m2")) == "You said: go on"
        assert agent.end() == 0
    assert not (tmp_path / "never").exists()


@requirement("jsonstream:3:shutdown")
@pytest.mark.parametrize("how", ["end of file", "SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    ("steps", "reached"),
    [
        ((), ""),
        (("wait 600",), "stream_start"),
        (('call Bash {"command": "sleep 600"}',), "tool_running"),
        ((WRITE % "never",), "tool_request"),
    ],
    ids=["idle", "in the answer", "in a tool", "before approval"],
)
def test_the_agent_ends_cleanly_with_its_session_saved(
    how: str, steps: tuple[str, ...], reached: str, tmp_path: Path
) -> None:
    with AgentProcess(tmp_path, "--allow", "Bash") as agent:
        session = agent.until("ready")["session_id"]
        agent.message("remember me", "m0")
        agent.answer("m0")
        if steps:
            agent.script(*steps)
            agent.until(reached)
        if how == "end of file":
            status = agent.end()
        else:
            os.kill(agent.process.pid, getattr(signal, how))
            status = agent.wait()
        assert status == 0, agent.stderr
    if steps:
        assert agent.types()[-1] == "stream_end"
    assert not (tmp_path / "never").exists()
    with AgentProcess(tmp_path, "--resume", session) as again:
        again.message("who am I?", "m")
        assert again.answer("m")[-1]["usage"]["input_tokens"] > 5
        assert again.end() == 0


@requirement("jsonstream:2:scope-always")
def test_always_allows_the_category_of_edits_for_the_session_and_no_other(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        edit = 'call Edit {"file_path": "b", "old_string": "x", "new_string": "y"}'
        agent.script(
            WRITE % "a", "say .", WRITE % "b", "say .", edit, 'call Bash {"command": "true"}', "say end"
        )
        (first,) = _requests(agent, 1)
        agent.approve(first, "always")
        second = agent.until("tool_request")
        assert second["tool"]["name"] == "Bash"
        agent.send({"type": "tool_deny", "call_id": second["call_id"]})
        events = agent.answer()
    assert (tmp_path / "b").exists()
    assert [result["tool_name"] for result in of_type(events, "tool_result")][-1] == "Edit"
    assert of_type(events, "tool_cancelled")[0]["reason"] == "User denied"
    assert said(events).endswith("end")


@requirement("jsonstream:2:modes")
@pytest.mark.parametrize(
    ("mode", "asked"),
    [("default", ["Read", "Write", "Bash"]), ("auto_edit", ["Bash"]), ("yolo", [])],
)
def test_a_mode_decides_who_is_asked(mode: str, asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    with AgentProcess(tmp_path) as agent:
        agent.send({"type": "set_mode", "mode": mode})
        agent.until("config_changed")
        agent.script(
            'call Read {"file_path": "f"}', WRITE % "g", 'call Bash {"command": "touch h"}', "say end"
        )
        for _ in asked:
            event = agent.until("tool_request")
            agent.approve(event["call_id"])
        agent.answer()
    requests = of_type(agent.events, "tool_request")
    assert [event["tool"]["name"] for event in requests] == asked
    assert len(of_type(agent.events, "tool_result")) == 3
    assert (tmp_path / "h").exists()


@requirement("jsonstream:2:workspace")
@pytest.mark.parametrize("mode", ["default", "auto_edit"])
def test_beyond_the_workspace_every_call_is_asked_about(mode: str, tmp_path: Path) -> None:
    workspace, outside = tmp_path / "in", tmp_path / "out"
    workspace.mkdir()
    outside.mkdir()
    (workspace / "link").symlink_to(outside)
    targets = ["../out/1", f"{outside}/2", "link/3", "~/../../../../../../../../tmp/nothing-here"]
    with AgentProcess(workspace, "--allow", "Write") as agent:
        agent.send({"type": "set_mode", "mode": mode})
        agent.script(*[WRITE % target for target in targets], "say end")
        calls = _requests(agent, 4)
        agent.approve(calls[0], "always")
        for call_id in calls[1:]:
            agent.send({"type": "tool_deny", "call_id": call_id})
        agent.answer()
        # `always` said about what is outside says nothing about the next call.
        agent.script(WRITE % "../out/5", "say end", msg_id="m2")
        agent.send({"type": "tool_deny", "call_id": _requests(agent, 1)[0]})
        agent.answer("m2")
    assert sorted(os.listdir(outside)) == ["1"]


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "AGENTS.md", "link", ".vscode/tasks.json"])
@pytest.mark.parametrize("before", ["auto_edit", "always", "allow"])
def test_an_edit_of_a_file_that_becomes_execution_is_asked_about_each_time(
    before: str, path: str, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(".git/config")
    with AgentProcess(tmp_path, *(["--allow", "Write"] if before == "allow" else [])) as agent:
        if before == "auto_edit":
            agent.send({"type": "set_mode", "mode": "auto_edit"})
        elif before == "always":
            agent.script('call Write {"file_path": "a.txt", "content": "a"}', "say .", msg_id="m0")
            call_id = agent.until("tool_request")["call_id"]
            agent.send({"type": "tool_approve", "call_id": call_id, "scope": "always"})
            agent.answer("m0")
        write = json.dumps({"file_path": path, "content": "b"})
        for number in (1, 2):
            agent.script(
                f"call Write {write}",
                'call Write {"file_path": "b.txt", "content": "b"}',
                "say .",
                msg_id=f"m{number}",
            )
            request = agent.until("tool_request")
            assert request["tool"]["args"]["file_path"] == path
            agent.send({"type": "tool_approve", "call_id": request["call_id"], "scope": "always"})
            assert [each["status"] for each in of_type(agent.answer(f"m{number}"), "tool_result")] == [
                "success"
            ] * 2
        assert agent.end() == 0


@requirement("jsonstream:2:set-config-queued")
def test_a_configuration_that_comes_during_an_answer_waits_for_its_end(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.script(WRITE % "a", "say end")
        (call_id,) = _requests(agent, 1)
        agent.send({"type": "set_config", "model": "next"})
        assert "queued" in agent.until("info")["message"]
        agent.approve(call_id)
        agent.answer()
        assert agent.until("info")["message"].startswith("config applied: model=next")
        agent.until("config_changed")
        assert agent.end() == 0


def test_every_call_of_a_session_has_an_id_of_its_own(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--auto-approve", "--session-id", "ids") as agent:
        agent.script(*[WRITE % name for name in "abc"], "say end")
        agent.answer()
        agent.end()
    with AgentProcess(tmp_path, "--auto-approve", "--resume", "ids") as again:
        again.script(*[WRITE % name for name in "abc"], "say end", msg_id="m2")
        again.answer("m2")
    ids = [event["call_id"] for event in of_type(agent.events + again.events, "tool_running")]
    assert len(set(ids)) == 6


def test_an_unknown_tool_and_arguments_that_are_none_are_results_not_requests(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.script(
            "call Teleport {}",
            "malformed Write {oops",
            r'call Read {"file_path": "a\u0000b"}',
            "say {result}",
        )
        events = agent.answer()
    results = of_type(events, "tool_result")
    assert [event["status"] for event in results] == ["error"] * 3
    assert "Unknown tool: Teleport" in results[0]["output"]
    assert "not a JSON object" in results[1]["output"]
    assert of_type(events, "tool_request", "tool_running") == []


@requirement("jsonstream:2:guards")
def test_runs_that_go_in_circles_are_brought_to_an_answer(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    failing = ['call Read {"file_path": "none"}', "say ."] * 3
    circles = ['call Read {"file_path": "f"}', "say .", 'call Glob {"pattern": "*"}', "say ."] * 4
    broken = ["malformed Read {", "say ."] * 3
    with AgentProcess(tmp_path, "--auto-approve") as agent:
        agent.script(*failing, *failing, msg_id="failing")
        assert len(of_type(agent.answer("failing"), "tool_result")) == 3
        agent.script(*circles, *circles, msg_id="circles")
        assert len(of_type(agent.answer("circles"), "tool_result")) == 8
        agent.script(*broken, *broken, msg_id="broken")
        assert problems(agent.answer("broken"))[0][0] == "tool_error"
    with AgentProcess(tmp_path, "--auto-approve", "--max-turns", "2") as short:
        short.script(*[line for name in "abcd" for line in (WRITE % name, "say .")], "say end")
        assert len(of_type(short.answer(), "tool_result")) == 2


def test_an_empty_answer_is_asked_for_once_more(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("# nothing\n")
    with AgentProcess(tmp_path, env={"OPERABLE_OFFLINE_SCRIPT": str(script)}) as agent:
        agent.message("hello")
        events = agent.answer()
        assert [event["type"] for event in events if event["type"] != "ready"] == [
            "stream_start",
            "stream_end",
        ]
        assert events[-1]["usage"]["input_tokens"] > 2


def test_calls_of_one_round_are_carried_out_in_their_order_whatever_is_decided_first(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--allow", "Bash", "--allow", "Read") as agent:
        agent.script(
            'call Bash {"command": "echo 1 >> f"}',
            f'call Read {{"file_path": "{tmp_path}/f"}}',
            WRITE % "asked",
            'call Bash {"command": "echo 2 >> f"}',
            f'call Read {{"file_path": "{tmp_path}/f", "offset": 0}}',
            "say Done.",
        )
        (call_id,) = _requests(agent, 1)
        agent.approve(call_id)
        events = agent.answer()
        assert agent.end() == 0
    order = [event["call_id"].rpartition("-")[2] for event in of_type(agent.events, "tool_running")]
    results = [event["output"] for event in of_type(agent.events, "tool_result")]

    assert said(events).endswith("Done.")
    assert order == ["1", "2", "3", "4", "5"]
    assert [text.split() for text in (results[1], results[4])] == [["1", "1"], ["1", "1", "2", "2"]]
