"""Signatures of packages: whose they are, and that they are of exactly these files."""

import subprocess
from pathlib import Path

import pytest

from operable.distribution.folder import SIGNATURE, digest, files
from operable.distribution.signature import sign, verify
from operable.gate.signatures.ssh_signatures import private_key as ssh_private_key
from operable.gate.signatures.ssh_signatures import public_line
from operable.kernel.errors import Fail


def private_key() -> bytes:
    """A new key as OpenSSH keeps it."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(private_key())
    path.chmod(0o600)
    (tmp_path / "key.pub").write_text(public_line(ssh_private_key(str(path)).public_key()))
    return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "APP.md").write_text("# It\n")
    return folder


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    path = tmp_path / "home/config/allowed_signers"
    path.parent.mkdir(parents=True)
    return path


def signed(package: Path, key: Path) -> str:
    whole = digest(files(str(package)))
    armored, _ = sign(whole, str(key))
    (package / SIGNATURE).write_text(armored)
    return whole


def test_who_signed_is_known_by_the_list_of_the_user_alone(package, key, allowed):
    assert verify(str(package), digest(files(str(package)))).state == "none"
    whole = signed(package, key)
    assert verify(str(package), whole).state == "unknown"

    allowed.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}\n")
    found = verify(str(package), whole)

    assert (found.state, found.signer) == ("allowed", "ada@example.org")


@pytest.mark.parametrize("options", ['namespaces="file"', 'valid-before="20200101"', "cert-authority"])
def test_a_key_that_is_listed_for_something_else_does_not_count(package, key, allowed, options):
    allowed.write_text(f"ada@example.org {options} {key.with_suffix('.pub').read_text()}\n")

    assert verify(str(package), signed(package, key)).state == "unknown"


def test_a_changed_file_makes_the_signature_an_error(package, key, allowed):
    signed(package, key)
    (package / "APP.md").write_text("# Other\n")

    with pytest.raises(Fail) as caught:
        verify(str(package), digest(files(str(package))))

    assert (caught.value.category, caught.value.code) == ("authz", "PACKAGE_SIGNATURE_INVALID")


@pytest.mark.needs("ssh-keygen")
def test_a_signature_of_ssh_keygen_is_one(package, key, allowed):
    from operable.distribution.signature import NAMESPACE, signed_text

    whole = digest(files(str(package)))
    done = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(key)],
        input=signed_text(whole),
        capture_output=True,
        timeout=60,
        check=True,
    )
    (package / SIGNATURE).write_bytes(done.stdout)

    assert verify(str(package), whole).state == "unknown"


def test_a_key_that_cannot_be_used_is_named(package, tmp_path):
    with pytest.raises(Fail) as caught:
        sign("sha256:0", str(tmp_path / "nowhere"))

    assert caught.value.code == "SIGNING_KEY_UNUSABLE"
