"""The built wheel in an environment of its own, made once for all workers of a run."""

import fcntl
import json
import os
from pathlib import Path

import pytest

from tests.package.environments import Environment, bare


@pytest.fixture(scope="session")
def base(tmp_path_factory) -> Environment:
    root = tmp_path_factory.getbasetemp()
    shared = (root.parent if os.environ.get("PYTEST_XDIST_WORKER") else root) / "bare-wheel"
    shared.mkdir(exist_ok=True)
    with open(shared / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = shared / "done.json"
        if not done.exists():
            made = bare(shared)
            done.write_text(json.dumps([str(made.python), made.extra, made.packages, made.megabytes]))
        python, extra, packages, megabytes = json.loads(done.read_text())
    return Environment(Path(python), extra, tuple(packages), megabytes)
