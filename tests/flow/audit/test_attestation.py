"""Attestations: the signed text, its signature, and the record beside it."""

import hashlib
from typing import Any

import pytest

from operable.flow.audit.attestation import attest, attestation_text, command_hash, verify_attestation
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from tests.flow.ssh_keys import allowed, written
from tests.requirement import requirement

SOURCE = {"workflow_id": "w", "task_id": "t"}
FACTS: dict[str, Any] = {"execution_id": "e1", "source": SOURCE, "timestamp": "2026-01-01T00:00:00.000Z"}
RECORD = {**FACTS, "principal_used": "me@host"}
TEXT = attestation_text(command_hash="sha256:aa", principal="me@host", **FACTS)


@requirement("agentcli:attestation:signatures")
def test_the_text_has_its_members_in_one_order():
    assert TEXT == (
        '{"v":1,"command_hash":"sha256:aa","execution_id":"e1","principal":"me@host",'
        '"source":{"workflow_id":"w","task_id":"t"},"timestamp":"2026-01-01T00:00:00.000Z"}'
    )


@requirement("agentcli:attestation:signatures")
def test_the_command_hash_separates_its_parts():
    expected = hashlib.sha256(b"git\0push\0origin\0cwd:/x").hexdigest()

    assert command_hash("git", ["push", "origin"], "/x") == f"sha256:{expected}"
    assert command_hash("git", ["push origin"], None) != command_hash("git", ["push", "origin"], None)


@pytest.fixture
def signed(tmp_path):
    path, key = written(tmp_path)
    signers = allowed(tmp_path, key, "me@host")
    around = Surroundings(cwd=str(tmp_path), environment={"AGENTCLI_SIGNING_KEY": str(path)})
    attestation, note = attest(TEXT, around)
    assert note is None
    return attestation, str(signers), around


@requirement("agentcli:attestation:signatures")
def test_an_attestation_verifies_beside_its_record(signed):
    attestation, signers, around = signed

    assert list(attestation) == ["method", "key_fingerprint", "namespace", "signed_payload", "signature"]
    assert verify_attestation(attestation, RECORD, around, allowed_signers=signers) == {
        "verified": True,
        "principal": "me@host",
        "method": "ssh-signature",
        "key_fingerprint": attestation["key_fingerprint"],
        "trust_source": "allowed_signers",
    }


@pytest.mark.parametrize(
    "change, record",
    [
        ({}, {**RECORD, "execution_id": "e2"}),
        ({}, {**RECORD, "principal_used": "eve@host"}),
        ({}, {**RECORD, "source": {"workflow_id": "w", "task_id": "u"}}),
        ({"signed_payload": TEXT + " "}, RECORD),
        ({"signed_payload": "[]"}, RECORD),
        ({"signed_payload": None}, RECORD),
        ({"signature": "nonsense"}, RECORD),
        ({"key_fingerprint": "SHA256:x"}, RECORD),
    ],
)
@requirement("agentcli:attestation:signatures")
def test_anything_else_does_not_verify(signed, change, record):
    attestation, signers, around = signed

    found = verify_attestation({**attestation, **change}, record, around, allowed_signers=signers)

    assert found["verified"] is False
    assert found["reason"]


def test_signing_can_be_switched_off_and_a_missing_key_is_a_note(tmp_path):
    around = Surroundings(cwd=str(tmp_path), environment={"HOME": str(tmp_path)})

    assert attest(TEXT, around, signer="none") == (None, "signing disabled")
    assert attest(TEXT, around) == (None, "no signing key found")
    with pytest.raises(FlowError, match="Unknown signing provider"):
        attest(TEXT, around, signer="pigeon")
