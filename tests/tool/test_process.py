"""What can get into the stream, and who can wait for a person, in machine mode."""

import os
import subprocess

import pytest

from tests.requirement import requirement
from tests.tool.drive import LIMIT, Outcome, command_line, run


def with_redirections(redirections: str, *words: str) -> Outcome:
    """Run through a shell, which is what can start a process with a closed descriptor."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirections}', "sh", *command_line(*words)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@requirement("aoi:2:stdout-clean", "aoi:1.2:no-human-decoration")
def test_whatever_is_written_to_stdout_lands_on_stderr():
    outcome = run("pollute")
    assert [event["rank"] for event in outcome.results] == [1, 2]
    assert sorted(outcome.stderr.split("\n")) == [
        "",
        "by buffer",
        "by child",
        "by descriptor",
        "by libc",
        "by print",
    ]


@requirement("aoi:2:stdout-clean")
@pytest.mark.parametrize("redirections", ["2>&-", "<&- 2>&-"])
def test_with_stderr_closed_nothing_else_gets_into_the_stream(redirections):
    outcome = with_redirections(redirections, "pollute")
    assert outcome.exit_code == 0
    assert [event["rank"] for event in outcome.results] == [1, 2]


@pytest.mark.parametrize("words", [("count",), ("fails", "usage"), ("count", "--nonsense")])
@pytest.mark.parametrize("redirections", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_with_stdout_closed_the_exit_code_says_so(redirections, words):
    outcome = with_redirections(redirections, *words)
    said = "" if "2>&-" in redirections else "sample: stdout is closed; nothing was done\n"
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (74, b"", said)


def test_with_stdout_closed_a_document_says_so_by_its_exit_code():
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command_line("schema", output="json")],
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, done.stdout) == (74, b"")


def test_a_file_that_was_opened_under_the_number_of_a_closed_stdout_is_not_written_to(tmp_path):
    database = tmp_path / "precious"
    tool = tmp_path / "early.py"
    tool.write_text(
        "from operable.tool import Tool\n"
        f"precious = open({str(database)!r}, 'w')\n"
        "tool = Tool('early', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def go(): return {'type': 'said'}\n"
        "tool.main()\n"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command_line("go", tool=tool)],
        timeout=LIMIT,
        check=False,
    )
    assert (done.returncode, database.read_bytes()) == (74, b"")


@pytest.mark.parametrize("redirections", ["2>&-", "<&- 2>&-"])
def test_a_child_gets_nothing_above_the_three_streams_where_one_of_them_was_closed(redirections, tmp_path):
    tool = tmp_path / "parent.py"
    tool.write_text(
        "import subprocess\n"
        "from operable.tool import Tool\n"
        "tool = Tool('parent', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def look():\n"
        "    found = [number for number in range(16)\n"
        "        if not subprocess.run(['/bin/sh', '-c', f'test -e /proc/self/fd/{number}'], close_fds=False).returncode]\n"
        "    return {'type': 'seen', 'open': found}\n"
        "tool.main()\n"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirections}', "sh", *command_line("look", tool=tool)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )

    (seen,) = Outcome(done.returncode, done.stdout, done.stderr).of("seen")
    assert 1 in seen["open"]
    assert max(seen["open"]) <= 2


@requirement("aoi:1.3:never-prompts")
def test_stdin_is_empty_for_whoever_asks_even_when_the_caller_left_it_open():
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            command_line("asks", "--how", "input"),
            stdin=reading,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    assert outcome.error["code"] == "INTERACTIVE_REQUIRED"


def test_an_operand_dash_leaves_stdin_to_the_author(tmp_path):
    tool = tmp_path / "text.py"
    tool.write_text(
        "import sys\n"
        "from operable.tool import Tool\n"
        "tool = Tool('text', version='1', schema_name='e')\n"
        "@tool.command()\n"
        "def put(body: str): return {'type': 'said', 'text': open(0).read() if body in ('-', '/dev/stdin') else body}\n"
        "tool.main()\n"
    )
    for name in ("-", "/dev/stdin"):
        outcome = run("put", name, tool=tool, input=b"from stdin")
        assert outcome.results == [{"type": "said", "text": "from stdin"}]
    assert run("put", "word", tool=tool, input=b"from stdin").results == [{"type": "said", "text": "word"}]
