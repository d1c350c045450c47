"""`operable rpc`: JSON-RPC on the descriptors of a real process, and the same answers as events."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from operable import __version__
from tests.cli.drive import alive, operable
from tests.flow.manifests import manifest
from tests.requirement import requirement
from tests.tool.drive import eventually

OPERABLE = str(Path(sys.executable).with_name("operable"))


def talk(*lines, arguments=()):
    """The lines of the server's answer to these lines."""
    text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    process = subprocess.run(
        [OPERABLE, "rpc", *arguments], input=text, capture_output=True, timeout=200, check=True
    )
    return [json.loads(line) for line in process.stdout.splitlines()]


def request(method, params=None, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}


@requirement("agentcli:rpc:ready", "agentcli:rpc:ping")
def test_the_server_is_ready_first_and_answers_a_ping():
    ready, pong = talk(request("agentcli.ping", id="x"))

    assert ready == {
        "jsonrpc": "2.0",
        "method": "agentcli.ready",
        "params": {"ok": True, "manifest_version": "0.2"},
    }
    assert pong == {"jsonrpc": "2.0", "id": "x", "result": {"ok": True, "pong": True}}


READY = b'{"jsonrpc":"2.0","method":"agentcli.ready","params":{"ok":true,"manifest_version":"0.2"}}'


@requirement("agentcli:rpc:ready", "agentcli:rpc:ping", "agentcli:rpc:methods")
@pytest.mark.parametrize("words", [("operable", "rpc"), ("operable-agentcli", "serve")])
def test_the_first_line_needs_no_request_and_answers_are_compact_lines_in_their_order(words):
    program = str(Path(sys.executable).with_name(words[0]))
    lines = b'{"jsonrpc":"2.0","id":"p","method":"agentcli.ping"}\r\n{"jsonrpc":"2.0","id":2,"method":"agentcli.version","params":{"x":1}}'

    silent, asked = (
        subprocess.run([program, *words[1:]], input=text, capture_output=True, timeout=200, check=True)
        for text in (b"", lines)
    )

    assert silent.stdout == READY + b"\n"
    version = f'{{"ok":true,"package_version":"{__version__}","manifest_version":"0.2"}}'
    assert asked.stdout.splitlines() == [
        READY,
        b'{"jsonrpc":"2.0","id":"p","result":{"ok":true,"pong":true}}',
        f'{{"jsonrpc":"2.0","id":2,"result":{version}}}'.encode(),
    ]
    assert silent.stderr == asked.stderr == b""


@requirement("agentcli:rpc:envelope")
@pytest.mark.parametrize(
    "line, code, message, id",
    [
        (b"not json\n", -32700, "Parse error", None),
        (b"[]\n", -32600, "Batch requests are not supported", None),
        (b"5\n", -32600, "Invalid Request", None),
        (b'{"id": 7}\n', -32600, "Invalid Request", 7),
        (b'{"jsonrpc": "1.0", "id": [1], "method": "agentcli.ping"}\n', -32600, "Invalid Request", [1]),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agentcli.nope"}\n', -32601, "Method not found: agentcli.nope", 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agentcli.nope", "params": []}\n', -32602, "Params must be an object", 1),
        (b'{"jsonrpc": "2.0", "id": null, "method": "agentcli.compile"}\n', -32602, "manifest is required", None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agentcli.schema", "params": {"target": null}}\n', -32602, "Unknown schema target: null", 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agentcli.schema", "params": {"legacy": 1}}\n', -32602, "legacy must be a boolean", 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "agentcli.convert", "params": {"manifest": {"version": "0.2"}}}\n', -32602, "Input manifest must be version 0.1", 1),
    ],
)  # fmt: skip
def test_the_envelope_is_judged_as_the_contract_says(line, code, message, id):
    _, answer = talk(line)

    assert (answer["error"]["code"], answer["error"]["message"], answer["id"]) == (code, message, id)
    assert answer["error"]["data"]["error_type"] in ("parse_error", "invalid_argument", "unknown_command")


@requirement("agentcli:rpc:notifications")
def test_notifications_are_never_answered_and_blank_lines_are_nothing():
    answers = talk(
        b"\r\n",
        b"   \n",
        {"jsonrpc": "2.0", "method": "agentcli.nope"},
        b'{"method": 5}\n',
        request("agentcli.ping"),
    )

    assert [answer.get("id") for answer in answers] == [None, 1]


@requirement("agentcli:rpc:validate")
def test_an_invalid_manifest_is_a_result_of_validate_and_an_error_of_compile():
    _, found, refused, compiled = talk(
        request("agentcli.validate", {"manifest": {}}, 1),
        request("agentcli.compile", {"manifest": {}}, 2),
        request("agentcli.compile", {"manifest": manifest(), "target": ""}, 3),
    )

    assert found["result"]["ok"] is False
    assert refused["error"]["code"] == -32602
    assert refused["error"]["data"]["validation"] == found["result"]
    assert compiled["result"]["target"] == "standalone"


def test_a_request_that_is_too_long_is_refused_and_the_next_is_answered():
    _, refused, pong = talk(b'{"x":"' + b"a" * (17 << 20) + b'"}\n', request("agentcli.ping"))

    assert refused["error"]["code"] == -32600
    assert pong["result"] == {"ok": True, "pong": True}


@pytest.mark.parametrize("seconds", ["0", "-1", "1e18"])
def test_a_time_limit_in_which_nothing_can_be_answered_is_refused(seconds):
    outcome = operable("rpc", "--request-timeout", seconds, input=b"")

    assert outcome.exit_code == 64
    assert outcome.of("aoi:error")[0]["target"] == "--request-timeout"


def test_in_machine_mode_each_answer_is_an_event():
    outcome = operable("rpc", input=json.dumps(request("agentcli.ping")).encode())

    assert outcome.exit_code == 0
    assert outcome.of("rpc_answer")[0]["answer"]["result"] == {"ok": True, "pong": True}


HANGS = """#!/bin/sh
case "$*" in
  *capabilities*) echo '{}' ;;
  *) echo $$ > new && mv new pid && exec sleep 3600 ;;
esac
"""


@pytest.fixture
def hanging(tmp_path):
    """A scheduler that never answers, and a way to know whether it still runs."""
    scheduler = tmp_path / "scheduler"
    scheduler.write_text(HANGS, "utf-8")
    scheduler.chmod(0o700)
    yield scheduler
    started = tmp_path / "pid"
    if started.exists():
        left = int(started.read_text())
        eventually(lambda: not alive(left), "the scheduler has ended")


def asked_to_apply(scheduler):
    params = {"manifest": manifest(), "schedulerBin": str(scheduler)}
    return json.dumps(request("agentcli.apply", params, "slow")).encode() + b"\n"


def test_a_slow_apply_never_blocks_a_ping(hanging):
    started = hanging.parent / "pid"
    with subprocess.Popen(
        [OPERABLE, "rpc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=hanging.parent
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdout.readline()
        server.stdin.write(asked_to_apply(hanging))
        server.stdin.flush()
        eventually(started.exists, "the scheduler was started")
        server.stdin.write(json.dumps(request("agentcli.ping", id="quick")).encode() + b"\n")
        server.stdin.flush()
        quick = json.loads(server.stdout.readline())
        os.kill(int(started.read_text()), signal.SIGKILL)
        rest, _ = server.communicate(timeout=200)

    assert quick == {"jsonrpc": "2.0", "id": "quick", "result": {"ok": True, "pong": True}}
    assert [json.loads(line)["id"] for line in rest.splitlines()] == ["slow"]
    assert server.returncode == 0


def test_a_request_that_takes_too_long_is_told_and_the_end_of_the_input_leaves_no_process(hanging):
    done = subprocess.run(
        [OPERABLE, "rpc", "--request-timeout", "2"],
        input=asked_to_apply(hanging),
        stdout=subprocess.PIPE,
        cwd=hanging.parent,
        timeout=200,
        check=True,
    )

    _, slow = map(json.loads, done.stdout.splitlines())
    assert (slow["id"], slow["error"]["code"], slow["error"]["data"]["code"]) == ("slow", -32000, "timeout")


def test_what_a_method_starts_has_no_share_in_the_protocol(tmp_path):
    """The scheduler of this session reads its stdin to the end and prints to its stdout."""
    scheduler = tmp_path / "scheduler"
    scheduler.write_text('#!/bin/sh\ncat > "$0.taken"\necho noise\necho more noise >&2\nexit 1\n', "utf-8")
    scheduler.chmod(0o700)
    params = {"manifest": manifest(), "schedulerBin": str(scheduler), "dbPath": str(tmp_path / "x.db")}

    _, failed, pong = sorted(
        talk(request("agentcli.apply", params, 1), request("agentcli.ping", id=2)),
        key=lambda answer: answer.get("id", 0),
    )

    assert failed["error"]["message"] == "Internal error"
    assert pong["result"] == {"ok": True, "pong": True}


@pytest.mark.parametrize("closed, said", [("<&-", ["agentcli.ready"]), ("2>&-", ["agentcli.ready", 1])])
def test_without_a_stdin_there_are_no_requests_and_without_a_stderr_all_is_as_ever(closed, said):
    """A number that was closed from the beginning belongs to whatever the process has opened since."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" rpc {closed}', OPERABLE],
        input=json.dumps(request("agentcli.ping")).encode() + b"\n",
        stdout=subprocess.PIPE,
        timeout=200,
        check=False,
    )

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line.get("method") or line["id"] for line in lines] == said
    assert done.returncode == 0


def test_a_fault_is_answered_also_when_nobody_reads_stderr(tmp_path):
    scheduler = tmp_path / "scheduler"
    scheduler.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    scheduler.chmod(0o700)
    params = {"manifest": manifest(), "schedulerBin": str(scheduler), "dbPath": str(tmp_path / "x.db")}
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [OPERABLE, "rpc"],
            input=json.dumps(request("agentcli.apply", params, 1)).encode() + b"\n",
            stdout=subprocess.PIPE,
            stderr=writing,
            timeout=200,
            check=True,
        )
    finally:
        os.close(writing)

    assert json.loads(done.stdout.splitlines()[1])["error"]["message"] == "Internal error"


def call(name, **arguments):
    return request("operable.call", {"call": name, "arguments": arguments})


def test_a_command_of_the_catalog_is_called_as_the_rules_say(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "policy.toml").write_text('[[caller]]\nmatch = "rpc:*"\ndeny = ["wrap/find/*"]\n')

    *_, done = talk(call("wrap/df/filesystems", limit=1))
    *_, denied = talk(call("wrap/find/files", limit=1))

    assert (done["result"]["ok"], done["result"]["code"]) == (True, "OK")
    assert [each["type"] for each in done["result"]["entries"]] == ["filesystem"]
    (error,) = denied["result"]["errors"]
    assert (denied["result"]["ok"], denied["result"]["code"]) == (False, "CALL_DENIED")
    assert "rpc:" in error["message"]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "call is required"),
        ({"call": 1}, "KIND/NAME/COMMAND"),
        ({"call": "df"}, "KIND/NAME/COMMAND"),
        ({"call": "wrap/df/filesystems", "arguments": []}, "arguments must be an object"),
        ({"call": "wrap/df/filesystems", "arguments": {"limit": "x"}}, "limit must be of type integer"),
        ({"call": "wrap/df/nothing"}, "df has no such command"),
        ({"call": "wrap/nothing/at-all"}, "there is no such wrap"),
        ({"call": "nothing/df/filesystems"}, "nothing"),
    ],
)
def test_a_call_that_cannot_be_meant_is_an_error(params, said):
    *_, answer = talk(request("operable.call", params))

    assert answer["error"]["code"] == -32602
    assert said in answer["error"]["message"]
