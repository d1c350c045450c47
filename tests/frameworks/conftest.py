"""What the tests of the frameworks share.

Each test imports its framework when it runs: all of them take 2.6 s of a processor, and every worker collects all tests.
"""

from typing import Any

import pytest

from operable.testing.models import ModelServer
from tests.serve.world import World


@pytest.fixture
def prefix():
    """Of the names of tools, where a framework gives them one."""
    return ""


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path)
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.project)
    return made


@pytest.fixture
def models(prefix):
    reads: dict[str, Any] = {"call": f"{prefix}bench_rows", "args": {"query": "x", "count": 2}}
    wrong: dict[str, Any] = {"call": f"{prefix}bench_rows", "args": {"query": 5}}
    wipes: dict[str, Any] = {"call": f"{prefix}bench_wipe", "args": {"name": "x"}}
    scripts: dict[str, list[list[dict[str, Any]]]] = {
        "read": [[reads], [{"say": "Two rows."}]],
        # Wrong, so that the framework shows how it reports it, then right.
        "corrected": [[wrong], [reads], [{"say": "Done."}]],
        "wipe": [[wipes], [{"say": "It was refused."}]],
    }
    with ModelServer(scripts) as server:
        yield server
