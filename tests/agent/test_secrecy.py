"""The agent's own key: not in what others see of the process, in results, in the journal, or in a child."""

import json
from pathlib import Path

import pytest

from tests.agent.agent_process import AgentProcess, said

KEY = "cAn4ry-key-7f3e9b"
# The brackets keep the shell that looks from finding its own words.
LOOK = "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | grep -a -c '4ry-[k]ey-7f'; env"
# Says at its end whether it could be looked into.
TELL = (
    "import os, ctypes; leave = os._exit; os._exit = lambda status: ("
    "os.write(2, b'dumpable=%d' % ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)), leave(status));"
)


def call(command: str) -> str:
    return f"call Bash {json.dumps({'command': command})}"


@pytest.mark.parametrize(
    "options, variables",
    [
        ((), {"ANTHROPIC_API_KEY": KEY}),
        ((), {"OPENAI_API_KEY": KEY, "DATABASE_URL": f"postgres://ann:{KEY}@db/x"}),
        (("--api-key", KEY), {}),
        ((f"--api-key={KEY}",), {}),
    ],
    ids=["variable", "address", "option", "option with equals"],
)
def test_a_tool_finds_the_key_in_no_process_and_not_in_its_environment(tmp_path, options, variables):
    with AgentProcess(tmp_path, "--auto-approve", *options, env=variables) as agent:
        agent.script(call(LOOK), "say {result}")
        events = agent.answer()
        told = said(events)
        assert "STDOUT:\n0\n" in told  # no process has it, the shell that looks included
        assert "API_KEY" not in told
        assert "PATH=" in told
        assert agent.end() == 0


@pytest.mark.parametrize("spelling", ["cat {file}", "base64 {file}", "xxd -p {file} || od -An -tx1 {file}"])
def test_a_result_that_has_the_key_is_masked_for_the_model_the_host_and_the_journal(tmp_path, spelling):
    home, file = tmp_path / "home", tmp_path / "leak.txt"
    file.write_text(KEY)
    env = {"ANTHROPIC_API_KEY": KEY, "OPERABLE_HOME": str(home)}
    with AgentProcess(tmp_path, "--auto-approve", "--session-id", "s", env=env) as agent:
        agent.script(call(spelling.split(" ||")[0].format(file=file)), "say It is {result}.")
        agent.answer()
        assert agent.end() == 0
        events, errors = json.dumps(agent.events), agent.stderr
    assert "[redacted]" in events
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for place in (events.encode(), errors, kept):
        for form in (KEY, KEY.encode().hex(), "Y0FuNHJ5LWtleS03ZjNl"):
            assert form.encode() not in place


def test_a_key_that_a_person_types_is_not_in_the_journal(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {"ANTHROPIC_API_KEY": KEY, "OPERABLE_HOME": str(home)}
    with AgentProcess(tmp_path, "--session-id", "s", env=env) as agent:
        agent.message(f"my key is {KEY}")
        agent.answer()
        assert agent.end() == 0
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert b"my key is [redacted]" in kept
    assert KEY.encode() not in kept


@pytest.mark.parametrize("variables, dumpable", [({"ANTHROPIC_API_KEY": KEY}, 0), ({}, 1)])
def test_a_process_with_a_key_leaves_no_core_and_cannot_be_looked_into(tmp_path, variables, dumpable):
    with AgentProcess(tmp_path, env=variables, before=TELL) as agent:
        agent.until("ready")
        assert agent.end() == 0
    assert agent.stderr.decode().endswith(f"dumpable={dumpable}")
