import os
import stat

import pytest

from operable.host.launch.places import Places, bundled_agents, plain, user_agents
from operable.kernel.errors import Fail


def test_the_state_is_private_and_below_operable_home(monkeypatch, tmp_path):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    places = Places.default()
    assert places.state == str(tmp_path / "home" / "state" / "agents")
    assert stat.S_IMODE(os.stat(places.installs("agent@1")).st_mode) == 0o700


@pytest.mark.parametrize("name", ["../../etc", "a/b", ".hidden", "", "a\0b", "ü b"])
def test_no_name_leads_out_of_its_folder(tmp_path, name):
    assert os.path.dirname(Places(str(tmp_path)).lock(name)) == str(tmp_path / "locks")
    assert not plain(name).startswith(".")


def test_a_state_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Fail) as caught:
        Places(str(tmp_path / "file")).installs("agent@1")
    assert caught.value.code == "STATE_DIRECTORY_UNUSABLE"


@pytest.mark.parametrize(
    "settings, folder",
    [
        ({"OPERABLE_HOME": "/o", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/o/config/agents"),
        ({"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/operable/agents"),
        ({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/operable/agents"),
        ({}, None),
    ],
)
def test_the_folder_of_the_users_manifests(monkeypatch, settings, folder):
    for name in ("OPERABLE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert user_agents() == folder


def test_bundled_manifests_stand_beside_the_host():
    assert bundled_agents().endswith("operable/host/agents")
