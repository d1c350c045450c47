"""The short form of `./dev chaos`: two workers, one of everything that can happen to them, judged by the checker."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.needs("unshare", "cc")
@pytest.mark.timeout(900)
def test_workers_that_are_killed_and_stopped_keep_every_promise() -> None:
    words = "--jobs 18 --runs 10 --workers 2 --kills 1 --stops 1 --stop-s 2 --fills 1 --fill-s 1 --jumps 1 --pace 0.1 --seed 7"
    done = subprocess.run(
        [sys.executable, "-m", "tools.chaos", *words.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 requests, 0 violations" in done.stdout
    folder = Path(done.stdout.strip().rpartition("; ")[2])
    assert folder.name.startswith("operable-chaos-")
    assert not folder.exists()
    for act in ("kills", "stops", "fills", "jumps"):
        assert f"1  {act}" in done.stdout
