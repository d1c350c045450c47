"""The start: what is loaded before `ready`, and that the line written by hand is the codec's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from operable.agent import front
from operable.agent.options import read_options
from operable.kernel.errors import Fail
from operable.wire import json_stream as protocol
from tests.agent.agent_process import AgentProcess

# What stands between the start of the interpreter and `ready`; see tests/test_import_budget.py for why it is exact.
UNTIL_READY = {
    *(
        "operable",
        "operable.agent",
        "operable.agent.front",
        "operable.agent.options",
        "operable.agent.places",
    ),
    *("operable.kernel", "operable.kernel.errors", "operable.tool", "operable.tool.places", "_json"),
    "__future__",
}


def test_ready_is_written_before_anything_else_is_loaded(tmp_path: Path) -> None:
    probe = (
        "import os, sys\n"
        "bare = set(sys.modules)\n"
        "import operable.agent.front as front\n"
        "def stop(descriptor, line):\n"
        "    os.write(descriptor, repr(sorted(set(sys.modules) - bare)).encode()); os._exit(0)\n"
        "front._write = stop\n"
        "front.run(['--json-stream', '--offline'])\n"
    )
    environment = {**os.environ, "OPERABLE_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-I", "-c", probe],
        capture_output=True,
        cwd=tmp_path,
        timeout=200,
        check=True,
        env=environment,
    )
    assert set(eval(done.stdout)) == UNTIL_READY


@pytest.mark.parametrize("options", [(), ("--auto-approve",), ("--no-session",)])
def test_the_early_ready_is_the_one_of_the_codec(options: tuple[str, ...], tmp_path: Path) -> None:
    with AgentProcess(tmp_path, *options) as agent:
        early = agent.until("ready")
        agent.ping()
        agent.send({"type": "set_config"})
        changed = agent.until("config_changed")
    assert early["capabilities"] == changed["capabilities"]
    decoded = protocol.decode_event(json.dumps(early).encode())
    assert isinstance(decoded, protocol.Ready)
    assert json.loads(protocol.encode(decoded)) == early
    assert early["version"] == protocol.VERSION == front.VERSION


def test_every_flag_of_the_protocol_is_understood() -> None:
    argv = (
        "--json-stream --provider openai --model m --max-tokens 8192 --max-turns 30 --base-url http://x "
        "--system-prompt Hi --auto-approve --workspace /w --session-id s -k key --thinking enabled "
        "--thinking-budget 5 --max-tool-call-malformed-turns 1 --max-tool-call-failure-turns 2 --compaction off "
        "--no-color --log-level debug --project-dir /p --allow Read --allow Grep"
    )
    options = read_options(argv.split(), {"MODEL": "ignored", "API_KEY": "ignored"})
    assert options["model"] == "m"
    assert options["max_turns"] == 30
    assert options["workspace"] == "/p"
    assert options["allow"] == ["Read", "Grep"]
    assert read_options([], {"PROVIDER": "openai", "MODEL": "m", "API_KEY": "k", "BASE_URL": "u"}) == {
        "words": [],
        "provider": "openai",
        "model": "m",
        "api_key": "k",
        "base_url": "u",
    }


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--model"], "a value is needed after --model"),
        (["--max-tokens", "-1"], "a whole number is needed"),
        (["--thinking", "maybe"], "--thinking is one of enabled, disabled"),
        (["--auto-aprove"], r"unknown option --auto-aprove \(did you mean --auto-approve\?\)"),
        (["--json-stream=yes"], "--json-stream takes no value"),
        (["--resume", "a", "--session-id", "b"], "exclude each other"),
    ],
)
def test_what_is_wrong_is_named(argv: list[str], problem: str) -> None:
    with pytest.raises(Fail, match=problem):
        read_options(argv, {})
