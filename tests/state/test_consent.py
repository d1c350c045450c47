"""Approvals of content: kept, private, voided by a change, and nothing where the file cannot be used."""

import json
import os
import subprocess
import sys

import pytest

from operable.kernel.errors import Fail
from operable.state.consent import UNUSABLE, ConsentFile, compare


@pytest.fixture
def consents(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    return ConsentFile("apps", "approvals.json")


def test_a_record_is_read_back_and_its_file_is_private(consents, tmp_path):
    with consents.change() as records:
        records["one"] = {"digest": "sha256:1", "shell": True}

    assert consents.read() == {"one": {"digest": "sha256:1", "shell": True}}
    path = tmp_path / "home" / "state" / "apps" / "approvals.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_reading_makes_nothing_and_approves_nothing(consents, tmp_path, monkeypatch):
    assert consents.read() == {}
    assert os.listdir(tmp_path) == []
    monkeypatch.delenv("OPERABLE_HOME")
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert consents.read() == {}
    with pytest.raises(Fail) as caught, consents.change():
        pass
    assert caught.value.code == "NO_STATE_DIRECTORY"


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', "[" * 100_000])
def test_a_damaged_file_cannot_be_read_and_is_not_overwritten(consents, text):
    with consents.change():
        pass
    with open(consents.place(), "w", encoding="utf-8") as file:
        file.write(text)

    with pytest.raises(Fail, match=r"approvals\.json cannot be used") as caught:
        consents.read()
    assert (caught.value.category, caught.value.code) == ("config", UNUSABLE)
    with pytest.raises(Fail, match=r"cannot be used"), consents.change() as records:
        records["one"] = {}
    with open(consents.place(), encoding="utf-8") as file:
        assert file.read() == text


def test_what_raises_while_records_change_changes_nothing(consents):
    def stopped():
        with consents.change() as records:
            records["one"] = {"digest": "1"}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stopped()
    assert consents.read() == {}


def test_processes_that_approve_at_once_lose_nothing(consents):
    program = (
        "import sys\nfrom operable.state.consent import ConsentFile\n"
        "for number in range(20):\n"
        "    with ConsentFile('apps', 'approvals.json').change() as records:\n"
        "        records[f'{sys.argv[1]}-{number}'] = {'digest': '1'}\n"
    )
    racers = [subprocess.Popen([sys.executable, "-c", program, str(number)]) for number in range(4)]
    assert [racer.wait(timeout=200) for racer in racers] == [0] * 4

    with open(consents.place(), encoding="utf-8") as file:
        assert len(json.load(file)) == 80
    assert sorted(os.listdir(os.path.dirname(consents.place()))) == ["approvals.json", "approvals.json.lock"]


def test_an_approval_is_for_one_content():
    assert compare(None, "1") == "never approved"
    assert compare("1", "1") == "approved"
    assert compare("1", "2") == "changed"
