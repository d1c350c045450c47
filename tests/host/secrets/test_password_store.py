import os
import subprocess
from pathlib import Path

import pytest

from operable.host.secret_backend import backend
from operable.kernel.errors import Fail

PASS = backend("password-store")
KEY = """
%no-protection
Key-Type: eddsa
Key-Curve: ed25519
Subkey-Type: ecdh
Subkey-Curve: cv25519
Name-Real: Test
Name-Email: test@example.com
Expire-Date: 0
%commit
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch) -> Path:
    """A password store with a key of its own. The folder is short: GnuPG's sockets must fit into 108 characters."""
    home = Path("/tmp") / f"operable-gpg-{os.getpid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setenv("GNUPGHOME", str(home))
    monkeypatch.setenv("PASSWORD_STORE_DIR", str(tmp_path / "store"))
    for words, given in (
        (["gpg", "--batch", "--gen-key"], KEY),
        (["pass", "init", "test@example.com"], ""),
        (["pass", "insert", "--multiline", "operable/team/gh-token"], "the value\nurl: x\n"),
    ):
        subprocess.run(words, input=given, text=True, check=True, capture_output=True, timeout=200)
    return home


@pytest.mark.needs("pass", "gpg")
def test_the_first_line_of_an_entry_is_the_secret(store: Path):
    try:
        assert PASS.missing() is None
        assert PASS.read(PASS.locate("team/gh-token")) == "the value"
        assert PASS.read("operable/absent") is None
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False, timeout=200)
        subprocess.run(["rm", "-rf", str(store)], check=True, timeout=200)


def test_an_entry_that_cannot_be_decrypted_is_a_failure(tmp_path: Path, monkeypatch):
    program = tmp_path / "pass"
    program.write_text("#!/bin/sh\necho 'gpg: decryption failed: No secret key' >&2; exit 2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    with pytest.raises(Fail) as caught:
        PASS.read("operable/x")
    assert caught.value.code == "SECRET_BACKEND_FAILED"


def test_a_machine_without_it_is_told_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    assert "apt-get install pass" in str(PASS.missing())
