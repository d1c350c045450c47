"""`operable init tool`."""

import os
import subprocess
import sys

import pytest

from tests.cli.drive import operable
from tests.tool.drive import LIMIT


def test_a_dry_run_writes_nothing_and_a_run_writes_a_tool_whose_tests_pass(tmp_path):
    (plan,) = operable("init", "tool", "my-notes", "--to", "tools", "--dry-run", cwd=tmp_path).of("aoi:plan")
    assert plan["target"] == "tools/my-notes"
    assert not (tmp_path / "tools").exists()
    files = operable("init", "tool", "my-notes", "--to", "tools", cwd=tmp_path).results
    folder = tmp_path / "tools/my-notes"

    assert sorted(os.path.basename(each["path"]) for each in files) == sorted(os.listdir(folder))
    assert b"{{" not in b"".join(path.read_bytes() for path in folder.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=folder,
        capture_output=True,
        timeout=LIMIT * 2,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()


def test_a_tool_that_is_there_and_a_name_that_is_none_are_refused(tmp_path):
    operable("init", "tool", "notes", cwd=tmp_path)

    again = operable("init", "tool", "notes", cwd=tmp_path)
    wrong = operable("init", "tool", "../Notes", cwd=tmp_path)

    assert (again.error["code"], again.exit_code) == ("FILE_EXISTS", 73)
    assert (wrong.error["code"], wrong.exit_code) == ("TOOL_NAME", 64)


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(900)
def test_the_linter_has_nothing_to_say_of_it(tmp_path):
    operable("init", "tool", "notes", cwd=tmp_path)

    done = operable("lint", "--", sys.executable, "notes/notes.py", cwd=tmp_path)

    found = [event for event in done.of("finding") if event["result"] in ("fail", "untested")]
    assert [(event["command"], event["check"], event["message"]) for event in found] == []
    assert done.exit_code == 0
