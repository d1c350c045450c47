"""Every method and every error of the protocol in sessions with a real server (tests/flow/transcribed.py has the rules)."""

import json

import pytest

from operable.flow.operation import listed_methods
from tests.flow.transcribed import Replay, differences, names, read
from tests.requirement import requirement

# A session is many requests, and some of them start programs.
pytestmark = pytest.mark.timeout(300)


@requirement(
    "agentcli:rpc:ready",
    "agentcli:rpc:ping",
    "agentcli:rpc:envelope",
    "agentcli:rpc:errors",
    "agentcli:rpc:notifications",
    "agentcli:rpc:schema",
    "agentcli:rpc:validate",
    "agentcli:rpc:methods",
)
@pytest.mark.parametrize("name", names())
def test_the_server_says_what_the_transcript_says(name, tmp_path):
    transcript = read(name)
    replay = Replay(transcript, tmp_path.resolve())
    try:
        for exchange in transcript.exchanges:
            replay.say(exchange.line)
            if exchange.answer is not None:
                found = replay.heard()
                wrong = differences(exchange.answer, found, transcript.head.get("volatile", {}))
                assert wrong == [], exchange.line
        rest, status, errors = replay.end()
    finally:
        replay.kill()

    assert rest == [], "nothing more than the answers"
    assert status == 0
    assert "Traceback" not in errors


def exchanged(method):
    """The answers to this method, in whatever transcript."""
    asked = []
    for name in names():
        for exchange in read(name).exchanges:
            request = None if exchange.as_text else json.loads(exchange.line)
            if isinstance(request, dict) and request.get("method") == method and exchange.answer is not None:
                asked.append(exchange.answer)
    return asked


@pytest.mark.parametrize("method", listed_methods(), ids=lambda method: method.method)
def test_every_method_has_a_transcript_with_a_result_and_if_it_takes_params_an_error(method):
    assert method.method.removeprefix("agentcli.") in names(), "write tests/flow/transcripts/<method>.jsonl"

    answers = exchanged(method.method)
    assert any("result" in answer for answer in answers)
    assert not method.requested or any("error" in answer for answer in answers)


def test_no_answer_holds_a_credential_of_the_environment():
    known = [value for name in names() for value in read(name).head.get("environment", {}).values()]
    secrets = [value for value in known if "c4n4ry" in value]
    answers = json.dumps([exchange.answer for name in names() for exchange in read(name).exchanges])

    assert secrets
    assert not any(secret in answers for secret in secrets)


def test_every_error_of_the_contract_is_in_a_transcript():
    errors = [
        exchange.answer["error"]
        for name in names()
        for exchange in read(name).exchanges
        if exchange.answer is not None and "error" in exchange.answer
    ]
    kinds = {(error["code"], error["data"]["error_type"]) for error in errors}

    assert kinds == {
        (-32700, "parse_error"),
        (-32600, "invalid_argument"),
        (-32601, "unknown_command"),
        (-32602, "invalid_argument"),
        (-32602, "validation_error"),
        (-32602, "parse_error"),
        (-32603, "internal_error"),
        (-32000, "validation_error"),
    }
    hidden = [error for error in errors if error["code"] == -32603]
    assert {error["message"] for error in hidden} == {"Internal error"}
    assert "the disk is on fire" not in json.dumps(hidden), "what the scheduler said stays on stderr"


def test_a_transcript_notices_what_is_different():
    volatile = {"<n>": "[0-9]+", "<o>": "object"}
    same = {"a": "<n>", "b": [1, "<o>"]}

    assert differences(same, {"a": "12", "b": [1, {}]}, volatile) == []
    for other in (
        {"a": "x", "b": [1, {}]},
        {"a": "1", "b": [1.0, {}]},
        {"a": "1", "b": [True, {}]},
        {"a": "1", "b": [1, []]},
        {"a": "1", "b": [1]},
        {"b": [1, {}], "a": "1"},
        {"a": "1"},
    ):
        assert differences(same, other, volatile) != []
