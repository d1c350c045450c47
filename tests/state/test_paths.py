"""Where things are kept, what a relative OPERABLE_HOME means, and what happens if there is no place."""

import os
import stat
import subprocess
import sys

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.spawn import prepare
from operable.state.paths import VARIABLES, cache_path, config_path, data_path, make_state, state_path

KINDS = {
    "state": (state_path, "XDG_STATE_HOME", "state/n", ".local/state"),
    "config": (config_path, "XDG_CONFIG_HOME", "config/n", ".config"),
    "cache": (cache_path, "XDG_CACHE_HOME", "cache/n", ".cache"),
    "data": (data_path, "XDG_DATA_HOME", "n", ".local/share"),
}
# Every part of the project that keeps something, asked in a process whose working directory has changed since its start.
EVERYTHING = """
import os, sys
from operable.app.shelf import user_apps
from operable.flow.home import home_of
from operable.host.launch.places import Places, user_agents
from operable.run.discovery import ToolSource, _entry
from operable.wrap.places import folders
from operable.wrap.plan.cache import _place
from operable.agent.instructions import _files
from operable.agent.places import sessions_folder
from operable.wrap.plan.settings import place
os.chdir("elsewhere")
print(user_apps(), home_of(os.environ, cwd="/work"), Places.default().state, user_agents(), _entry(ToolSource((sys.executable,))),
      *folders()[:2], _place("/w"), next(iter(_files("/"))), sessions_folder(), place(), sep="\\n")
"""


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    for name in ("OPERABLE_HOME", "HOME", *(variable for _, variable, _, _ in KINDS.values())):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_below_operable_home_else_its_xdg_directory_else_the_home(kind, monkeypatch):
    find, variable, below_home, fallback = KINDS[kind]
    assert find("n") is None
    monkeypatch.setenv("HOME", "/h")
    assert find("n") == f"/h/{fallback}/operable/n"
    monkeypatch.setenv(variable, "relative")
    assert find("n") == f"/h/{fallback}/operable/n"
    monkeypatch.setenv(variable, "/x")
    assert find("n") == "/x/operable/n"
    monkeypatch.setenv("OPERABLE_HOME", "/o")
    assert find("n") == f"/o/{below_home}"
    monkeypatch.setenv("OPERABLE_HOME", "~/o")
    assert find("n") == f"/h/o/{below_home}"


@pytest.mark.parametrize("home", ["mine", "./mine", "elsewhere/../mine"])
def test_a_relative_operable_home_is_the_same_place_for_everything(home, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "OPERABLE_HOME": home}
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    places = done.stdout.splitlines()
    assert len(places) == 11
    assert [place for place in places if not place.startswith(f"{tmp_path}/mine/")] == []


def test_a_child_in_another_folder_finds_the_same_home(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    program = (
        "from operable.proc.run import output\nfrom operable.proc.spawn import prepare\n"
        "from operable.state.paths import VARIABLES\nimport sys\n"
        "words = [sys.executable, '-c', 'import os; print(os.environ[\"OPERABLE_HOME\"])']\n"
        "sys.stdout.buffer.write(output(prepare(words, inherit=VARIABLES, cwd='elsewhere')).stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "OPERABLE_HOME": "mine"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.stdout == f"{tmp_path}/mine\n", done.stderr


def test_a_child_gets_no_home_that_its_host_does_not_have():
    child = output(prepare([sys.executable, "-c", "import os; print(os.environ)"], inherit=VARIABLES))
    assert b"OPERABLE_HOME" not in child.stdout


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
    assert make_state("t") == str(tmp_path / expected)
    assert stat.S_IMODE(os.stat(tmp_path / expected).st_mode) == 0o700
    assert make_state("t") == str(tmp_path / expected)  # it may be there already


def test_a_relative_xdg_directory_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert make_state("t") == f"{tmp_path}/.local/state/operable/t"


def test_without_a_place_it_is_a_configuration_error():
    with pytest.raises(Fail, match="HOME is not set") as failed:
        make_state("t")
    assert (failed.value.category, failed.value.code, failed.value.exit_code) == (
        "config",
        "NO_STATE_DIRECTORY",
        78,
    )


def test_a_place_that_cannot_be_used_is_a_configuration_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "file"))
    with pytest.raises(Fail) as failed:
        make_state("t")
    assert (failed.value.category, failed.value.code) == ("config", "STATE_DIRECTORY_UNUSABLE")
    assert failed.value.target == f"{tmp_path}/file/state/t"
