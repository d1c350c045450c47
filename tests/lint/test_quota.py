"""A control group binds everybody in it; where none can be made there is none, and none is left behind."""

import os
import signal
import subprocess

import pytest

from operable.lint.quota import _bases, quota


@pytest.fixture
def group():
    found = quota(32, 64 * 1024 * 1024)
    if found is None:
        pytest.skip("no control group can be made here")
    yield found
    found.remove()


def ours() -> list[str]:
    prefix = f"aoi-lint-{os.getpid()}-"
    return [name for base, _ in _bases() for name in os.listdir(base) if name.startswith(prefix)]


def test_a_process_that_was_admitted_cannot_start_more_than_it_may(group):
    script = "read go; for n in $(seq 100); do sleep 5 & done; wait"
    process = subprocess.Popen(
        ["bash", "-c", script], stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        group.admit(process.pid)
        process.stdin.write(b"go\n")
        process.stdin.close()
        refused = process.stderr.readline()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)
        process.stderr.close()

    assert b"fork" in refused


def test_nothing_is_left_of_a_group(group):
    assert ours()

    group.remove()

    assert ours() == []
