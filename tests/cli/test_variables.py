"""The words of --env: a value, or the file that has it."""

import json
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from operable.cli.variables import LIMIT, exposed, variables
from operable.kernel.errors import Fail
from tests.cli.drive import command_line

CANARY = "cAn4ry-env-51b7"
# A tool that says how long its variable is, and whether it stands on a command line of it or of anything above it.
TOOL = """
import json, os
value, seen, pid = os.environ["API_TOKEN"], False, os.getpid()
while pid > 1:
    seen = seen or value.encode() in open(f"/proc/{pid}/cmdline", "rb").read()
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[1])
print(json.dumps({"type": "seen", "length": len(value), "on_a_command_line": seen}))
"""


def test_variables_are_given_by_name_and_value():
    assert variables(["A=1", "B=", "C=x=y", "D=@@home"]) == {"A": "1", "B": "", "C": "x=y", "D": "@home"}
    for word in ("A", "=x", ""):
        with pytest.raises(Fail) as caught:
            variables([word])
        assert caught.value.exit_code == 64


def test_a_value_is_read_from_a_file_without_its_last_newline(tmp_path):
    file = tmp_path / "key"
    file.write_text("line one\nline two\n")
    assert variables([f"A=@{file}"]) == {"A": "line one\nline two"}


def test_a_value_is_read_from_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("s3cret\n",))
    writer.start()
    assert variables([f"A=@{pipe}"]) == {"A": "s3cret"}
    writer.join(20)


@pytest.mark.parametrize(
    "content, code",
    [(None, "ENV_FILE_NOT_FOUND"), (b"", "ENV_FILE_UNUSABLE"), (b"\n", "ENV_FILE_UNUSABLE"), (b"a\0b", "ENV_FILE_UNUSABLE"),
     (b"\xff\xfe", "ENV_FILE_UNUSABLE"), (b"x" * (LIMIT + 1), "ENV_FILE_UNUSABLE")],
)  # fmt: skip
def test_a_file_that_is_no_value_is_refused_and_its_content_is_not_told(tmp_path, content, code):
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Fail) as caught:
        variables([f"A=@{file}"])
    assert caught.value.code == code
    assert "xxxx" not in caught.value.message


def test_a_folder_and_no_name_are_refused(tmp_path):
    for word, code in (
        (f"A=@{tmp_path}", "ENV_FILE_UNUSABLE"),
        ("A=@", "INVALID_VALUE"),
        ("A=@-", "INVALID_VALUE"),
    ):
        with pytest.raises(Fail) as caught:
            variables([word])
        assert caught.value.code == code


def test_only_a_secret_whose_value_is_in_the_word_is_exposed():
    words = [
        "API_TOKEN=abc",
        "API_TOKEN=@file",
        "LANG=C",
        "X=ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "KEY=",
    ]
    assert exposed(words) == ["API_TOKEN", "X"]


def run(*words: str) -> list[dict[str, Any]]:
    done = subprocess.run(command_line("run", *words), capture_output=True, timeout=120, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_secret_from_a_file_reaches_the_tool_and_stands_on_no_command_line(tmp_path):
    (tmp_path / "key").write_text(CANARY)
    tool = tmp_path / "tool.py"
    tool.write_text(TOOL)
    events = run("--exact", "--env", f"API_TOKEN=@{tmp_path / 'key'}", "--", sys.executable, str(tool))
    (seen,) = [event for event in events if event["type"] == "seen"]
    assert seen == {"type": "seen", "length": len(CANARY), "on_a_command_line": False}
    assert not [event for event in events if event["type"] == "aoi:warning"]


def test_a_secret_on_the_command_line_is_warned_about_with_a_hint_that_works(tmp_path):
    tool = tmp_path / "tool.py"
    tool.write_text(TOOL)
    events = run("--exact", "--env", f"API_TOKEN={CANARY}", "--", sys.executable, str(tool))
    (warning,) = [event for event in events if event["type"] == "aoi:warning"]
    assert warning["code"] == "SECRET_ON_COMMAND_LINE"
    assert warning["hint"] == "write it to a file and say --env API_TOKEN=@FILE"
    assert CANARY not in json.dumps(events)
    assert events[0]["type"] == "aoi:meta"
