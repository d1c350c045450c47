"""Where state goes, and what happens when it cannot go there."""

import os
import stat

import pytest

from operable.kernel.errors import Fail
from operable.tool.places import state_directory


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    for name in ("OPERABLE_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({"HOME": "h"}, "h/.local/state/operable/t"),
        ({"HOME": "h", "XDG_STATE_HOME": "x"}, "x/operable/t"),
        ({"HOME": "h", "XDG_STATE_HOME": "x", "OPERABLE_HOME": "o"}, "o/state/t"),
        ({"OPERABLE_HOME": "o"}, "o/state/t"),
    ],
)
def test_the_most_specific_variable_decides(variables, expected, tmp_path, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    assert state_directory("t") == str(tmp_path / expected)
    assert stat.S_IMODE(os.stat(tmp_path / expected).st_mode) == 0o700
    assert state_directory("t") == str(tmp_path / expected)  # it may be there already


def test_a_relative_xdg_directory_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert state_directory("t") == f"{tmp_path}/.local/state/operable/t"


@pytest.mark.parametrize("variables, said", [({}, "HOME is not set"), ({"OPERABLE_HOME": "o"}, "absolute")])
def test_without_a_place_it_is_a_configuration_error(variables, said, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Fail, match=said) as failed:
        state_directory("t")
    assert (failed.value.category, failed.value.code, failed.value.exit_code) == (
        "config",
        "NO_STATE_DIRECTORY",
        78,
    )


def test_a_place_that_cannot_be_used_is_a_configuration_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "file"))
    with pytest.raises(Fail) as failed:
        state_directory("t")
    assert (failed.value.category, failed.value.code) == ("config", "STATE_DIRECTORY_UNUSABLE")
    assert failed.value.target == f"{tmp_path}/file/state/t"
