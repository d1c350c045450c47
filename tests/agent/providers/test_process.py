"""The real process, `operable-agent --json-stream`, with each provider at a model server: what a host sees."""

import json

import pytest

from tests.agent.agent_process import AgentProcess, of_type, problems, said
from tests.agent.providers.doors import DOORS, KEY, TOKEN, GoogleTokens, environment
from tests.agent.providers.sigv4 import SigningServer


def agent(workspace, name, server, *options, **variables):
    home = {
        "HOME": str(workspace / "home"),
        "XDG_STATE_HOME": str(workspace / "state"),
        "NO_PROXY": "127.0.0.1",
    }
    (workspace / "files").mkdir(exist_ok=True)
    return AgentProcess(
        workspace / "files",
        *("--provider", name, "--base-url", server.url, *options),
        env={**home, **environment(name, workspace / "account.json"), **variables},
        offline=False,
    )


def play(steps):
    return f"SCRIPT:{json.dumps(steps)}"


@pytest.mark.parametrize("name", DOORS)
def test_a_host_sees_thoughts_text_tools_and_usage(name, tmp_path):
    """With credentials that are checked: Bedrock's signature, Google's token."""
    tokens = GoogleTokens(tmp_path) if name == "vertex" else None
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "note.txt").write_text("the note")
    script = [
        [
            {"think": "Hm."},
            {"say": "Looking."},
            {"call": "Read", "args": {"file_path": str(tmp_path / "files" / "note.txt")}},
            {"call": "Glob", "args": {"pattern": "*.txt"}},
            {"usage": {"input": 10, "output": 5, "cache_read": 3, "cache_write": 2}},
        ],
        [{"say": " Done."}, {"usage": {"input": 20, "output": 7, "cache_read": 12}}],
    ]
    with (
        _server(name) as server,
        agent(tmp_path, name, server, "--thinking", "enabled", "--allow", "info") as process,
    ):
        ready = process.until("ready")
        process.message(play(script))
        while (event := process.next())["type"] != "stream_end":
            if event["type"] == "tool_request":
                process.approve(event["call_id"])
        assert process.end() == 0
    if tokens is not None:
        tokens.close()
        assert all(exchange.carried(TOKEN) for exchange in server.exchanges)

    assert ready["capabilities"]["thinking"]
    assert [event["text"] for event in of_type(process.events, "thinking")] == ["Hm."]
    assert said(process.events) == "Looking. Done."
    results = of_type(process.events, "tool_result")
    assert {event["tool_name"]: event["status"] for event in results} == {
        "Read": "success",
        "Glob": "success",
    }
    assert event["usage"] == {
        "input_tokens": 30,
        "output_tokens": 12,
        "cache_read_tokens": 15,
        "cache_write_tokens": 2,
    }
    assert problems(process.events) == []
    assert [exchange.outcome for exchange in server.exchanges] == ["completed", "completed"]


def test_a_host_sees_what_the_provider_refuses_and_may_go_on(tmp_path):
    limit = {"status": 429, "headers": {"retry-after": "0.01"}, "times": 1}
    with _server("anthropic") as server, agent(tmp_path, "anthropic", server) as process:
        process.until("ready")
        process.message(play([{"status": 401, "message": f"bad {KEY}"}]), "m1")
        refused = process.answer("m1")
        process.message(play([limit, {"say": "Hello"}]), "m2")
        limited = process.answer("m2")
        process.message(play([{"say": "Hel"}, {"drop": "cut"}]), "m3")
        cut = process.answer("m3")
        process.end()

    assert [(event["error"]["code"], event["error"]["retryable"]) for event in of_type(refused, "error")] == [
        ("provider_error", False)
    ]
    assert KEY not in json.dumps(process.events)
    assert KEY.encode() not in process.stderr
    assert ["Retrying in 0.01 s... (1/5)" in event["message"] for event in of_type(limited, "info")] == [True]
    assert said(limited) == "Hello"
    assert said(cut) == "Hel"
    assert [event["error"]["retryable"] for event in of_type(cut, "error")] == [True]


def test_a_host_that_stops_hangs_up_the_model(tmp_path):
    with _server("openai") as server, agent(tmp_path, "openai", server) as process:
        process.until("ready")
        process.message(play([{"say": "Hel"}, {"hang": True}]))
        process.until("text_delta")
        process.send({"type": "stop"})
        process.until("stream_end")
        server.wait(lambda exchange: exchange.outcome == "disconnected")
        process.message(play([{"say": "Again"}]), "m2")
        assert said(process.answer("m2")) == "Again"
        process.end()


@pytest.mark.parametrize("name", DOORS)
def test_a_host_is_told_before_ready_what_is_not_set(name, tmp_path, server):
    missing = next(iter(environment(name)))
    with agent(tmp_path, name, server, **{missing: ""}) as process:
        status = process.wait()

    assert status != 0
    assert [event["type"] for event in process.events] == ["error"]
    (code, message), *_ = problems(process.events)
    assert code == "config_error"
    assert missing in message


def _server(name):
    from operable.testing.models import ModelServer

    return SigningServer() if name == "bedrock" else ModelServer()
