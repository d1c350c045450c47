import os
import stat
import subprocess
import sys
import threading

import pytest

from operable.host.launch.places import Places, bundled_agents, exclusive, plain, user_agents
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


HOLD = "import sys, fcntl; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def holder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait(200)
    process.stdin.close()
    process.stdout.close()


def test_a_lock_that_another_process_holds_is_waited_for(tmp_path, holder):
    waited = []

    def tell():
        waited.append(True)
        holder.kill()  # also a lock whose holder is killed is free

    with exclusive(str(tmp_path / "lock"), timeout=200, what="it", on_wait=tell):
        assert waited == [True]


def test_waiting_has_a_limit(tmp_path, holder):
    with pytest.raises(Fail) as caught, exclusive(str(tmp_path / "lock"), timeout=0.05, what="installing x"):
        pytest.fail("the lock was held")
    assert caught.value.code == "LOCK_TIMEOUT"
    assert "installing x" in caught.value.message


def test_waiting_can_be_stopped(tmp_path, holder):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Fail) as caught, exclusive(str(tmp_path / "lock"), timeout=200, what="it", stop=stop):
        pytest.fail("the lock was held")
    assert caught.value.category == "cancelled"


def test_a_lock_is_free_again_afterwards(tmp_path):
    for _ in range(2):
        with exclusive(str(tmp_path / "lock"), timeout=0, what="it"):
            pass
