"""The agent where something is missing, full, closed, too long, killed, or used by somebody else."""

import json
import os
import resource
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agent.agent_process import LIMIT, AgentProcess, of_type, problems, said, text_in
from tests.requirement import requirement

WRITE = 'call Write {"file_path": "%s", "content": "x"}'


@requirement("jsonstream:3:sessions")
def test_a_session_survives_kill_9_up_to_its_last_word(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--session-id", "killed", "--auto-approve") as agent:
        agent.script(WRITE % "a", "say Written.", "wait 600")
        agent.until("text_delta")
        agent.process.kill()
        agent.wait()
    with AgentProcess(tmp_path, "--resume", "killed") as again:
        again.message("go on", "m2")
        assert said(again.answer("m2")) == "You said: go on"
        assert again.end() == 0
    with AgentProcess(tmp_path, "--resume", "killed", env={"OPERABLE_OFFLINE_SCRIPT": ""}) as third:
        third.script("say {result}", msg_id="m3")
        usage = third.answer("m3")[-1]["usage"]
    assert usage["input_tokens"] > 10  # the first message and its script are still there


@requirement("jsonstream:3:sessions")
def test_a_session_has_one_writer(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--session-id", "mine") as agent:
        agent.until("ready")
        agent.ping()
        with AgentProcess(tmp_path, "--resume", "mine") as second:
            (code, message) = problems([second.next()])[0]
            assert code == "config_error"
            assert f"in use by process {agent.process.pid}" in message
            assert second.wait() != 0
        assert agent.end() == 0
    with AgentProcess(tmp_path, "--resume", "mine") as third:
        assert third.until("ready")["session_id"] == "mine"


@requirement("jsonstream:3:sessions")
def test_sessions_are_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with AgentProcess(tmp_path, "--session-id", "p", env={"OPERABLE_HOME": str(home)}) as agent:
        agent.message("secret")
        agent.answer()
        agent.end()
    found = list((home / "state" / "agent").rglob("*"))
    assert {path.name for path in found} >= {"p", "state.json", "journal.jsonl", "lock"}
    for path in found:
        assert path.stat().st_mode & 0o077 == 0, path


def test_without_sessions_nothing_is_kept_and_ready_names_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with AgentProcess(
        tmp_path, "--no-session", env={"OPERABLE_HOME": str(home), "HOME": "/nonexistent"}
    ) as agent:
        assert "session_id" not in agent.until("ready")
        agent.message("hello")
        agent.answer()
        assert agent.end() == 0
    assert not home.exists()


@pytest.mark.parametrize("missing", ["no HOME", "read-only HOME"])
def test_without_a_place_for_sessions_the_agent_says_so(missing: str, tmp_path: Path) -> None:
    env = {"OPERABLE_HOME": "", "XDG_STATE_HOME": "", "HOME": ""}
    if missing == "read-only HOME":
        env["HOME"] = "/proc"
    with AgentProcess(tmp_path, env=env) as agent:
        assert problems([agent.next()])[0][0] == "config_error"
        assert agent.wait() == 78


def test_a_full_disk_is_told_once_and_the_conversation_goes_on(tmp_path: Path) -> None:
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)); "
    )
    agent = AgentProcess(tmp_path, "--session-id", "full", "--auto-approve", before=limit)
    with agent:
        agent.message("x" * 5000, "m1")
        events = agent.answer("m1")
        assert problems(events) == [("internal_error", "The session could not be saved: File too large")]
        assert said(events).startswith("You said: xxx")
        agent.message("still there?", "m2")
        assert said(agent.answer("m2")) == "You said: still there?"
        # Room again: the next save writes all of it.
        resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (10**9, resource.RLIM_INFINITY))
        agent.message("and now?", "m3")
        assert problems(agent.answer("m3")) == []
        agent.process.kill()
    with AgentProcess(tmp_path, "--resume", "full") as again:
        again.message("count", "m4")
        assert again.answer("m4")[-1]["usage"]["input_tokens"] >= 10


def test_when_nobody_reads_any_more_the_session_is_saved_and_the_agent_ends(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with AgentProcess(tmp_path, "--session-id", "unread", stdout=writer) as agent:
        os.close(writer)
        assert b"ready" in os.read(reader, 65536)
        os.close(reader)
        agent.script("repeat 100", "say hello")
        assert agent.wait() == 141
    with AgentProcess(tmp_path, "--resume", "unread") as again:
        assert again.until("ready")["session_id"] == "unread"


def test_a_host_that_does_not_read_cannot_keep_the_agent_from_ending(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        with AgentProcess(tmp_path, stdout=writer) as agent:
            assert b"ready" in os.read(reader, 65536)
            agent.script("repeat 100000", "say hello hello hello hello hello hello hello")
            while select.select([], [writer], [], 0)[1]:  # until there is no room for a last word, either
                time.sleep(0.01)
            agent.process.terminate()
            assert agent.wait() == 141
    finally:
        os.close(reader)
        os.close(writer)


def test_a_line_that_is_too_long_is_skipped_alone(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.raw(
            b'{"type":"message","msg_id":"long","content":"'
            + b"x" * (33 * 1024 * 1024)
            + b'"}\n{"type":"ping"}\n'
        )
        error = agent.until("error")
        assert error["error"]["code"] == "protocol_error"
        assert "at most" in error["error"]["message"]
        assert agent.next() == {"type": "pong"}
        assert agent.end() == 0


def test_bytes_that_are_no_text_are_a_protocol_error(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.raw(b'{"type":"message","msg_id":"m","content":"\xff\xfe"}\n\r\n\n{"type":"ping"}')
        assert agent.until("error")["error"]["code"] == "protocol_error"
        assert agent.end() == 0
    assert agent.events[-1] == {"type": "pong"}  # a last line without its end is a line


@pytest.mark.parametrize("options", [(), ("--sandbox", "none")], ids=["enclosed", "with all rights"])
def test_tools_that_ignore_signals_end_with_the_agent(tmp_path: Path, options: tuple[str, ...]) -> None:
    with AgentProcess(tmp_path, "--auto-approve", *options) as agent:
        seconds = f"600.{os.getpid()}{len(options)}"  # a word that no other process of the machine has
        agent.script(
            f'call Bash {{"command": "trap \'\' INT TERM HUP; (setsid sleep {seconds} & echo $! > pid); sleep 600"}}'
        )
        agent.until("tool_running")
        text_in(tmp_path / "pid")
        handle = os.pidfd_open(_sleeper(seconds))  # the number in the file is one of its own namespace
        agent.process.kill()
        agent.wait()
        import select

        assert select.select([handle], [], [], LIMIT)[0] == [handle]
        os.close(handle)


def _sleeper(seconds: str) -> int:
    words = f"sleep\0{seconds}\0".encode()
    while True:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if path.read_bytes() == words:
                    return int(path.parent.name)
            except OSError:
                continue  # it has ended meanwhile


@requirement("jsonstream:1:one-object-per-line")
def test_what_libraries_print_does_not_get_between_the_lines(tmp_path: Path) -> None:
    noisy = (
        "import sys; sys.argv = ['operable-agent', '--json-stream', '--offline', '--no-session']\n"
        "import operable.agent.assembly as a; make = a.assemble\n"
        "def noisy(*args):\n    print('noise'); import os; os.write(1, b'more noise\\n'); return make(*args)\n"
        "a.assemble = noisy\n"
        "from operable.agent.front import main; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", noisy], input=b"", capture_output=True, cwd=tmp_path, timeout=LIMIT, check=True
    )
    assert [json.loads(line)["type"] for line in done.stdout.splitlines()] == ["ready"]
    assert b"more noise" in done.stderr


def test_keys_never_reach_tools_events_or_errors(tmp_path: Path) -> None:
    env = {
        "ANTHROPIC_API_KEY": "sk-ant-0123456789abcdef",
        "DATABASE_URL": "postgres://u:pa55word@db/x",
        "PLAIN": "yes",
    }
    with AgentProcess(tmp_path, "--auto-approve", env=env) as agent:
        agent.script('call Bash {"command": "env"}', "say {result}")
        output = of_type(agent.answer(), "tool_result")[0]["output"]
    assert "PLAIN=yes" in output
    assert "sk-ant" not in output
    assert "pa55word" not in output


def test_logs_go_to_stderr_without_secrets_and_only_as_far_as_wanted(tmp_path: Path) -> None:
    for options, wanted in ((("--log-level", "info"), True), ((), False)):
        with AgentProcess(tmp_path, *options, env={"SHOP_TOKEN": "hunter22hunter22"}) as agent:
            agent.send({"type": "no hunter22hunter22"})
            agent.until("error")
            assert agent.end() == 0
        assert (b"protocol_error" in agent.stderr) == wanted
        assert b"hunter22" not in agent.stderr


def test_a_call_by_another_name_of_a_tool_is_reported_by_its_own(tmp_path: Path) -> None:
    with AgentProcess(tmp_path) as agent:
        agent.script('call ExecCommand {"cmd": "echo $((6 * 7))"}', "say {result}")
        request = agent.until("tool_request")
        assert (request["tool"]["name"], request["tool"]["category"]) == ("Bash", "exec")
        assert request["tool"]["args"] == {"command": "echo $((6 * 7))"}
        agent.approve(request["call_id"])
        assert "42" in said(agent.answer())


def test_a_call_that_needs_no_approval_is_reported_with_its_arguments(tmp_path: Path) -> None:
    with AgentProcess(tmp_path, "--auto-approve") as agent:
        agent.script('call ExecCommand {"cmd": "echo hello"}', "say done")
        running = agent.until("tool_running")
        agent.answer()
    assert running["tool_name"] == "Bash"
    assert (running["tool"]["name"], running["tool"]["args"]) == ("Bash", {"command": "echo hello"})


def test_an_image_that_comes_along_reaches_the_model_and_the_rest_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with AgentProcess(tmp_path) as agent:
        agent.send(
            {"type": "message", "msg_id": "m1", "content": " look ", "files": ["notes.txt", "/none.png"]}
        )
        assert (
            said(agent.answer())
            == "You said: look\n\n[Attached files]\nnotes.txt\n/none.png (there is no such file)"
        )


@requirement("jsonstream:3:shutdown")
def test_sigterm_right_after_ready_is_a_clean_end_too(tmp_path: Path) -> None:
    slow = "import sys, time; sys.modules['operable.agent.assembly'] = type('Slow', (), {'assemble': lambda *_: time.sleep(600)}); "
    with AgentProcess(tmp_path, "--session-id", "early", before=slow) as agent:
        agent.until("ready")
        agent.process.terminate()
        assert agent.wait() == 0
    with AgentProcess(tmp_path, "--resume", "early") as again:
        again.message("hello")
        assert said(again.answer()) == "You said: hello"


@pytest.mark.parametrize(
    ("closed", "status"),
    [("<&-", 0), ("2>&- </dev/null", 0), (">&- </dev/null", 141), ("</dev/null >/dev/full", 74)],
)
def test_descriptors_that_are_closed_from_the_start_are_no_surprise(
    closed: str, status: int, tmp_path: Path
) -> None:
    line = f'"{sys.executable}" -c "from operable.agent.front import main; main()" --json-stream --offline {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, cwd=tmp_path, timeout=LIMIT, check=False
    )
    assert done.returncode == status
    assert b"Traceback" not in done.stderr
