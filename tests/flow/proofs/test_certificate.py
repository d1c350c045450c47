"""Certificates with proof of possession."""

import base64
import hashlib
import json
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from operable.flow.canonical import canonical_digest, canonical_text
from operable.flow.contracts import HandoffContext, ProofRequest, Surroundings, entry
from operable.flow.keys_and_signatures import certificate_id
from tests.flow.certificates import Authority
from tests.flow.proofs.tokens import ED, MANIFEST, RSA, Ledger, named
from tests.requirement import requirement

CA = Authority("Acme CA")
LEAF = CA.issue("deploy", san="spiffe://acme/deploy")
TEXT = canonical_text(MANIFEST).encode()


def signed(leaf, data=TEXT):
    return base64.b64encode(leaf.key.sign(data, ec.ECDSA(hashes.SHA256()))).decode()


def proof(leaf=LEAF, **changed):
    made = {"certificate": leaf.certificate_pem.decode(), **changed}
    return json.dumps(made if "signature" in made else {**made, "signature": signed(leaf)})


def proven(value, handoff=None, environment=None, **profile):
    request = ProofRequest(
        profile={"ca_certificate": CA.pem, **profile},
        value=value,
        manifest=MANIFEST,
        manifest_digest=canonical_digest(MANIFEST),
        surroundings=Surroundings(cwd="/", environment=environment or {}),
        now=time.time(),
        handoff=handoff,
    )
    return entry("proofs", "certificate").verify(request)


@requirement("agentcli:proofs:certificate")
def test_a_certificate_and_a_signature_of_its_key_prove():
    found = proven(proof())

    assert (found["verified"], found["reason"]) == (True, None)
    assert found["key_id"] == certificate_id(LEAF.certificate)
    assert found["key_source"] == "ca_certificate"


@pytest.mark.parametrize(
    "value, reason",
    [
        (LEAF.certificate_pem.decode(), "does not prove possession"),
        ("5", "not a JSON object"),
        ("nonsense", "not a JSON object"),
        (proof(certificate="x"), "no certificate"),
        (proof(certificate=5), "no certificate"),
        (proof(signature=None), "no signature"),
        (proof(signature="!"), "not base64"),
        (proof(signature=signed(LEAF, b"other")), "does not verify"),
        (proof(signature=signed(CA.issue("other"))), "does not verify"),
        (proof(CA.issue("old", days=(-3, -1))), "not valid now"),
        (proof(CA.issue("new", days=(1, 3))), "not valid now"),
        (proof(CA.issue("ca", ca=True)), "authority's, not a signer's"),
        (proof(Authority("Acme CA").issue("deploy")), "not issued by the trusted authority"),
        (proof(Authority("Other").issue("deploy")), "not issued by the trusted authority"),
    ],
    ids=named,
)
@requirement("agentcli:proofs:certificate")
def test_anything_else_proves_nothing(value, reason):
    found = proven(value)

    assert found["verified"] is False
    assert reason in found["reason"]


@pytest.mark.parametrize(
    "profile, good",
    [
        ({"claims": {"subject": "deploy"}}, True),
        ({"claims": {"subject": "CN=Deploy"}}, True),
        ({"claims": {"subject": "C=DE\nO=Acme\nCN=deploy"}}, True),
        ({"claims": {"subject": "spiffe://acme/deploy"}}, True),
        ({"claims": {"subject": "URI:spiffe://acme/deploy"}}, True),
        ({"claims": {"subject": "depl"}}, False),
        ({"claims": {"subject": "Acme CA"}}, False),
        ({"claims": {"issuer": "acme ca"}}, True),
        ({"claims": {"issuer": "deploy"}}, False),
        ({"issuer": "CN=Acme CA"}, True),
        ({"issuer": "CN=Other"}, False),
    ],
)
@requirement("agentcli:proofs:certificate")
def test_names_must_be_exactly_those_that_are_declared(profile, good):
    assert proven(proof(), **profile)["verified"] is good


@requirement("agentcli:proofs:certificate")
@pytest.mark.parametrize("kind", ["rsa", "ed25519"])
def test_a_leaf_may_have_any_kind_of_key(kind):
    key = RSA if kind == "rsa" else ED
    made = RSA.sign(TEXT, padding.PKCS1v15(), hashes.SHA256()) if kind == "rsa" else ED.sign(TEXT)
    leaf = CA.issue("deploy", key=key)

    assert proven(proof(leaf, signature=base64.b64encode(made).decode()))["verified"] is True


@requirement("agentcli:proofs:certificate")
def test_the_id_of_a_certificate_is_its_digest():
    der = LEAF.certificate.public_bytes(Encoding.DER)

    assert certificate_id(LEAF.certificate) == f"x509-sha256:{hashlib.sha256(der).hexdigest()}"


@requirement("agentcli:proofs:certificate")
def test_the_authority_comes_from_a_source_or_is_a_key():
    key = CA.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    nothing = {"ca_certificate": None}

    from_source = proven(proof(), environment={"CA": CA.pem}, ca_certificate_from={"env": "CA"}, **nothing)
    assert (from_source["verified"], from_source["key_source"]) == (True, "ca_certificate_from")
    assert proven(proof(), public_key=key, **nothing)["verified"] is True
    assert proven(proof(Authority("x").issue("y")), public_key=key, **nothing)["verified"] is False
    assert proven(proof(), ca_certificate_from={"env": "CA"}, **nothing)["verified"] is False
    assert proven(proof(), **nothing)["verified"] is False


def test_a_leaf_cannot_be_the_authority():
    middle = CA.issue("middle")

    assert "not an authority's" in proven(proof(), ca_certificate=middle.certificate_pem.decode())["reason"]


def envelope(leaf=LEAF, **changed):
    now = time.time()
    made = {
        "artifact_digest": "sha256:artifact", "nonce": "n1", "issued_at": now - 5, "expires_at": now + 600,
        "key_id": certificate_id(leaf.certificate), **changed,
    }  # fmt: skip
    body = {"schema": "openclaw.scheduler.authorization-proof", "version": 4, "method": "certificate", **made}
    made["signature"] = signed(leaf, canonical_text(body).encode())
    made["certificate"] = leaf.certificate_pem.decode()
    return json.dumps(made)


@requirement("agentcli:proofs:handoff")
def test_in_v4_a_certificate_signs_the_envelope_and_is_used_once():
    ledger = Ledger()

    value = envelope()
    assert proven(value, ledger.context())["verified"] is True
    assert "already used" in proven(value, ledger.context())["reason"]
    assert (
        "another certificate"
        in proven(envelope(key_id="x509-sha256:00", nonce="n2"), ledger.context())["reason"]
    )
    assert "no nonce" in proven(proof(artifact_digest="a"), ledger.context())["reason"]


@requirement("agentcli:proofs:handoff")
@pytest.mark.parametrize(
    "name", "certificate signature artifact_digest nonce issued_at expires_at key_id".split()
)
def test_in_v4_the_envelope_has_every_member(name):
    whole = json.loads(envelope())
    del whole[name]
    ledger = Ledger()

    assert proven(json.dumps(whole), ledger.context())["verified"] is False
    assert ledger.used == set()


@requirement("agentcli:proofs:handoff")
@pytest.mark.parametrize("revoked", [certificate_id(LEAF.certificate), "n1"], ids=["certificate", "nonce"])
def test_in_v4_what_is_revoked_is_refused(revoked):
    assert "revoked" in proven(envelope(), Ledger(revoked).context())["reason"]


@requirement("agentcli:proofs:handoff")
def test_in_v4_a_checker_and_a_store_are_needed():
    for context in (
        HandoffContext("sha256:artifact"),
        HandoffContext("sha256:artifact", revoked=lambda _: False),
    ):
        assert proven(envelope(), context)["verified"] is False


SOURCE = {"proof": {"value_from": {"file": "p"}}}


@pytest.mark.parametrize(
    "profile, fields",
    [
        ({**SOURCE, "ca_certificate": CA.pem}, []),
        ({**SOURCE, "ca_certificate_from": {"file": "ca.pem"}}, []),
        (SOURCE, ["verify"]),
        ({**SOURCE, "ca_certificate": "x"}, ["ca_certificate"]),
        ({**SOURCE, "ca_certificate_from": {"literal": "x"}}, ["ca_certificate_from"]),
        ({**SOURCE, "public_key": "x"}, ["public_key"]),
        ({**SOURCE, "ca_certificate": CA.pem, "claims": {"subject": 5}}, ["claims.subject"]),
        ({"ca_certificate": CA.pem}, ["proof"]),
    ],
)
def test_profiles_are_checked(profile, fields):
    assert [field for field, _ in entry("proofs", "certificate").check(profile)] == fields
