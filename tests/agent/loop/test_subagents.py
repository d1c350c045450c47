"""Sub-agents: side by side, asked about like everything else, silent but for their calls, and ended with their parent."""

import json
from pathlib import Path

from tests.agent.agent_process import AgentProcess, of_type, said


def _spawn(*tasks: tuple[str, str]) -> str:
    return "call Spawn " + json.dumps({"tasks": [{"name": name, "prompt": prompt} for name, prompt in tasks]})


def test_answers_come_back_together_and_nothing_else_is_streamed(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--auto-approve") as agent:
        agent.script(_spawn(("a", "script:\nthink hm\nsay one"), ("b", "two")), "say {result}")
        events = agent.answer()
        assert agent.end() == 0
    assert said(events) == "## a\none\n\n## b\nYou said: two"
    assert len(of_type(events, "text_delta")) == 1
    assert of_type(events, "thinking") == []
    assert [event["type"] for event in events].count("stream_end") == 1
    assert events[-1]["usage"]["output_tokens"] > 8  # theirs are counted, too


def test_what_a_sub_agent_wants_to_do_is_asked_about(tmp_path: Path) -> None:
    inner = 'script:\ncall Write {"file_path": "%s", "content": "x"}\nsay {result}'
    with AgentProcess(tmp_path) as agent:
        agent.script(_spawn(("a", inner % "a"), ("b", inner % "b")), "say {result}")
        spawn = agent.until("tool_request")
        assert (spawn["tool"]["name"], spawn["tool"]["category"]) == ("Spawn", "exec")
        agent.approve(spawn["call_id"])
        requests = [agent.until("tool_request") for _ in range(2)]
        assert len({request["call_id"] for request in requests}) == 2
        for request in requests:
            if request["tool"]["args"]["file_path"] == "a":
                agent.approve(request["call_id"])
            else:
                agent.send({"type": "tool_deny", "call_id": request["call_id"], "reason": "not b"})
        answer = said(agent.answer())
    assert "Created a" in answer
    assert "Tool denied: not b" in answer
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_depth_and_number_are_bounded(tmp_path: Path) -> None:
    deepest = "script:\n" + _spawn(("c", "too deep")) + "\nsay {result}"
    middle = "script:\n" + _spawn(("b", deepest)) + "\nsay {result}"
    with AgentProcess(tmp_path, "--auto-approve") as agent:
        agent.script(_spawn(("a", middle)), "say {result}")
        assert "Unknown tool: Spawn" in said(agent.answer())
        agent.script(_spawn(*[(str(number), "x") for number in range(6)]), "say {result}", msg_id="m2")
        assert "1 to 5" in said(agent.answer("m2"))
        rounds = [line for _ in range(5) for line in (_spawn(*[(str(n), f"{n}") for n in range(5)]), "say .")]
        agent.script(*rounds, "say {result}", msg_id="m3")
        results = of_type(agent.answer("m3"), "tool_result")
    assert "0 of 20 are left" in results[4]["output"]


def test_a_failure_of_one_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--auto-approve") as agent:
        agent.script(_spawn(("bad", "script:\nfail out of order"), ("good", "fine")), "say {result}")
        events = agent.answer()
    assert of_type(events, "error") == []
    assert "Failed: out of order" in said(events)
    assert "You said: fine" in said(events)


def test_an_approval_after_a_stop_finds_nothing_also_if_the_sub_agent_has_not_noticed_yet(
    tmp_path: Path,
) -> None:
    at_once = "import operable.agent.loop.run as run; run.STOP_GRACE = 0.0; "
    with AgentProcess(tmp_path, before=at_once) as agent:
        inner = 'script:\ncall Write {"file_path": "x", "content": "x"}\nsay .'
        agent.script(_spawn(("a", inner)))
        agent.approve(agent.until("tool_request")["call_id"])
        waiting = agent.until("tool_request")["call_id"]
        agent.send({"type": "stop"})
        agent.approve(waiting)
        assert agent.until("error")["error"]["code"] == "protocol_error"
    assert list(tmp_path.iterdir()) == []


def test_stop_ends_them_all(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        inner = 'script:\ncall Write {"file_path": "x", "content": "x"}\nsay .'
        agent.script(_spawn(("a", inner), ("b", "script:\nwait 600")))
        agent.approve(agent.until("tool_request")["call_id"])
        waiting = agent.until("tool_request")["call_id"]
        agent.send({"type": "stop"})
        agent.answer()
        agent.approve(waiting)
        assert agent.until("error")["error"]["code"] == "protocol_error"
        agent.message("go on", "m2")
        assert said(agent.answer("m2")) == "You said: go on"
        assert agent.end() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_call_of_a_sub_agent_that_needs_no_approval_is_shown_with_its_arguments_and_its_owner(
    tmp_path: Path,
) -> None:
    inner = 'script:\ncall Write {"file_path": "x", "content": "y"}\nsay .'
    with AgentProcess(tmp_path, "--auto-approve") as agent:
        agent.script(_spawn(("writer", inner)), "call Nothing {}", "say Done.")
        agent.answer()
        assert agent.end() == 0
    (running,) = [event for event in of_type(agent.events, "tool_running") if event["tool_name"] == "Write"]
    (unknown,) = [event for event in of_type(agent.events, "tool_result") if event["tool_name"] == "Nothing"]

    assert running["tool"]["args"] == {"file_path": "x", "content": "y"}
    assert running["tool"]["agent"] == "writer"
    assert unknown["tool"]["name"] == "Nothing"
