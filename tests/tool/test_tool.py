"""`TOOL --version`, which is answered without looking at a command."""

import os
import subprocess
import sys
from pathlib import Path

from tests.tool.drive import LIMIT

TOOL = """
from operable.tool import Tool
{before}
tool = Tool("sample", version={version!r}, schema_name="com.example.sample.events")
tool.main()
"""


def said(folder: Path, version: str = "1.2.3", before: str = "", redirection: str = "") -> tuple[int, bytes]:
    tool = folder / "sample.py"
    tool.write_text(TOOL.format(version=version, before=before))
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, str(tool), "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT,
        check=False,
    )
    return done.returncode, done.stdout


def test_the_version_is_one_line(tmp_path):
    assert said(tmp_path) == (0, b"sample 1.2.3\n")


def test_what_the_authors_module_printed_comes_before_it(tmp_path):
    assert said(tmp_path, before="print('loaded')") == (0, b"loaded\nsample 1.2.3\n")


def test_a_version_that_could_act_on_a_terminal_is_shown_without_that(tmp_path):
    assert said(tmp_path, version="1\x1b[31m") == (0, "sample 1·[31m\n".encode())


def test_with_stdout_closed_the_exit_code_says_so(tmp_path):
    assert said(tmp_path, redirection=">&-") == (74, b"")


def test_with_a_full_disk_the_exit_code_says_so(tmp_path):
    assert said(tmp_path, redirection=">/dev/full") == (74, b"")


def test_a_reader_that_has_left_is_told_by_the_exit_code(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    tool = tmp_path / "sample.py"
    tool.write_text(TOOL.format(version="1", before=""))
    try:
        done = subprocess.run(
            [sys.executable, str(tool), "--version"], stdout=writing, timeout=LIMIT, check=False
        )
    finally:
        os.close(writing)

    assert done.returncode == 141
