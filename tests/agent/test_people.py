"""What people ask `operable-agent` itself."""

import os
import re
import subprocess
import sys

import pytest

from operable import __version__
from operable.agent.options import _FLAGS, _VALUES
from operable.agent.people import HELP

_MAIN = [sys.executable, "-c", "from operable.agent.front import main; main()"]


def ask(tmp_path, *words, **options):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "OPERABLE_HOME": str(tmp_path / "state"),
        **options.pop("env", {}),
    }
    return subprocess.run(
        [*_MAIN, *words],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=tmp_path,
        env=env,
        check=False,
        **options,
    )


def begin(tmp_path, session_id, text):
    done = ask(
        tmp_path,
        "--json-stream",
        "--offline",
        "--session-id",
        session_id,
        input=f'{{"type":"message","msg_id":"1","content":"{text}"}}\n',
    )
    assert done.returncode == 0


def test_the_help_knows_every_option(tmp_path):
    hidden = {"--no-color"}  # accepted, because hosts send it
    missing = {flag for flag in (*_VALUES, *_FLAGS) if not re.search(rf"{flag}\b", HELP)} - hidden

    assert missing == set()
    assert ask(tmp_path, "--help").stdout == HELP
    assert max(map(len, HELP.splitlines())) <= 120


def test_the_examples_of_the_help_that_need_no_key_work(tmp_path):
    example = next(line for line in HELP.splitlines() if "--offline --no-session" in line)
    program = tmp_path / "operable-agent"
    program.write_text(f"#!{sys.executable}\nfrom operable.agent.front import main\nmain()\n")
    program.chmod(0o755)

    done = subprocess.run(
        ["/bin/sh", "-c", example],
        input=b'{"type":"message","msg_id":"1","content":"hello"}\n',
        capture_output=True,
        timeout=200,
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        check=False,
    )

    assert done.returncode == 0
    assert b'"type":"stream_end"' in done.stdout


def test_the_version_is_that_of_the_package(tmp_path):
    assert ask(tmp_path, "--version").stdout == f"operable-agent {__version__}\n"


def test_sessions_are_listed_newest_first_and_by_workspace(tmp_path):
    empty = ask(tmp_path, "session", "list")
    begin(tmp_path, "first", "hello")
    begin(tmp_path, "second", "and\\u001b[2J again")
    both = ask(tmp_path, "session", "list")
    elsewhere = ask(tmp_path, "session", "list", "--workspace", "/")

    assert (empty.stdout, elsewhere.stdout) == ("No sessions.\n", "No sessions.\n")
    header, *rows = both.stdout.splitlines()
    assert header.split()[0] == "ID"
    assert [row.split()[0] for row in rows] == ["second", "first"]
    assert "hello" in rows[1]
    assert "\x1b" not in both.stdout


def test_it_says_where_sessions_are_kept_and_which_files_instruct_the_model(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Be brief.")

    done = ask(tmp_path, "config", "path")

    assert [line.split(maxsplit=1) for line in done.stdout.splitlines()] == [
        ["sessions", str(tmp_path / "state" / "state" / "agent" / "sessions")],
        ["instructions", str(tmp_path / "AGENTS.md")],
    ]


@pytest.mark.parametrize("words", [[], ["sessions"], ["session", "list", "all"]])
def test_what_it_does_not_know_is_an_error_with_a_hint(tmp_path, words):
    done = ask(tmp_path, *words)

    assert (done.returncode, done.stdout) == (64, "")
    assert "operable-agent --help" in done.stderr


def test_a_reader_that_leaves_is_no_crash(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*_MAIN, "--help"], stdout=writing, stderr=subprocess.PIPE, timeout=200, check=False
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")
