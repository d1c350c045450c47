"""What goes over the line: damaged messages, secrets in parameters, and clients that leave; against the real process."""

import json
import os
import subprocess
from random import Random
from typing import Any

import pytest

from tests.agent.acp_editor import AGENT, PATIENCE

pytestmark = pytest.mark.timeout(400)


def test_lines_that_are_no_messages_are_answered_and_the_next_is_read(tmp_path):
    bad = b'nonsense\n[1]\n5\n{"jsonrpc":"2.0","id":{},"result":1}\n{"id":1,"method":5}\n\xff\n'
    good = b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}\n'
    unknown = (
        b'{"jsonrpc":"2.0","id":8,"method":"no/such"}\n{"jsonrpc":"2.0","id":9,"method":"session/new"}\n'
    )

    ran = subprocess.run(
        [*AGENT, "--offline"],
        input=bad + good + unknown,
        capture_output=True,
        timeout=PATIENCE,
        cwd=tmp_path,
        check=False,
    )

    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0
    assert [answer["error"]["code"] for answer in answers if answer["id"] is None] == [
        -32700, -32600, -32600, -32600, -32600, -32700,
    ]  # fmt: skip
    of = {answer["id"]: answer for answer in answers}
    assert of[7]["result"]["protocolVersion"] == 1
    assert (of[8]["error"]["code"], of[9]["error"]["code"]) == (-32601, -32602)


def test_keys_in_parameters_are_not_repeated_in_complaints_about_them(tmp_path):
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "session/new",
        "params": {"cwd": 5, "mcpServers": [{"name": "x", "env": [{"name": "KEY", "value": "hunter2"}]}]},
    }

    ran = subprocess.run(
        [*AGENT, "--offline"],
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        timeout=PATIENCE,
        cwd=tmp_path,
        check=False,
    )

    assert b"hunter2" not in ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["error"]["code"] == -32602


def test_mutated_messages_never_end_it_never_break_a_line_and_never_run_a_tool(tmp_path):
    """Half of the lines are whole messages of a client, the others are damaged in some way; the seed is fixed."""
    random = Random(5)
    valid = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
        {"id": 2, "method": "session/new", "params": {"cwd": str(tmp_path), "mcpServers": []}},
        {"id": 3, "method": "session/list", "params": {}},
        {
            "id": 4,
            "method": "session/prompt",
            "params": {"sessionId": "x", "prompt": [{"type": "text", "text": "y"}]},
        },
        {"method": "session/cancel", "params": {"sessionId": "x"}},
        {"id": 5, "method": "session/set_mode", "params": {"sessionId": "x", "modeId": "yolo"}},
        {"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "allow"}}},
        {"id": 0, "error": {"code": -1, "message": "no"}},
    ]
    junk: list[Any] = [None, True, -1, 1e300, "", "x", [], {}, [[]], {"a": {}}]
    lines = [_mutated(random, json.loads(json.dumps(random.choice(valid))), junk) for _ in range(1500)]

    ran = subprocess.run(
        [*AGENT, "--offline", "--no-session"],
        input=b"\n".join(lines) + b"\n",
        capture_output=True,
        timeout=PATIENCE,
        cwd=tmp_path,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr[-2000:]
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) > 500
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert not [answer for answer in answers if answer.get("method") == "session/request_permission"]


def _mutated(random: Random, message: dict[str, Any], junk: list[Any]) -> bytes:
    message["jsonrpc"] = "2.0"
    for _ in range(random.randrange(3)):
        place = random.choice([message, message.get("params")])
        if isinstance(place, dict) and place:
            place[random.choice(list(place))] = random.choice(junk)
    line = bytearray(json.dumps(message).encode())
    if random.random() < 0.2:
        line[random.randrange(len(line))] = random.choice(b'{}[]",:\x00\xff\x7f')
    return bytes(line).replace(b"\n", b"")


def test_a_client_that_stops_reading_does_not_keep_it_alive(tmp_path):
    reading, writing = os.pipe()
    with subprocess.Popen(
        [*AGENT, "--offline"], stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE, cwd=tmp_path
    ) as process:
        os.close(writing)
        assert process.stdin is not None
        process.stdin.write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
        )
        process.stdin.flush()
        assert os.read(reading, 1)
        os.close(reading)
        process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}\n')
        process.stdin.flush()
        status = process.wait(PATIENCE)

    assert status == 141
