"""Certificates with proof of possession."""

import base64
import datetime as dt
import hashlib
import json
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from operable.flow.canonical import canonical_digest, canonical_text
from operable.flow.contracts import HandoffContext, ProofRequest, Surroundings, entry
from operable.flow.trust.keys.signatures import certificate_id
from tests.flow.certificates import Authority, Leaf
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


def certified(subject, subject_key, issuer, issuer_key, *extensions, algorithm=None):
    """A certificate with exactly these extensions, (value, critical) each."""
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(subject_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
    )
    for value, critical in extensions:
        builder = builder.add_extension(value, critical=critical)
    return builder.sign(issuer_key, algorithm or hashes.SHA256())


def usage(**given):
    names = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement key_cert_sign "
        "crl_sign encipher_only decipher_only"
    ).split()
    return x509.KeyUsage(**{name: given.get(name, False) for name in names})


KEY, ROOT = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
AN_AUTHORITY = (x509.BasicConstraints(ca=True, path_length=0), True)
ONLY_OTHERS = x509.NameConstraints(permitted_subtrees=[x509.DNSName("other.example")], excluded_subtrees=None)


@requirement("agentcli:proofs:certificate")
@pytest.mark.parametrize(
    "extensions, reason",
    [
        ([AN_AUTHORITY, (usage(key_cert_sign=True), True)], None),
        ([AN_AUTHORITY, (usage(digital_signature=True), True)], "not for signing certificates"),
        ([AN_AUTHORITY, (ONLY_OTHERS, True)], "constraints"),
        ([AN_AUTHORITY, (ONLY_OTHERS, False)], "constraints"),
        (
            [AN_AUTHORITY, (x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"x"), True)],
            "critical extension",
        ),
        ([(x509.BasicConstraints(ca=False, path_length=None), True)], "not an authority's"),
        ([], "not an authority's"),
    ],
)
def test_an_authority_vouches_only_as_far_as_it_may(extensions, reason):
    authority = certified("root", ROOT, "root", ROOT, *extensions)
    leaf = Leaf(
        KEY,
        certified(
            "deploy", KEY, "root", ROOT, (x509.SubjectAlternativeName([x509.DNSName("d.example")]), False)
        ),
    )
    found = proven(proof(leaf), ca_certificate=authority.public_bytes(Encoding.PEM).decode())

    assert found["verified"] is (reason is None)
    assert (reason or "") in (found["reason"] or "")


@requirement("agentcli:proofs:certificate")
@pytest.mark.parametrize(
    "purposes, good",
    [
        (["1.3.6.1.5.5.7.3.1"], False),
        (["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"], True),
        (["1.3.6.1.5.5.7.3.3"], True),
        (["2.5.29.37.0"], True),
        (["1.3.6.1.5.5.7.3.8"], False),
    ],
)
def test_the_certificate_of_a_server_approves_nothing(purposes, good):
    authority = certified("root", ROOT, "root", ROOT, AN_AUTHORITY)
    wanted = x509.ExtendedKeyUsage([x509.ObjectIdentifier(each) for each in purposes])
    leaf = Leaf(KEY, certified("deploy", KEY, "root", ROOT, (wanted, False)))
    found = proven(proof(leaf), ca_certificate=authority.public_bytes(Encoding.PEM).decode())

    assert found["verified"] is good


@requirement("agentcli:proofs:certificate")
@pytest.mark.parametrize("trust", ["ca_certificate", "public_key"])
def test_a_certificate_whose_digest_can_be_forged_proves_nothing(trust):
    """Whoever makes two certificates with one SHA-1 digest gets the second signed with the first."""
    big = rsa.generate_private_key(65537, 2048)
    authority = certified("root", big, "root", big, AN_AUTHORITY)
    leaf = Leaf(KEY, sha1_signed(certified("deploy", KEY, "root", big), big))
    material = (
        authority.public_bytes(Encoding.PEM)
        if trust == "ca_certificate"
        else big.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    found = proven(proof(leaf), **{"ca_certificate": None, trust: material.decode()})

    assert found["verified"] is False
    assert found["reason"] == "the certificate is signed with a digest that can be forged"


def sha1_signed(certificate, key):
    """The same certificate, signed with SHA-1, which no library makes any more."""
    sha256 = bytes.fromhex("300d06092a864886f70d01010b0500")
    sha1 = bytes.fromhex("300d06092a864886f70d0101050500")
    body = certificate.tbs_certificate_bytes.replace(sha256, sha1)
    return assembled(body, sha1, key.sign(body, padding.PKCS1v15(), hashes.SHA1()))


def assembled(body, algorithm, signature):
    return x509.load_der_x509_certificate(der(0x30, body + algorithm + der(0x03, b"\0" + signature)))


def der(tag, content):
    size = len(content)
    length = (
        bytes([size])
        if size < 128
        else bytes([0x81, size])
        if size < 256
        else b"\x82" + size.to_bytes(2, "big")
    )
    return bytes([tag]) + length + content


def test_a_key_of_an_unknown_kind_proves_nothing():
    """An Ed25519 certificate whose algorithm was made one that nobody knows, and the authority's signature renewed."""
    made = certified("deploy", ed25519.Ed25519PrivateKey.generate(), "root", ROOT)
    body = made.tbs_certificate_bytes.replace(bytes.fromhex("06032b6570"), bytes.fromhex("06032b6501"))
    ecdsa = bytes.fromhex("300a06082a8648ce3d040302")
    leaf = assembled(body, ecdsa, ROOT.sign(body, ec.ECDSA(hashes.SHA256())))
    value = json.dumps(
        {"certificate": leaf.public_bytes(Encoding.PEM).decode(), "signature": signed(Leaf(KEY, leaf))}
    )
    authority = certified("root", ROOT, "root", ROOT, AN_AUTHORITY)
    found = proven(value, ca_certificate=authority.public_bytes(Encoding.PEM).decode())

    assert (found["verified"], found["reason"]) == (
        False,
        "the certificate's key is of an unknown type",
    )


@requirement("agentcli:proofs:certificate")
def test_an_authority_with_a_small_key_vouches_for_nobody():
    small = rsa.generate_private_key(65537, 1024)
    authority = certified("root", small, "root", small, AN_AUTHORITY)
    leaf = Leaf(KEY, certified("deploy", KEY, "root", small))
    found = proven(proof(leaf), ca_certificate=authority.public_bytes(Encoding.PEM).decode())

    assert found["verified"] is False
    assert "1024 bits" in found["reason"]
