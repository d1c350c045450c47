import os
import sqlite3
import stat
import threading

import pytest

from operable.host.launch.ledger import Ledger, Scope, StepRecord
from operable.kernel.errors import Fail

SCOPE = Scope("agent", "/work", "me")


@pytest.fixture
def ledger(tmp_path):
    return Ledger(str(tmp_path / "ledger.sqlite"), clock=lambda: 1000.0)


def test_an_installation_belongs_to_its_major_version_and_its_source(ledger):
    ledger.installed("agent@1", "source", "/bin/agent", "npm", "/prefix")
    assert ledger.install("agent@1", "source").binary == "/bin/agent"
    assert ledger.install("agent@2", "source") is None
    assert ledger.install("agent@1", "another") is None
    assert ledger.prefixes("agent@1") == {"/prefix"}
    ledger.uninstalled("agent@1", "source")
    assert ledger.install("agent@1", "source") is None


def test_a_new_installation_forgets_the_version_of_the_old_one(ledger):
    ledger.installed("agent@1", "s", "/bin/agent", "npm", None)
    ledger.checked("agent@1", "s", "1.2.3", "stamp")
    assert ledger.install("agent@1", "s").version == "1.2.3"
    ledger.installed("agent@1", "s", "/bin/agent", "npm", None)
    assert ledger.install("agent@1", "s").version is None


def test_steps_and_logins_are_kept_per_bundle_workspace_and_user(ledger):
    ledger.completed(SCOPE, "step", StepRecord("sha256:1", "done", "VAR", "slug"))
    ledger.login_is(SCOPE, "authed")
    for other in (SCOPE._replace(bundle="x"), SCOPE._replace(workspace="x"), SCOPE._replace(user="x")):
        assert ledger.steps(other) == {}
        assert ledger.login(other).state == "unknown"
    again = Ledger(ledger.path)
    assert again.steps(SCOPE) == {"step": StepRecord("sha256:1", "done", "VAR", "slug")}
    assert (again.login(SCOPE).state, again.login(SCOPE).refreshed_at) == ("authed", 1000.0)


def test_a_step_or_all_of_them_can_be_opened_again(ledger):
    for step in ("a", "b", "c"):
        ledger.completed(SCOPE, step, StepRecord("d", "done"))
    ledger.reopen(SCOPE, "b")
    assert set(ledger.steps(SCOPE)) == {"a", "c"}
    ledger.reopen(SCOPE)
    assert ledger.steps(SCOPE) == {}


def test_only_its_owner_can_read_it(ledger):
    ledger.completed(SCOPE, "a", StepRecord("d", "done"))
    modes = {stat.S_IMODE(os.stat(path).st_mode) for path in (ledger.path,)}
    assert modes == {0o600}


def test_many_threads_write_at_once_and_nothing_is_lost(ledger):
    def write(number):
        for step in range(10):
            ledger.completed(SCOPE, f"{number}-{step}", StepRecord("d", "done"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(ledger.steps(SCOPE)) == 60


def test_rubbish_in_its_place_is_a_clear_failure(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(Fail) as caught:
        Ledger(str(path)).login(SCOPE)
    assert (caught.value.category, caught.value.code) == ("io", "LEDGER_UNUSABLE")
    assert path.read_bytes().startswith(b"this is")


def test_a_newer_ledger_is_left_alone(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(Fail) as caught:
        Ledger(path).login(SCOPE)
    assert caught.value.code == "LEDGER_NEWER"


def test_a_ledger_that_must_not_remember_reads_and_stays_as_it_was(tmp_path):
    path = str(tmp_path / "ledger.sqlite")
    Ledger(path).login_is(SCOPE, "authed")
    dry = Ledger(path, remember=False)

    dry.login_is(SCOPE, "unauthed")
    dry.completed(SCOPE, "step", StepRecord("sha256:1", "done"))

    assert dry.login(SCOPE).state == "authed"
    assert Ledger(path).steps(SCOPE) == {}
