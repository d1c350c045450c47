from pathlib import Path

import pytest

from operable.host.start.secret_delivery import Delivered, deliver
from operable.host.start.vault import Actor, SecretUse, Vault
from operable.kernel.errors import Fail
from tests.host.inventory import inventory

VALUE = "hunter2-hunter2"
LOGIN = '{"accessToken": "at-1234567", "refreshToken": "rt-1234567"}'


def delivered(
    tmp_path: Path, monkeypatch, *exposures, value=VALUE, egress=("api.example.com",)
) -> tuple[Delivered, list[SecretUse]]:
    monkeypatch.setenv("GH_TOKEN", value)
    uses: list[SecretUse] = []
    vault = Vault(
        inventory({"slug": "gh-token", "exposures": list(exposures)}),
        Actor("ada", owner=True),
        on_use=uses.append,
    )
    found = deliver(vault, ["gh-token"], "/home/agent", egress)
    assert (value in vault.known) == bool(uses)
    return found, uses


def test_without_exposures_a_secret_is_the_variable_of_its_name(tmp_path, monkeypatch):
    found, uses = delivered(tmp_path, monkeypatch)

    assert found.env == {"GH_TOKEN": VALUE}
    assert [use.purpose for use in uses] == ["session"]
    assert VALUE not in repr(found)


def test_a_field_of_a_structured_secret_is_a_variable(tmp_path, monkeypatch):
    exposure = {"kind": "env", "name": "TOKEN", "field": "accessToken"}

    assert delivered(tmp_path, monkeypatch, exposure, value=LOGIN)[0].env == {"TOKEN": "at-1234567"}


def test_a_file_stays_in_memory_and_stands_where_the_agent_looks_for_it(tmp_path, monkeypatch):
    found, _ = delivered(tmp_path, monkeypatch, {"kind": "file", "path": "~/.config/gh/token"})

    assert found.files == {"/home/agent/.config/gh/token": VALUE.encode()}
    assert list(tmp_path.iterdir()) == []  # nothing of it is on disk
    assert found.env == {}
    assert VALUE not in repr(found)


def test_a_placeholder_takes_the_place_of_the_value_everywhere(tmp_path, monkeypatch):
    found, uses = delivered(
        tmp_path,
        monkeypatch,
        {"kind": "env", "name": "GH_TOKEN"},
        {"kind": "egress-substitute", "placeholderName": "GH", "intendedProviders": ["api.github.com"]},
    )

    assert found.env == {"GH_TOKEN": "$$SECRET[GH]$$"}
    assert uses == []
    (substitute,) = found.substitutes
    assert (substitute.name, substitute.hosts) == ("GH", ("api.github.com",))
    assert substitute.reveal() == VALUE
    assert [use.purpose for use in uses] == ["egress"]


def test_a_placeholder_for_every_listed_host_has_to_be_wanted(tmp_path, monkeypatch):
    everywhere = {"kind": "egress-substitute", "placeholderName": "GH", "allowedByDefault": True}

    assert delivered(tmp_path, monkeypatch, everywhere)[0].substitutes[0].hosts == ("api.example.com",)
    with pytest.raises(Fail, match="names no host"):
        delivered(tmp_path, monkeypatch, {"kind": "egress-substitute", "placeholderName": "GH"})


@pytest.mark.parametrize(
    "exposure",
    [
        {"kind": "file", "path": "relative"},
        {"kind": "file", "path": "/a/../../etc/passwd"},
        {"kind": "file"},
        {"kind": "file", "path": "/a", "mode": 0o644},
    ],
)
def test_a_file_that_cannot_be_private_is_refused(tmp_path, monkeypatch, exposure):
    with pytest.raises(Fail) as caught:
        delivered(tmp_path, monkeypatch, exposure)
    assert caught.value.code == "SECRET_EXPOSURE_INVALID"


def test_an_unknown_exposure_is_ignored_and_the_variable_remains(tmp_path, monkeypatch):
    assert delivered(tmp_path, monkeypatch, {"kind": "telepathy"})[0].env == {"GH_TOKEN": VALUE}


def test_a_slug_that_nobody_declared_is_named():
    with pytest.raises(Fail) as caught:
        deliver(Vault(inventory({"slug": "gh-token"}), Actor("ada")), ["other"], "/", ())
    assert caught.value.code == "SECRET_UNKNOWN"
