"""Evidence of every provider: it verifies, and nothing about it can be changed."""

import base64
import copy
import json
import subprocess

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from operable.flow.audit.attestation import (
    evidence_payload,
    make_evidence,
    record_mismatches,
    verify_evidence,
    without_secrets,
)
from operable.flow.canonical import canonical_text, hash_text
from operable.flow.contracts import Surroundings, entry, listed
from operable.flow.errors import FlowError
from tests.flow.ssh_keys import allowed, written
from tests.requirement import requirement

PAYLOAD = evidence_payload(
    execution_id="e1",
    timestamp="2026-01-01T00:00:00.000Z",
    source={"workflow_id": "w", "task_id": "t"},
    manifest_digest="sha256:aa",
    effective_task_hash="sha256:bb",
    sections={"command": {"program": "git", "api_key": "hunter2hunter2"}, "contract": {"audit": "always"}},
    context={"model_version": True, "off": False},
    known_context={"model_version": "m1", "other": "x"},
)
PROVIDERS = ("ssh", "in-toto")


@pytest.fixture
def signing(tmp_path):
    """Config to sign and verify with, and the surroundings, for both providers."""
    path, key = written(tmp_path)
    signers = allowed(tmp_path, key)
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    config = {"key_path": str(path), "allowed_signers": str(signers), "public_key": pem}
    return config, Surroundings(cwd=str(tmp_path), environment={})


def test_providers_are_listed_in_the_documented_order():
    assert [(found.name, list(found.methods)) for found in listed("evidences")] == [
        ("none", []),
        ("ssh", ["ssh-signature"]),
        ("in-toto", ["in-toto-dsse"]),
    ]


def test_the_payload_is_complete_and_hashes_what_is_secret():
    assert (
        list(PAYLOAD)
        == (
            "schema version execution_id timestamp source bindings declared_identity resolved_identity authorization_proof "
            "authorization actor_context contract command result verify compliance_context"
        ).split()
    )
    assert PAYLOAD["command"]["api_key"]["redacted"] is True
    assert "hunter2" not in json.dumps(PAYLOAD)
    assert PAYLOAD["compliance_context"] == {"model_version": "m1"}


@pytest.mark.parametrize(
    "name, hidden",
    [
        ("token", True), ("access_token", True), ("token_env", True), ("tokens", False), ("secretary", False),
        ("credentials", True), ("credential_summary", True), ("client_assertion", True), ("passwords", False),
        ("private_key", True), ("public_key", False), ("args_hashes", False),
    ],
)  # fmt: skip
def test_names_of_secrets_are_whole_words(name, hidden):
    assert (without_secrets({"a": [{name: "v"}]}) != {"a": [{name: "v"}]}) is hidden


@pytest.mark.parametrize("provider", PROVIDERS)
def test_evidence_verifies_and_gives_back_its_payload(provider, signing):
    config, around = signing
    envelope = make_evidence(provider, PAYLOAD, config, around)

    found = verify_evidence(provider, envelope, config, around)

    assert found["verified"] is True
    assert found["payload"] == json.loads(canonical_text(PAYLOAD))
    assert "PRIVATE KEY" not in json.dumps(envelope)


def test_the_ssh_envelope_has_the_documented_members(signing):
    config, around = signing
    envelope = make_evidence("ssh", PAYLOAD, config, around)

    assert {
        name: value for name, value in envelope.items() if name not in ("signature", "key_fingerprint")
    } == {
        "schema": "agentcli.evidence.envelope",
        "version": 1,
        "method": "ssh-signature",
        "principal": "agentcli",
        "namespace": "agentcli",
        "payload_format": "canonical-json",
        "payload_digest": hash_text(canonical_text(PAYLOAD)),
        "signed_payload": canonical_text(PAYLOAD),
    }


@pytest.mark.needs("ssh-keygen")
def test_ssh_keygen_verifies_the_envelope(signing, tmp_path):
    config, around = signing
    envelope = make_evidence("ssh", PAYLOAD, config, around)
    (tmp_path / "sig").write_text(envelope.pop("signature"))

    answer = subprocess.run(
        ["ssh-keygen", "-Y", "verify", "-f", config["allowed_signers"], "-I", "agentcli", "-n", "agentcli",
         "-s", tmp_path / "sig"],
        input=canonical_text(envelope).encode(), capture_output=True, timeout=200, check=False,
    )  # fmt: skip

    assert answer.returncode == 0, answer.stderr


def changes(value, path=()):
    """Every leaf, changed."""
    if isinstance(value, dict):
        for name in value:
            yield from changes(value[name], (*path, name))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from changes(value[index], (*path, index))
    else:
        yield path


@pytest.mark.parametrize("provider", PROVIDERS)
@requirement("agentcli:attestation:signatures")
def test_no_member_of_an_envelope_can_be_changed(provider, signing):
    config, around = signing
    envelope = make_evidence(provider, PAYLOAD, config, around)
    informative = ("method", "version", "key_fingerprint", "payload_digest") if provider == "in-toto" else ()
    for path in changes(envelope):
        if path[0] in informative:
            continue  # beside the DSSE envelope, unsigned
        bad = copy.deepcopy(envelope)
        owner = bad
        for name in path[:-1]:
            owner = owner[name]
        value = owner[path[-1]]
        owner[path[-1]] = value + 1 if isinstance(value, int) else "x" + value[1:]

        assert verify_evidence(provider, bad, config, around)["verified"] is False, path


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("envelope", [{}, {"signatures": 5}, {"payload": None, "signed_payload": 7}])
def test_nonsense_is_not_verified(provider, envelope, signing):
    config, around = signing

    assert verify_evidence(provider, envelope, config, around)["verified"] is False


@pytest.mark.parametrize("provider", PROVIDERS)
def test_another_key_is_not_believed(provider, signing, tmp_path):
    config, around = signing
    other, _ = written(tmp_path, name="other")
    envelope = make_evidence(provider, PAYLOAD, {**config, "key_path": str(other)}, around)

    assert verify_evidence(provider, envelope, config, around)["verified"] is False


def test_another_principal_is_not_believed(signing):
    config, around = signing
    envelope = make_evidence("ssh", PAYLOAD, {**config, "principal": "eve"}, around)

    assert verify_evidence("ssh", envelope, {**config, "principal": "eve"}, around)["verified"] is False
    assert verify_evidence("ssh", envelope, config, around)["verified"] is False


def test_an_incomplete_payload_is_not_verified(signing):
    config, around = signing
    partial = {name: value for name, value in PAYLOAD.items() if name != "result"}
    envelope = make_evidence("ssh", partial, config, around)

    assert "not complete: result" in verify_evidence("ssh", envelope, config, around)["reason"]


def test_own_keys_are_believed_last_and_said_to_be_own(tmp_path):
    (tmp_path / ".ssh").mkdir()
    path, key = written(tmp_path / ".ssh", name="id_ed25519")
    from operable.gate.signatures.ssh_signatures import public_line

    path.with_suffix(".pub").write_text(public_line(key.public_key()) + " me\n")
    around = Surroundings(cwd="/", environment={"HOME": str(tmp_path)})
    envelope = make_evidence("ssh", PAYLOAD, {}, around)

    assert verify_evidence("ssh", envelope, {}, around)["trust_source"] == "own_keys"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("home", [True, False])
def test_without_a_key_or_a_home_there_is_no_evidence(provider, home, tmp_path):
    around = Surroundings(cwd=str(tmp_path), environment={"HOME": str(tmp_path)} if home else {})
    with pytest.raises(FlowError) as caught:
        make_evidence(provider, PAYLOAD, {}, around)

    assert caught.value.flow_code == "evidence_failed"


def test_a_statement_is_dsse_that_others_can_read(signing):
    config, around = signing
    envelope = make_evidence("in-toto", PAYLOAD, config, around)
    statement = json.loads(base64.b64decode(envelope["payload"]))

    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["subject"] == [{"name": "w/t", "digest": {"sha256": "bb"}}]


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa-256", "rsa"])
def test_statements_are_signed_by_keys_of_every_kind(tmp_path, kind):
    path, key = written(tmp_path, kind)
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    (tmp_path / "pem").write_text(pem)
    config = {"key_path": str(path), "public_key_path": "pem"}
    around = Surroundings(cwd=str(tmp_path))

    assert verify_evidence("in-toto", make_evidence("in-toto", PAYLOAD, config, around), config, around)[
        "verified"
    ]


def test_none_signs_and_verifies_nothing():
    around = Surroundings(cwd="/")
    with pytest.raises(FlowError):
        make_evidence("none", PAYLOAD, {}, around)
    assert verify_evidence("none", {}, {}, around)["verified"] is False


def test_a_payload_belongs_to_one_record():
    record = {
        "execution_id": "e1", "source": {"workflow_id": "w", "task_id": "t"}, "manifest_digest": "sha256:aa",
        "effective_task_hash": "sha256:bb", "command": {"program": "git", "api_key": "hunter2hunter2"},
        "contract": {"audit": "always"}, "result": None,
    }  # fmt: skip

    assert record_mismatches(PAYLOAD, record) == []
    assert record_mismatches(PAYLOAD, {**record, "execution_id": "e2"}) == ["execution_id"]
    assert record_mismatches(PAYLOAD, {**record, "result": {"exit_code": 0}}) == ["result"]
    assert record_mismatches(PAYLOAD, {}) == [
        "execution_id",
        "source",
        "manifest_digest",
        "effective_task_hash",
        "contract",
        "command",
    ]


@pytest.mark.parametrize(
    "provider, profile, field",
    [
        ("ssh", {"provider_config": {"key_path": 5}}, "provider_config.key_path"),
        ("ssh", {"methods": ["x"]}, "methods"),
        ("in-toto", {"methods": ["ssh-signature"]}, "methods"),
        ("in-toto", {"provider_config": {"public_key": "nonsense"}}, "provider_config.public_key"),
    ],
)
def test_profiles_are_checked(provider, profile, field):
    ((found, _),) = entry("evidences", provider).check(profile)

    assert found == field
