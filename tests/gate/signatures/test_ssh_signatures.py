"""SSH signatures, compared with ssh-keygen in both directions."""

import base64
import os
import struct
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.gate.signatures import ssh_signatures
from operable.gate.signatures.allowed_signers import may_sign, parse_signers, read_signers
from tests.flow.ssh_keys import KINDS, allowed, written
from tests.requirement import requirement

MESSAGE = b'{"a":1}'


def run(*argv, **options):
    return subprocess.run(argv, capture_output=True, timeout=200, check=False, **options)


@pytest.mark.parametrize("kind", KINDS)
@requirement("agentcli:attestation:signatures")
def test_a_signature_verifies_for_its_message_only(kind):
    key = KINDS[kind]()
    parsed = ssh_signatures.parse(ssh_signatures.sign(key, MESSAGE, "agentcli"))

    assert ssh_signatures.is_signed(parsed, MESSAGE)
    assert not ssh_signatures.is_signed(parsed, MESSAGE + b" ")
    assert parsed.namespace == "agentcli"
    assert parsed.public_blob == ssh_signatures.public_blob(key.public_key())


@pytest.mark.needs("ssh-keygen")
@pytest.mark.parametrize("kind", KINDS)
@requirement("agentcli:attestation:signatures")
def test_ssh_keygen_accepts_our_signatures(tmp_path, kind):
    _, key = written(tmp_path, kind)
    signers = allowed(tmp_path, key)
    (tmp_path / "sig").write_text(ssh_signatures.sign(key, MESSAGE, "agentcli"))

    answer = run(
        "ssh-keygen", "-Y", "verify", "-f", signers, "-I", "agentcli", "-n", "agentcli", "-s", tmp_path / "sig",
        input=MESSAGE,
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr


@pytest.mark.needs("ssh-keygen")
@pytest.mark.parametrize("kind", KINDS)
@requirement("agentcli:attestation:signatures")
def test_we_accept_signatures_of_ssh_keygen(tmp_path, kind):
    path, _ = written(tmp_path, kind)
    answer = run("ssh-keygen", "-Y", "sign", "-f", path, "-n", "agentcli", input=MESSAGE)
    assert answer.returncode == 0, answer.stderr

    parsed = ssh_signatures.parse(answer.stdout.decode())

    assert ssh_signatures.is_signed(parsed, MESSAGE)
    listed = run("ssh-keygen", "-l", "-f", path).stdout.decode().split()
    assert parsed.fingerprint == listed[1]


def test_an_ed25519_signature_is_the_same_every_time():
    key = KINDS["ed25519"]()

    assert ssh_signatures.sign(key, MESSAGE, "n") == ssh_signatures.sign(key, MESSAGE, "n")


def test_a_signature_is_good_for_its_namespace_only():
    parsed = ssh_signatures.parse(ssh_signatures.sign(KINDS["ed25519"](), MESSAGE, "agentcli"))
    moved = ssh_signatures.SshSignature(parsed.public_blob, "git", parsed.hash_name, parsed.signature)

    assert not ssh_signatures.is_signed(moved, MESSAGE)


def _string(data):
    return struct.pack(">I", len(data)) + data


def test_rsa_with_sha1_is_no_signature():
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    key = KINDS["rsa"]()
    parsed = ssh_signatures.parse(ssh_signatures.sign(key, MESSAGE, "n"))
    blob = ssh_signatures._signed_blob("n", "sha512", MESSAGE)
    raw = key.sign(blob, padding.PKCS1v15(), hashes.SHA1())
    old = _string(b"ssh-rsa") + _string(raw)

    assert not ssh_signatures.is_signed(
        ssh_signatures.SshSignature(parsed.public_blob, "n", "sha512", old), MESSAGE
    )


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_fail_otherwise(data):
    armored = (
        "-----BEGIN SSH SIGNATURE-----\n" + base64.b64encode(data).decode() + "\n-----END SSH SIGNATURE-----"
    )
    for text in (armored, armored.replace("\n", "\nU1NIU0lH"), data.decode("latin-1")):
        try:
            parsed = ssh_signatures.parse(text)
        except ValueError:
            continue
        assert ssh_signatures.is_signed(parsed, MESSAGE) is False


@given(st.integers(0, 400), st.integers(1, 255))
def test_a_changed_byte_never_verifies(at, change):
    key = _KEY
    armored = ssh_signatures.sign(key, MESSAGE, "n")
    data = bytearray(base64.b64decode("".join(armored.splitlines()[1:-1])))
    data[at % len(data)] ^= change
    text = "\n".join([armored.splitlines()[0], base64.b64encode(data).decode(), armored.splitlines()[-1]])
    try:
        parsed = ssh_signatures.parse(text)
    except ValueError:
        return
    assert not ssh_signatures.is_signed(parsed, MESSAGE)


_KEY = KINDS["ed25519"]()


@pytest.mark.parametrize(
    "prepare, message",
    [
        (lambda path: path.chmod(0o644), "read by others"),
        (lambda path: path.write_text("nonsense"), "is not a private key"),
    ],
)
def test_a_private_key_that_should_not_be_used_is_refused(tmp_path, prepare, message):
    path, _ = written(tmp_path)
    prepare(path)

    with pytest.raises(ValueError, match=message):
        ssh_signatures.private_key(str(path))


def key_text(key):
    return ssh_signatures.public_line(key.public_key())


@pytest.mark.parametrize(
    "line, principal, namespace, now, may",
    [
        ("agentcli {key}", "agentcli", "agentcli", 0, True),
        ("agentcli {key} a comment", "agentcli", "other", 0, True),
        ("agentcli {key}", "bob", "agentcli", 0, False),
        ("*@x.org,!eve@x.org {key}", "ann@x.org", "n", 0, True),
        ("*@x.org,!eve@x.org {key}", "eve@x.org", "n", 0, False),
        ('a namespaces="git,file" {key}', "a", "git", 0, True),
        ('a namespaces="git,file" {key}', "a", "agentcli", 0, False),
        ('a valid-after="20260101Z" {key}', "a", "n", 1767225600, True),
        ('a valid-after="20260101Z" {key}', "a", "n", 1767225599, False),
        ('a valid-before="202601010000Z" {key}', "a", "n", 1767225600, False),
        ('a valid-before="nonsense" {key}', "a", "n", 0, False),
        ("a cert-authority {key}", "a", "n", 0, False),
        ("a unheard-of {key}", "a", "n", 0, False),
        ('a namespaces="open {key}', "a", "open", 0, False),
        ("# a {key}", "a", "n", 0, False),
        ("a ssh-ed25519 !!!", "a", "n", 0, False),
    ],
)
@requirement("agentcli:attestation:signatures")
def test_allowed_signers_are_read_as_ssh_keygen_does(line, principal, namespace, now, may):
    signers = parse_signers(line.format(key=key_text(_KEY)))
    blob = ssh_signatures.public_blob(_KEY.public_key())

    assert may_sign(signers, principal=principal, key=blob, namespace=namespace, now=now) is may


@requirement("agentcli:attestation:allowed-signers")
def test_allowed_signers_behind_a_link_or_no_file_are_refused_without_waiting(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    allowed(real, _KEY)
    (tmp_path / "link").symlink_to(real)
    (tmp_path / "file").symlink_to(real / "allowed_signers")
    os.mkfifo(tmp_path / "fifo")

    assert len(read_signers(str(real / "allowed_signers"))) == 1
    for path, message in (
        ("link/allowed_signers", "folder that is a symbolic link"),
        ("file", "is a symbolic link"),
        ("fifo", "not a regular file"),
        ("nothing", "cannot be read"),
    ):
        with pytest.raises(ValueError, match=message):
            read_signers(str(tmp_path / path))
