"""Building the reference tools: whatever the builder or another run does, a test waits for it within bounds and says why."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference.building import alone, make


def test_a_lock_that_is_not_given_back_is_an_error_that_names_its_holder(tmp_path: Path):
    path = tmp_path / "lock"

    with (
        alone(path),
        pytest.raises(pytest.fail.Exception, match=f"locked for 0.1 s, by process {os.getpid()}"),
        alone(path, timeout=0.1),
    ):
        pass


def test_a_lock_whose_holder_was_killed_is_free_though_its_child_lives(tmp_path: Path):
    path = tmp_path / "lock"
    code = (
        "import subprocess, sys, pathlib\nfrom tests.reference.building import alone\n"
        f"with alone(pathlib.Path({str(path)!r})):\n"
        "    child = subprocess.Popen(['sleep', '600'])\n    print(child.pid, flush=True)\n    child.wait(600)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        with pytest.raises(pytest.fail.Exception, match=f"by process {holder.pid}"), alone(path, timeout=0.1):
            pass
        holder.kill()
        holder.wait(30)

        with alone(path, timeout=30.0):
            assert path.read_text() == str(os.getpid())
    finally:
        holder.kill()
        os.kill(child, signal.SIGKILL)
        holder.stdout.close()
        holder.wait(30)


def test_a_builder_that_does_not_end_is_ended_with_its_children_and_its_last_words_are_told(tmp_path: Path):
    # Whoever keeps the pipe open would be waited for: that the call comes back shows that the child is gone too.
    script = "echo waiting for file lock >&2; sleep 600 & echo $! > child; wait"

    problem = make(["sh", "-c", script], tmp_path, {}, timeout=5.0)

    assert problem == "sh did not end within 5 s; it said:\nwaiting for file lock\n"


def test_a_builder_that_fails_tells_why_and_one_that_succeeds_nothing(tmp_path: Path):
    assert make(["sh", "-c", "echo no such crate; exit 3"], tmp_path, {}) == "sh failed:\nno such crate\n"
    assert make(["true"], tmp_path, {}) is None


def test_a_build_that_failed_is_not_tried_again_in_the_same_run(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("tests.reference.building.CACHE", tmp_path / "cache")
    folder = tmp_path / "go"
    folder.mkdir()
    (folder / "main.go").write_text("this is no program")
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$1" = env ] && echo go1.99 && exit\necho once >> {tmp_path}/calls\necho broken\nexit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    from tests.reference.building import built

    for _ in range(2):
        with pytest.raises(pytest.fail.Exception, match="go failed:\nbroken"):
            built(folder)

    assert (tmp_path / "calls").read_text() == "once\n"
