import os
from pathlib import Path

import pytest

from operable.host.secret_backend import backend
from operable.kernel.errors import Fail

VAULT = backend("vault")
# Answers as `vault kv get` does; says what it was asked on a file beside it.
STAND_IN = """#!/bin/sh
echo "$VAULT_TOKEN $*" >> "$0.asked"
case "$*" in
  *-field=value\\ secret/operable/team/gh-token) echo "the value" ;;
  *-field=key\\ kv/other) echo "another" ;;
  *absent) echo "No value found at secret/data/absent" >&2; exit 2 ;;
  *) echo "permission denied" >&2; exit 2 ;;
esac
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch) -> Path:
    program = tmp_path / "vault"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("VAULT_TOKEN", "from-the-host")
    return tmp_path / "vault.asked"


def test_a_secret_is_a_field_of_a_path(asked: Path):
    assert VAULT.missing() is None
    assert VAULT.read(VAULT.locate("team/gh-token")) == "the value"
    assert VAULT.read("kv/other#key") == "another"
    assert VAULT.read("secret/absent") is None
    assert asked.read_text().startswith("from-the-host kv get -field=value")


def test_what_may_not_be_read_is_a_failure(asked: Path):
    with pytest.raises(Fail) as caught:
        VAULT.read("kv/forbidden")
    assert caught.value.code == "SECRET_BACKEND_FAILED"


def test_a_machine_without_it_is_told(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    assert VAULT.missing() == "neither vault nor bao is installed"
