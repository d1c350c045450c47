"""The start: what is loaded before `ready`, and that the line written by hand is the codec's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from operable.agent import front
from operable.agent.options import choose_provider, read_options
from operable.kernel.errors import Fail
from operable.wire import json_stream as protocol
from tests.agent.agent_process import LIMIT, AgentProcess, problems

# What stands between the start of the interpreter and `ready`; see tests/test_import_budget.py for why it is exact.
UNTIL_READY = {
    *(
        "operable",
        "operable.agent",
        "operable.agent.front",
        "operable.agent.options",
        "operable.agent.places",
    ),
    *("operable.kernel", "operable.kernel.errors", "operable.state", "operable.state.paths", "_json"),
    "__future__",
    *("operable.project", "operable.project.places"),  # whether there is a file that may be wrong
    "errno",  # built into the interpreter: which failures of the disk are io errors
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
    assert isinstance(decoded, protocol.ReadyFrame)
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


def alone(tmp_path: Path, *words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """The program, run to its end with an empty stdin and no key."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANTHROPIC_", "OPENAI_")) and name not in ("API_KEY", "PROVIDER", "MODEL")
    }
    return subprocess.run(
        [sys.executable, "-c", "from operable.agent.front import main; main()", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tmp_path,
        env={**kept, "OPERABLE_HOME": str(tmp_path / "home"), **env},
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        ([], 78, "No provider is configured: ANTHROPIC_API_KEY or OPENAI_API_KEY is not set"),
        (["--offline", "--workspace", "absent"], 78, "absent is not a folder"),
        (["--offline", "--workspace", "/dev/null"], 78, "The workspace /dev/null is not a folder"),
        (["--offline", "--auto-aprove"], 64, "unknown option --auto-aprove"),
        (["--offline", "--session-id", "x" * 201], 64, "A session id has 1 to 200 characters"),
    ],
)
def test_what_is_refused_is_one_error_in_place_of_ready(
    tmp_path: Path, words: list[str], status: int, told: str
) -> None:
    done = alone(tmp_path, "--json-stream", *words)

    (event,) = map(json.loads, done.stdout.splitlines())
    ((code, message),) = problems([event])
    assert (done.returncode, code, event["msg_id"]) == (status, "config_error", None)
    assert told in message
    assert not list(tmp_path.glob("home/**/sessions/*"))


def test_an_editor_is_told_on_stderr_what_is_refused(tmp_path: Path) -> None:
    done = alone(tmp_path, "--acp", "--auto-aprove")

    assert (done.returncode, done.stdout) == (64, b"")
    assert b"operable-agent: unknown option --auto-aprove" in done.stderr


def test_a_second_session_of_the_same_name_is_refused(tmp_path: Path) -> None:
    words = ("--json-stream", "--offline", "--session-id", "one")
    assert json.loads(alone(tmp_path, *words).stdout.splitlines()[0])["type"] == "ready"

    done = alone(tmp_path, *words)

    ((code, message),) = problems(list(map(json.loads, done.stdout.splitlines())))
    assert (done.returncode, code) == (78, "config_error")
    assert "one" in message


@pytest.mark.parametrize(
    ("words", "variables", "provider"),
    [
        ([], {"ANTHROPIC_API_KEY": "k1", "OPENAI_API_KEY": "k2"}, "anthropic"),
        ([], {"OPENAI_API_KEY": "k2"}, "openai"),
        (["--offline"], {"OPENAI_API_KEY": "k2"}, "offline"),
        (["--offline", "--provider", "openai"], {"ANTHROPIC_API_KEY": "k1"}, "openai"),
    ],
)
def test_the_provider_is_the_one_that_was_named_or_the_first_with_a_key(
    words: list[str], variables: dict[str, str], provider: str
) -> None:
    options = read_options(words, {})
    choose_provider(options, variables)
    assert options["provider"] == provider


def test_a_fault_before_ready_is_an_error_event_without_secrets_and_not_silence(tmp_path: Path) -> None:
    broken = (
        "import operable.agent.places as places\n"
        "def fail(*_): raise RuntimeError('password=hunter2xyz in the way')\n"
        "places.new_session = fail\n"
    )
    with AgentProcess(tmp_path, before=broken) as agent:
        ((code, message),) = problems([agent.next()])
        assert (code, agent.wait()) == ("internal_error", 70)
    assert message.startswith("RuntimeError: ")
    assert "hunter2xyz" not in message


def test_a_host_that_is_gone_before_ready_ends_the_agent(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with AgentProcess(tmp_path, stdout=writer) as agent:
        os.close(writer)
        assert agent.wait() == 141
    assert b"Traceback" not in agent.stderr
