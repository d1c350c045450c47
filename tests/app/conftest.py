"""A place for the state of each test."""

import pytest

from operable.app.trust import Approvals


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path / "operable-home"
    monkeypatch.setenv("OPERABLE_HOME", str(folder))
    return folder


@pytest.fixture
def approvals(home):
    return Approvals()
