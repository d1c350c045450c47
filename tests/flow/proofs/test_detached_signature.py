"""Signatures over the manifest, raw and in the SSH format."""

import base64
import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, padding

from operable.flow.canonical import canonical_text
from operable.flow.contracts import HandoffContext, entry
from operable.flow.trust.keys.signatures import key_id
from operable.gate.signatures import ssh_signatures
from tests.flow.proofs.tokens import EC, ED, MANIFEST, NOW, RSA, Ledger, named, pem, verify
from tests.flow.ssh_keys import KINDS, allowed
from tests.requirement import requirement

TEXT = canonical_text(MANIFEST).encode()
ED448 = ed448.Ed448PrivateKey.generate()


def raw(key, data=TEXT):
    if key is RSA:
        made = key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    elif key is EC:
        made = key.sign(data, ec.ECDSA(hashes.SHA256()))
    else:
        made = key.sign(data)
    return base64.b64encode(made).decode()


def proven(value, handoff=None, cwd="/", **profile):
    return verify("detached-signature", value, profile, handoff, cwd=str(cwd))


@pytest.mark.parametrize("key", [RSA, EC, ED, ED448], ids=["rsa", "ec", "ed25519", "ed448"])
@requirement("agentcli:proofs:detached")
def test_raw_signatures_of_every_kind_of_key(key):
    found = proven(raw(key), public_key=pem(key))

    assert (found["verified"], found["manifest_bound"], found["key_source"]) == (True, True, "public_key")
    assert found["key_id"] == key_id(key.public_key())
    assert proven(raw(key, b"other"), public_key=pem(key))["reason"] == "the signature does not verify"


def test_a_small_curve_proves_nothing():
    small = ec.generate_private_key(ec.SECP192R1())
    made = small.sign(canonical_text(MANIFEST).encode(), ec.ECDSA(hashes.SHA256()))
    found = proven(base64.b64encode(made).decode(), public_key=pem(small))

    assert found["verified"] is False
    assert found["reason"] == "public_key is an EC key of 192 bits; at least 224 are needed"


@pytest.mark.parametrize("value", ["", "!!!", "AAAA", raw(ED)], ids=named)
@requirement("agentcli:proofs:detached")
def test_anything_else_proves_nothing(value):
    assert proven(value, public_key=pem(RSA))["verified"] is False


@pytest.mark.parametrize("kind", KINDS)
@requirement("agentcli:proofs:detached")
def test_ssh_signatures_of_allowed_signers(tmp_path, kind):
    key = KINDS[kind]()
    allowed(tmp_path, key)
    value = ssh_signatures.sign(key, TEXT, "agentcli")

    found = proven(value, cwd=tmp_path, allowed_signers="allowed_signers")

    assert (found["verified"], found["key_source"]) == (True, "allowed_signers")
    assert found["key_id"] == key_id(key.public_key())


@pytest.mark.parametrize(
    "signed, profile, reason",
    [
        ((TEXT, "git"), {}, "another namespace"),
        ((TEXT, "agentcli"), {"principal": "bob"}, "no allowed signer"),
        ((b"other", "agentcli"), {}, "does not verify"),
        ((TEXT, "agentcli"), {"allowed_signers": "nothing"}, "allowed_signers cannot be read"),
        ((TEXT, "agentcli"), {"allowed_signers": None, "public_key": pem(RSA)}, "has no allowed_signers"),
    ],
)
@requirement("agentcli:proofs:detached")
def test_ssh_signatures_of_others_prove_nothing(tmp_path, signed, profile, reason):
    key = KINDS["ed25519"]()
    allowed(tmp_path, key)
    value = ssh_signatures.sign(key, *signed)

    found = proven(value, cwd=tmp_path, **{"allowed_signers": "allowed_signers", **profile})

    assert found["verified"] is False
    assert reason in found["reason"]


@requirement("agentcli:proofs:detached")
def test_claims_are_ignored():
    found = proven(raw(ED), public_key=pem(ED), claims={"subject": "somebody else"})

    assert found["verified"] is True


@requirement("agentcli:proofs:detached")
def test_another_namespace_can_be_declared(tmp_path):
    key = KINDS["ed25519"]()
    allowed(tmp_path, key, "ann@x.org")
    value = ssh_signatures.sign(key, TEXT, "release")
    profile = {"allowed_signers": "allowed_signers", "principal": "ann@x.org", "namespace": "release"}

    assert proven(value, cwd=tmp_path, **profile)["verified"] is True


def envelope(key=ED, **changed):
    made = {
        "artifact_digest": "sha256:artifact",
        "nonce": "n1",
        "issued_at": "2027-01-15T07:59:00Z",
        "expires_at": NOW + 600,
        "key_id": key_id(key.public_key()),
        **changed,
    }
    body = {
        "schema": "openclaw.scheduler.authorization-proof",
        "version": 4,
        "method": "detached-signature",
        **made,
    }
    made["signature"] = raw(key, canonical_text(body).encode())
    return json.dumps(made)


@requirement("agentcli:proofs:handoff")
def test_a_v4_envelope_is_good_once():
    ledger = Ledger()

    assert proven(envelope(), ledger.context(), public_key=pem(ED))["verified"] is True
    assert "already used" in proven(envelope(), ledger.context(), public_key=pem(ED))["reason"]


@pytest.mark.parametrize(
    "value, reason",
    [
        (raw(ED), "JSON envelope"),
        ("5", "JSON envelope"),
        (envelope(nonce=""), "no nonce"),
        (envelope(nonce="n" * 2000), "too long"),
        (envelope(artifact_digest="sha256:other"), "another artifact"),
        (envelope(issued_at=NOW - 99, expires_at=NOW - 61), "expired"),
        (envelope(issued_at=NOW + 61), "future"),
        (envelope(issued_at="2027-01-15T07:59:00"), "issue time"),
        (envelope(issued_at=None), "issue time"),
        (envelope(issued_at=True), "issue time"),
        (envelope(key_id=key_id(RSA.public_key())), "another key"),
        (envelope().replace('"n1"', '"n2"'), "does not verify"),
    ],
    ids=named,
)
@requirement("agentcli:proofs:handoff")
def test_any_other_v4_envelope_fails_closed(value, reason):
    ledger = Ledger()

    found = proven(value, ledger.context(), public_key=pem(ED))

    assert found["verified"] is False
    assert reason in found["reason"]
    assert ledger.used == set()


@requirement("agentcli:proofs:handoff")
@pytest.mark.parametrize("name", "signature artifact_digest nonce issued_at expires_at key_id".split())
def test_a_v4_envelope_has_every_member(name):
    whole = json.loads(envelope())
    del whole[name]
    ledger = Ledger()

    assert proven(json.dumps(whole), ledger.context(), public_key=pem(ED))["verified"] is False
    assert ledger.used == set()


@requirement("agentcli:proofs:handoff")
@pytest.mark.parametrize(
    "times, good",
    [
        ({"issued_at": NOW + 60}, True),
        ({"issued_at": NOW + 60.5}, False),
        ({"issued_at": NOW - 99, "expires_at": NOW - 59.5}, True),
        ({"issued_at": NOW - 99, "expires_at": NOW - 60}, False),
        ({"issued_at": NOW, "expires_at": NOW}, False),
    ],
)
def test_clocks_may_differ_by_a_minute(times, good):
    assert proven(envelope(**times), Ledger().context(), public_key=pem(ED))["verified"] is good


@requirement("agentcli:proofs:handoff")
@pytest.mark.parametrize("change", [{"version": 3}, {"method": "certificate"}, {"schema": "other"}])
def test_a_signature_of_another_version_method_or_schema_is_none_of_v4(change):
    made = json.loads(envelope())
    signed = {name: made[name] for name in "artifact_digest nonce issued_at expires_at key_id".split()}
    body = {
        "schema": "openclaw.scheduler.authorization-proof",
        "version": 4,
        "method": "detached-signature",
        **signed,
        **change,
    }
    made["signature"] = raw(ED, canonical_text(body).encode())

    assert proven(json.dumps(made), Ledger().context(), public_key=pem(ED))["verified"] is False


@requirement("agentcli:proofs:handoff")
def test_revoked_keys_and_proofs_are_refused():
    for name in (key_id(ED.public_key()), "n1"):
        assert "revoked" in proven(envelope(), Ledger(name).context(), public_key=pem(ED))["reason"]
    assert (
        "no revocation" in proven(envelope(), HandoffContext("sha256:artifact"), public_key=pem(ED))["reason"]
    )


SOURCE = {"proof": {"value_from": {"file": "sig"}}}


@pytest.mark.parametrize(
    "profile, fields",
    [
        ({**SOURCE, "public_key": pem(ED)}, []),
        ({**SOURCE, "allowed_signers": "x"}, []),
        (SOURCE, ["verify"]),
        ({"allowed_signers": "x"}, ["proof"]),
        ({**SOURCE, "public_key": "x"}, ["public_key"]),
    ],
)
def test_profiles_are_checked(profile, fields):
    assert [field for field, _ in entry("proofs", "detached-signature").check(profile)] == fields


def test_a_key_that_cannot_sign_is_no_trust_material():
    from cryptography.hazmat.primitives.asymmetric import x25519

    key = x25519.X25519PrivateKey.generate()

    assert entry("proofs", "detached-signature").check({**SOURCE, "public_key": pem(key)}) == [
        ("public_key", "must be an RSA, EC, Ed25519 or Ed448 key")
    ]
