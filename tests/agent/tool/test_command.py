"""Where the commands of the built-in agent run, and what they reach there."""

import os
import socket
import tempfile
from pathlib import Path

import pytest

from operable.agent.loop.cancellation import Cancellation
from operable.agent.places import sessions_folder
from operable.agent.tool.ability import NO_SANDBOX, Scene
from operable.agent.tool.command import run_program
from operable.state.paths import make_state

pytestmark = pytest.mark.needs("bwrap")

TRIED = """
attempt() { if eval "$2" >/dev/null 2>&1; then echo "$1 done"; else echo "$1 refused"; fi; }
attempt workspace 'echo x > made'
attempt outside 'echo x > "$OUTSIDE/made"'
attempt temporary 'echo x > "$TEMPORARY"'
attempt read 'cat "$ELSEWHERE"'
attempt credentials 'cat "$HOME/.ssh/id"'
attempt netrc 'cat "$HOME/.netrc"'
attempt vault 'cat "$VAULT/key"'
attempt workflows 'cat "$WORKFLOWS/audit" "$HOME/.agentcli/audit"'
attempt login 'cat "$HOME/.codex/auth.json"'
attempt named 'cat "$HOME/cloud.json"'
attempt sessions 'cat "$SESSIONS/session"'
attempt environment 'cat /proc/$AGENT/environ'
attempt signal 'kill -0 $AGENT'
attempt socket 'python3 -c "import socket; socket.socket(socket.AF_UNIX).connect(\\"service\\")"'
attempt network 'python3 -c "import socket, sys; socket.create_connection((\\"127.0.0.1\\", int(sys.argv[1])), 20)" $PORT'
"""
# Of this worker alone: tests that run at the same time also write to /tmp.
TEMPORARY = f"/tmp/made-by-the-agent-{os.getpid()}"
FREE = (
    "workspace",
    "outside",
    "read",
    "credentials",
    "netrc",
    "vault",
    "workflows",
    "login",
    "named",
    "sessions",
    "environment",
    "signal",
    "socket",
    "network",
)
WIDE = {"workspace", "temporary", "read", "network"}


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Runs the attempts in a scene, in a home with credentials and sessions, beside a socket and a service."""
    work, outside, home = tmp_path / "work", tmp_path / "outside", tmp_path / "home"
    for folder in (work, outside, home / ".ssh"):
        folder.mkdir(parents=True)
    (home / ".ssh" / "id").write_text("PRIVATE")
    (home / ".netrc").write_text("password")
    (home / ".codex").mkdir()
    (home / ".codex" / "auth.json").write_text("{}")
    (home / "cloud.json").write_text("{}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("OPERABLE_HOME", str(home / "operable"))
    sessions = Path(sessions_folder())
    sessions.mkdir(parents=True)
    (sessions / "session").write_text("said")
    vault = Path(make_state("secrets"))
    (vault / "key").write_text("value")
    workflows = home / "operable" / "flow"
    for place in (workflows, home / ".agentcli"):
        place.mkdir()
        (place / "audit").write_text("{}")
    monkeypatch.chdir(work)  # a short name: the path of a socket has 108 bytes
    with (
        socket.socket(socket.AF_UNIX) as local,
        socket.create_server(("127.0.0.1", 0)) as listener,
        tempfile.NamedTemporaryFile(
            dir="/var/tmp"
        ) as elsewhere,  # not below /tmp, where this checkout may be
    ):
        local.bind("service")
        local.listen()
        environment = {
            "PATH": os.defpath,
            "HOME": str(home),
            "OUTSIDE": str(outside),
            "ELSEWHERE": elsewhere.name,
            "SESSIONS": str(sessions),
            "VAULT": str(vault),
            "WORKFLOWS": str(workflows),
            "GOOGLE_APPLICATION_CREDENTIALS": str(home / "cloud.json"),
            "AGENT": str(os.getpid()),
            "PORT": str(listener.getsockname()[1]),
            "TEMPORARY": TEMPORARY,
            "SOME_API_KEY": "sk-not-a-key",
        }

        def run(**options):
            scene = Scene(str(work), Cancellation(), environment, **options)
            ran = run_program(["sh", "-c", TRIED + "env"], scene, timeout=120, tree=True)
            assert ran.status == 0, ran.stderr
            assert "SOME_API_KEY" not in ran.text
            lines = [line.split() for line in ran.text.splitlines()]
            return {words[0] for words in lines if words[1:] == ["done"]}

        yield run


def test_a_command_that_nobody_was_asked_about_writes_to_the_workspace_alone(told):
    assert told() == WIDE
    assert not os.path.exists(TEMPORARY)  # its /tmp was its own


def test_a_command_that_somebody_approved_has_the_rights_of_the_agent(told):
    try:
        assert told(approved=True) >= set(FREE)
    finally:
        Path(TEMPORARY).unlink(missing_ok=True)


def test_none_is_the_rights_of_the_agent_for_all(told):
    try:
        assert told(sandbox=NO_SANDBOX) >= set(FREE)
    finally:
        Path(TEMPORARY).unlink(missing_ok=True)


@pytest.mark.parametrize("approved", [True, False])
def test_the_strict_sandbox_shows_the_system_and_the_workspace_only(told, approved):
    assert told(sandbox="bubblewrap", approved=approved) == {"workspace", "temporary"}


def test_a_folder_that_was_granted_can_be_written(told, tmp_path):
    assert told(granted=frozenset((str(tmp_path / "outside"),))) == WIDE | {"outside"}
