import json
import os
import signal
import subprocess
import time

import pytest

from operable.testing import scripted_command as command
from operable.testing.script import ScriptError
from tests.testing.conversation import LIMIT, Conversation

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
NEW = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}}
CANCEL = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "session-1"}}


def acp(script=None) -> Conversation:
    agent = Conversation(command("acp", script))
    agent.send(INITIALIZE, NEW)
    agent.until(answer_to(2))
    return agent


def prompt(*steps, id=3, text="SCRIPT:"):
    text += json.dumps(list(steps)) if steps else ""
    params = {"sessionId": "session-1", "prompt": [{"type": "text", "text": text}]}
    return {"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params}


def answer_to(request_id):
    return lambda message: message.get("id") == request_id and "method" not in message


def asks(message):
    return message.get("method") == "session/request_permission"


def permission(option, id=0):
    return {"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "selected", "optionId": option}}}


def updates(messages):
    return [message["params"]["update"] for message in messages if message.get("method") == "session/update"]


def kinds(messages):
    return [update["sessionUpdate"] for update in updates(messages)]


def test_a_turn_streams_what_its_steps_say_and_ends_once():
    with acp() as agent:
        agent.send(prompt({"think": "hm"}, {"say": "Hello", "chunks": 2}, {"plan": []}))
        seen = agent.until(answer_to(3))

    assert kinds(seen) == ["agent_thought_chunk", "agent_message_chunk", "agent_message_chunk", "plan"]
    assert "".join(update["content"]["text"] for update in updates(seen)[1:3]) == "Hello"
    assert seen[-1]["result"] == {"stopReason": "end_turn"}


def test_a_prompt_without_a_marker_is_echoed_and_a_name_picks_a_turn():
    with acp({"turns": {"greet": [{"say": "Hi."}]}}) as agent:
        agent.send(prompt(text="good morning"))
        echo = agent.until(answer_to(3))
        agent.send(prompt(text="please SCRIPT:greet", id=4))
        greeting = agent.until(answer_to(4))

    assert updates(echo)[0]["content"]["text"] == "You said: good morning"
    assert updates(greeting)[0]["content"]["text"] == "Hi."


@pytest.mark.parametrize(
    "option, status, written", [("allow", "completed", True), ("reject", "failed", False)]
)
def test_a_call_that_asks_is_carried_out_only_when_it_is_allowed(tmp_path, option, status, written):
    target = tmp_path / "made"
    step = {"call": "write", "ask": True, "touch": str(target), "denied": [{"say": "Pity."}]}
    with acp() as agent:
        agent.send(prompt(step))
        agent.until(asks)
        agent.send(permission(option))
        seen = agent.until(answer_to(3))

    assert [update["status"] for update in updates(seen) if "status" in update][-1] == status
    assert target.exists() == written
    assert ("agent_message_chunk" in kinds(seen)) == (not written)
    assert seen[-1]["result"] == {"stopReason": "end_turn"}


def test_a_cancel_ends_a_turn_that_hangs_and_the_next_turn_plays():
    with acp() as agent:
        agent.send(prompt({"say": "on it"}, {"hang": True}))
        agent.until(lambda message: "method" in message)
        agent.send(CANCEL)
        ended = agent.until(answer_to(3))
        agent.send(prompt({"say": "again"}, id=4))
        again = agent.until(answer_to(4))

    assert ended[-1]["result"] == {"stopReason": "cancelled"}
    assert again[-1]["result"] == {"stopReason": "end_turn"}


def test_a_cancel_that_comes_with_its_prompt_ends_it_and_one_before_it_does_not():
    with acp() as agent:
        agent.send(CANCEL)
        agent.send(prompt({"say": "on it"}))
        unhurt = agent.until(answer_to(3))
        agent.send(prompt({"hang": True}, id=4), CANCEL)
        ended = agent.until(answer_to(4))
        agent.send(prompt({"say": "again"}, id=5))
        again = agent.until(answer_to(5))

    reasons = [messages[-1]["result"]["stopReason"] for messages in (unhurt, ended, again)]
    assert reasons == ["end_turn", "cancelled", "end_turn"]


def test_what_follows_the_end_is_sent_after_the_end():
    with acp() as agent:
        agent.send(prompt({"end": "end_turn"}, {"say": "late"}))
        ended = agent.until(answer_to(3))
        late = agent.until(lambda message: "method" in message)

    assert kinds(ended) == []
    assert kinds(late) == ["agent_message_chunk"]


def test_a_flood_delivers_every_piece():
    with acp() as agent:
        agent.send(prompt({"flood": 1300, "size": 10}))
        seen = agent.until(answer_to(3))

    assert kinds(seen) == ["agent_message_chunk"] * 1300


def test_noise_and_raw_bytes_reach_stdout_as_they_are():
    with Conversation(command("acp", {"start": [{"noise": "Welcome!"}, {"raw": {"hex": "ff0a"}}]})) as agent:
        assert [agent.line(), agent.line()] == [b"Welcome!", b"\xff"]


@pytest.mark.parametrize("how, code", [(7, 7), ("SIGKILL", -signal.SIGKILL)])
def test_it_dies_in_the_middle_of_a_turn_when_told(how, code):
    with acp() as agent:
        agent.send(prompt({"say": "so"}, {"die": how}))
        assert agent.process.wait(timeout=LIMIT) == code


def test_the_end_of_stdin_ends_it_even_in_a_turn():
    with acp() as agent:
        agent.send(prompt({"say": "x"}, {"hang": True}))
        agent.until(lambda message: "method" in message)
        agent.hang_up()
        assert agent.process.wait(timeout=LIMIT) == 0


def test_a_stubborn_one_ignores_the_end_of_stdin_and_sigterm():
    with acp({"eof": "ignore", "term": "ignore"}) as agent:
        agent.send(prompt({"wait": 0.2}, {"say": "still here"}, {"hang": True}))
        agent.hang_up()
        agent.process.terminate()
        seen = agent.until(lambda message: message.get("method") == "session/update")

    assert kinds(seen) == ["agent_message_chunk"]


def test_a_grandchild_leaves_its_pid_and_outlives_the_agent(tmp_path):
    pid_file = tmp_path / "pids"
    step = {"grandchild": 600, "session": True, "stubborn": True, "pid_file": str(pid_file)}
    with acp() as agent:
        agent.send(prompt(step))
        agent.until(answer_to(3))
        agent.process.kill()
        agent.process.wait(timeout=LIMIT)
        pid = int(pid_file.read_text())
        os.kill(pid, 0)
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + LIMIT
        while alive(pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_requests_to_the_host_are_answered_into_the_text():
    with acp({"options": {"ids": "uuid"}}) as agent:
        agent.send(prompt({"request": "fs/read_text_file", "params": {"path": "/x"}}))
        asked = agent.until(lambda message: message.get("method") == "fs/read_text_file")[-1]
        agent.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": "abc"}})
        seen = agent.until(answer_to(3))

    assert asked["id"] == "00000000-0000-4000-8000-000000000000"
    assert asked["params"] == {"sessionId": "session-1", "path": "/x"}
    assert updates(seen)[0]["content"]["text"] == '{"content":"abc"}'


def test_the_handshake_can_fail_be_late_or_demand_a_login():
    with Conversation(command("acp", {"options": {"errors": {"initialize": "broken"}}})) as agent:
        agent.send(INITIALIZE)
        assert agent.until(answer_to(1))[-1]["error"]["message"] == "broken"
    with Conversation(command("acp", {"options": {"auth_required": True}})) as agent:
        agent.send(INITIALIZE, NEW)
        assert agent.until(answer_to(2))[-1]["error"]["code"] == -32000


def test_a_line_that_is_no_json_is_answered_and_survived():
    with acp() as agent:
        assert agent.process.stdin is not None
        agent.process.stdin.write(b"{nonsense\n")
        agent.send(prompt({"say": "fine"}))
        seen = agent.until(answer_to(3))

    assert seen[0]["error"]["code"] == -32700
    assert seen[-1]["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize(
    "script", [{"default": [{"dance": 1}]}, {"turns": {"x": [{"say": "a", "loudly": True}]}}, {"encore": []}]
)
def test_a_script_that_cannot_be_played_is_refused_before_it_runs(script):
    with pytest.raises(ScriptError):
        command("acp", script)


def test_json_stream_asks_and_goes_on_after_a_denial():
    step = {"call": "Write", "kind": "edit", "ask": True, "denied": [{"say": "Pity."}]}
    with Conversation(command("json-stream", {"default": [step]})) as agent:
        agent.send({"type": "message", "msg_id": "m", "input": "go"})
        asked = agent.until(lambda message: message["type"] == "tool_request")
        agent.send({"type": "tool_deny", "call_id": asked[-1]["call_id"], "reason": "not now"})
        seen = agent.until(lambda message: message["type"] == "stream_end")

    assert [message["type"] for message in asked] == ["ready", "stream_start", "tool_request"]
    assert [message["type"] for message in seen] == ["tool_cancelled", "text_delta", "stream_end"]
    assert seen[0]["reason"] == "not now"


def test_json_stream_stops_and_reports_unknown_commands():
    with Conversation(command("json-stream")) as agent:
        agent.send({"type": "message", "msg_id": "m", "content": 'SCRIPT:[{"hang":true}]'})
        agent.until(lambda message: message["type"] == "stream_start")
        agent.send({"type": "dance"})
        seen = agent.until(lambda message: message["type"] == "error")
        agent.send({"type": "stop"})
        seen += agent.until(lambda message: message["type"] == "stream_end")

    assert [message["type"] for message in seen] == ["error", "stream_end"]
    assert seen[0]["error"]["code"] == "protocol_error"


def test_the_json_stream_reference_agent_exits_when_stopped():
    with Conversation(command("json-stream", {"options": {"quirks": ["exit-on-stop"]}})) as agent:
        agent.send({"type": "stop"})
        assert agent.process.wait(timeout=LIMIT) == 0


def test_it_tells_its_version_and_loads_nothing_heavy():
    argv = command("acp")
    version = subprocess.run([*argv, "--version"], capture_output=True, text=True, timeout=LIMIT, check=True)
    loaded = subprocess.run(
        [argv[0], "-X", "importtime", *argv[1:]],
        input=b"",
        capture_output=True,
        timeout=LIMIT,
        check=True,
    )

    assert version.stdout == "scripted-agent 1.0.0\n"
    names = {line.rpartition(b"|")[2].strip() for line in loaded.stderr.splitlines()}
    assert b"operable.testing.player" in names
    assert not names & {b"asyncio", b"subprocess", b"threading", b"msgspec"}
