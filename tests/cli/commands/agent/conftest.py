"""One place per test."""

import pytest

from tests.cli.agents import Scene


@pytest.fixture
def scene(tmp_path):
    return Scene(tmp_path)
