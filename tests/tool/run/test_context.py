"""Asking a person: at a terminal in human mode, and never otherwise."""

import pytest

from tests.requirement import requirement
from tests.tool.drive import run, terminal


def test_a_person_at_a_terminal_is_asked():
    with terminal("asks", "--how", "ask") as tool:
        tool.read_until("name? ")
        tool.type("Ada\n")
        outcome = tool.finish()
    assert outcome.exit_code == 0
    assert "Ada" in outcome.stderr


def test_a_person_is_asked_for_a_secret_that_is_never_shown():
    with terminal("asks", "--how", "password") as tool:
        tool.read_until("name? ")
        tool.type("open sesame\n")
        outcome = tool.finish()
    assert outcome.exit_code == 0
    assert "open sesame" not in outcome.stderr
    assert "[redacted]" in outcome.stderr


@pytest.mark.parametrize("how", ["ask", "password"])
def test_a_person_who_ends_the_input_gets_an_error_with_a_hint(how):
    with terminal("asks", "--how", how) as tool:
        tool.read_until("name? ")
        tool.type("\x04")
        outcome = tool.finish()
    assert outcome.exit_code == 77
    assert "A person is needed" in outcome.stderr


@requirement("aoi:1.3:interactive-required", "aoi:1.3:never-prompts")
@pytest.mark.parametrize("how", ["input", "ask", "password", "getpass"])
def test_in_machine_mode_a_terminal_is_not_waited_for(how):
    """Nobody answers here: a tool that asked would never end."""
    with terminal("asks", "--how", how, output="jsonl") as tool:
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.error["code"]) == (77, "INTERACTIVE_REQUIRED")


@requirement("aoi:1.3:never-prompts")
def test_in_machine_mode_a_child_cannot_reach_the_terminal_either():
    with terminal("asks", "--how", "child", output="jsonl") as tool:
        outcome = tool.finish()
    assert outcome.results == [{"type": "said", "text": ""}]


@requirement("aoi:1.3:interactive-required")
@pytest.mark.parametrize("how", ["input", "ask"])
def test_in_machine_mode_the_leader_of_a_session_does_not_wait_either(how):
    with terminal("asks", "--how", how, output="jsonl", leader=True) as tool:
        outcome = tool.finish()
    assert (outcome.exit_code, outcome.error["code"]) == (77, "INTERACTIVE_REQUIRED")


@pytest.mark.parametrize("leader", [True, False])
def test_in_machine_mode_control_c_at_the_terminal_still_interrupts(leader, tmp_path):
    tool_file = tmp_path / "waits.py"
    tool_file.write_text(
        "import sys, time\n"
        "from operable.tool import Tool\n"
        "tool = Tool('waits', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go():\n"
        "    print('ready', file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
        "tool.main()\n"
    )
    with terminal("go", output="jsonl", leader=leader, tool=tool_file) as tool:
        tool.read_until("ready")
        tool.type("\x03")
        outcome = tool.finish()
    assert outcome.summary["reason"] == "interrupted"
    assert outcome.exit_code in (130, -2)  # the shell itself is interrupted too


@pytest.mark.parametrize("how", ["ask", "password", "input", "getpass"])
def test_with_nobody_at_a_terminal_human_mode_does_not_wait_either(how):
    outcome = run("asks", "--how", how, output=None)
    assert outcome.exit_code == 77
    assert "A person is needed" in outcome.stderr
    assert "hint: " in outcome.stderr


def test_a_command_knows_its_circumstances(tmp_path):
    tool_file = tmp_path / "knows.py"
    tool_file.write_text(
        "from operable.tool import Tool, Context, Event\n"
        "tool = Tool('knows', version='1', schema_name='e', schema_version='2.0.0')\n"
        "@tool.command()\n"
        "def go(*, context: Context):\n"
        "    names = ('tool', 'command', 'machine', 'trace_id', 'schema_version', 'debug', 'dry_run', 'idempotency_key', 'person')\n"
        "    yield {'type': 'known'} | {name: getattr(context, name) for name in names}\n"
        "tool.main()\n"
    )
    outcome = run("go", "--debug", tool=tool_file)
    assert outcome.results == [
        {
            "type": "known",
            "tool": "knows",
            "command": "go",
            "machine": True,
            "trace_id": outcome.events[0]["trace_id"],
            "schema_version": "2.0.0",
            "debug": True,
            "dry_run": False,
            "idempotency_key": None,
            "person": False,
        }
    ]
