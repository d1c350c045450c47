"""What people see of a lint, of real tools: at a terminal of 80 columns, without colour, in a file."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.zoo.breeding import Mutation, breed

AOI_LINT = str(Path(sys.executable).parent / "aoi-lint")
COUNT = ("notes", '{"count": len(page),', '{"count": len(page) + 1,')
HELP = ("notes", '["--help"], ["-h"]', '["--help"], ["-?"]')
VERSIONS = ("notes", '"aoi_version": "0.2"', '"aoi": "0.2"')
pytestmark = [pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def broken(folder: Path, *changes: tuple[str, str, str]) -> str:
    return str(breed("python", folder, Mutation("broken", "python", "3", ("list",), changes)))


def lint(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([AOI_LINT, *words], capture_output=True, text=True, timeout=300, check=False)


def chunks(terminal: int) -> Iterator[bytes]:
    try:
        while data := os.read(terminal, 65536):
            yield data
    except OSError:  # nobody has the other side open any more
        return


def at_a_terminal(*words: str, **env: str) -> str:
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
        process = subprocess.Popen(
            [AOI_LINT, *words], stdout=theirs, stderr=subprocess.DEVNULL, env=kept | {"TERM": "xterm"} | env
        )
        os.close(theirs)
        shown = b"".join(chunks(ours)).decode().replace("\r\n", "\n")
        assert process.wait(timeout=60) in (0, 65)
        return shown
    finally:
        os.close(ours)


def test_a_failure_is_told_whole_with_the_bytes_the_command_line_and_the_way_to_mend_it(tmp_path: Path):
    tool = broken(tmp_path, COUNT)

    done = lint(tool, "--command", "list", "--only", "3")

    assert done.returncode == 65
    head, message, reproduce, mend = done.stdout.split("\n\n")[2].splitlines()
    assert head == "FAIL  list: check 3 (MUST, section 4.1)"
    assert message.strip() == "summary.count is 5, but 4 results were emitted"
    assert reproduce.strip() == f"reproduce: {tool} list --output jsonl < /dev/null"
    assert mend.strip().startswith("to fix it: emit one aoi:summary")
    assert " failed, " in done.stderr


def test_findings_come_in_the_order_in_which_one_would_mend_them(tmp_path: Path):
    tool = broken(tmp_path, VERSIONS, COUNT, HELP)
    only = [word for label in ("13", "3", "help-missing") for word in ("--only", label)]

    done = lint(tool, "--command", "list", "--command", "create", *only)

    heads = [
        line.partition(" (")[0] for line in done.stdout.splitlines() if line.startswith(("FAIL", "advice"))
    ]
    assert list(dict.fromkeys(heads)) == [
        "FAIL  *: check help-missing",
        "FAIL  list: check 3",
        "advice  list: check 13",
        "advice  create: check 13",
    ]


def test_what_keeps_several_checks_from_being_tried_is_said_once(tmp_path: Path):
    tool = breed("python", tmp_path)
    (tmp_path / "aoi-lint.toml").write_text('[commands.list]\nargs = ["--limit", "none"]\n')

    done = lint(str(tool), "--command", "list")

    assert done.stdout.count("give it working `args` in the profile") == 1
    assert "untested  list: checks 2, 3, " in done.stdout


def test_at_80_columns_nothing_is_cut_off_and_the_matrix_fits(tmp_path: Path):
    tool = broken(tmp_path, COUNT)

    shown = at_a_terminal(tool, "--command", "list", NO_COLOR="1")

    assert "summary.count is 5, but 4 results were emitted\n" in shown
    assert f"{tool} list --output jsonl < /dev/null\n" in shown
    matrix = shown[shown.index("Type  Disc") :].splitlines()
    assert max(map(len, matrix)) <= 80
    assert any(line.startswith("list") and "FAIL" in line for line in matrix)


def test_there_is_colour_at_a_terminal_only(tmp_path: Path):
    tool = broken(tmp_path, COUNT)
    words = (tool, "--command", "list", "--only", "3")

    assert "\x1b[1;31mFAIL\x1b[0m" in at_a_terminal(*words)
    for plain in (at_a_terminal(*words, "--no-color"), at_a_terminal(*words, NO_COLOR="1")):
        assert "FAIL" in plain
        assert not re.search("\x1b\\[[0-9;]*3[0-9]m", plain)
    assert "\x1b" not in lint(*words).stdout
