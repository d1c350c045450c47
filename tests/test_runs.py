"""Kinds of runs: `--fast` leaves out tests that start processes, `--strict-skips` knows every reason for which one is skipped.

And what holds for all of them: where `python3` leads, and who makes the bytecode of the tests.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bytecode import write_share
from tests.conftest import interpreter_first
from tests.documentation import ROOT
from tests.skips import unknown
from tests.tool.drive import LIMIT


def ran(*words):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def test_a_fast_run_leaves_out_what_starts_processes_and_nothing_else():
    light, heavy = "tests/kernel/redact/test_shapes.py", "tests/cli/test_start.py"

    found = ran("--fast", "--collect-only", light, heavy).stdout

    assert f"{light}::" in found
    assert f"{heavy}::" not in found
    assert "deselected" in found


@pytest.mark.parametrize(
    "reason, strict, status",
    [
        ("nobody knows why", True, 1),
        ("nobody knows why", False, 0),
        ("shown in the documentation, not run: needs a key", True, 0),
    ],
)
def test_a_skip_for_an_unknown_reason_fails_a_strict_run(tmp_path, reason, strict, status):
    path = tmp_path / "test_it.py"
    path.write_text(f"import pytest\ndef test_a(): pytest.skip({reason!r})\ndef test_b(): pass\n")

    done = ran("-p", "tests.conftest", *(["--strict-skips"] if strict else []), str(path))

    assert done.returncode == status, done.stdout
    assert ("tests/skips.py does not have the reason 'nobody knows why'" in done.stdout) is bool(status)


def test_what_was_done_in_full_is_named_with_the_command_that_keeps_it(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text(
        "def test_a(record_property): record_property('renewal', 'wrapper old: keep it')\ndef test_b(): pass\n"
    )

    done = ran("-p", "tests.conftest", str(path))

    assert done.returncode == 0, done.stdout
    assert "\nwrapper old: keep it\n" in done.stdout


def test_reasons_are_known_by_how_they_begin():
    assert unknown(["shown in the documentation, not run: it serves", "no bwrap here", "no bwrap here"]) == [
        "no bwrap here"
    ]


class _Run:
    """A run of the tests in a folder, as far as the bytecode is concerned."""

    def __init__(self, folder: Path, config: pytest.Config) -> None:
        self.args = ["a", "b/test_4.py::test_it", "b/none.txt"]
        self.invocation_params = pytest.Config.InvocationParams(args=(), plugins=None, dir=folder)
        self.stash = config.stash
        self.getini = config.getini


def test_workers_make_the_bytecode_of_the_tests_together_and_nothing_twice(
    tmp_path, pytestconfig, monkeypatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    paths = [tmp_path / name for name in ("a/test_1.py", "a/c/test_2.py", "a/test_3.py", "b/test_4.py")]
    for path in [*paths, tmp_path / "a" / "other.py"]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def test_it():\n    assert True\n")
    run: Any = _Run(tmp_path, pytestconfig)

    write_share(run, 0, 2)
    first = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.pyc")}
    write_share(run, 1, 2)
    write_share(run, 0, 1)

    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.pyc")}
    assert len(first) == 2
    assert sorted(path.name.partition(".")[0] for path in made) == ["test_1", "test_2", "test_3", "test_4"]
    assert first.items() <= made.items()


def test_a_path_whose_python3_is_a_script_gets_the_interpreter_before_it(tmp_path):
    chooser, real = tmp_path / "shims", tmp_path / "bin"
    for folder, content in ((chooser, b"#!/bin/sh\n"), (real, b"\x7fELF")):
        folder.mkdir()
        (folder / "python3").write_bytes(content)
        (folder / "python3").chmod(0o755)

    assert (
        interpreter_first(f"{chooser}:{real}") == f"{Path(sys.executable).resolve().parent}:{chooser}:{real}"
    )
    assert interpreter_first(f"{real}:{chooser}") == f"{real}:{chooser}"
    assert interpreter_first(str(tmp_path)) == str(tmp_path)
