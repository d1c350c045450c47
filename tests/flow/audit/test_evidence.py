"""Was it really so."""

import json
import os
import time
from typing import Any

import pytest

from operable.flow.audit import log as audit_log
from operable.flow.audit.attestation import attest
from operable.flow.audit.evidence import verify_execution
from operable.flow.errors import FlowError
from operable.flow.run.executor import execute
from operable.flow.run.options import ExecOptions
from operable.flow.trust.identity.sessions import timestamp
from tests.flow.callers import audited, caller, script, signing_caller
from tests.flow.manifests import manifest
from tests.flow.proofs.tokens import pem
from tests.flow.ssh_keys import allowed, written
from tests.requirement import requirement

EVIDENCE: dict[str, Any] = {"evidence_profiles": [{"id": "e", "provider": "ssh"}]}


def edited(by, change):
    """Make a new, consistent log out of edited records: what only signatures can show."""
    records = audited(by)
    for name in os.listdir(os.path.dirname(by.place("audit"))):
        if name.startswith("audit."):
            os.unlink(os.path.join(os.path.dirname(by.place("audit")), name))
    for record in records:
        record.pop("chain")
        change(record)
        audit_log.append(by.place("audit"), record)


@requirement("agentcli:attestation:verify")
def test_an_attested_execution_verifies_and_one_under_another_name_does_not(tmp_path):
    by = signing_caller(tmp_path)
    done = execute(manifest(), "a", by)
    good = verify_execution(done["execution_id"], by)
    edited(by, lambda record: record.update(principal_used="boss@example.com"))
    bad = verify_execution(done["execution_id"], by)

    assert good == {
        "ok": True,
        "execution_id": done["execution_id"],
        "verified": True,
        "principal": "me@example.com",
        "method": "ssh-signature",
        "key_fingerprint": done["attestation"]["key_fingerprint"],
        "trust_source": "own_keys",
    }
    documented = "ok execution_id verified principal method key_fingerprint".split()
    assert list(good) == [*documented, "trust_source"]
    assert list(bad) == [*documented, "reason"]
    assert (bad["verified"], bad["reason"]) == (False, "the signed principal is not the record's")


@requirement("agentcli:attestation:verify")
def test_an_attestation_of_another_command_does_not_verify(tmp_path):
    by = signing_caller(tmp_path)
    done = execute(manifest(), "a", by)
    edited(by, lambda record: record.update(command_hash="sha256:" + "0" * 64))
    found = verify_execution(done["execution_id"], by)

    assert (found["verified"], found["reason"]) == (False, "the signed command_hash is not the record's")


@pytest.mark.parametrize(
    "payload, reason", [("[" * 100_000, "nested"), ("[]", "the signed payload is not an object"), ("{", "")]
)
def test_whatever_stands_in_place_of_an_attestation_is_told_as_not_verified(tmp_path, payload, reason):
    by = signing_caller(tmp_path)
    record = {"execution_id": "e", "attestation": {"signed_payload": payload, "signature": "x"}}
    audit_log.append(by.place("audit"), record)
    found = verify_execution("e", by)

    assert found["verified"] is False
    assert reason in found["reason"]


@requirement("agentcli:attestation:verify")
@pytest.mark.parametrize("section", ["result", "contract", "command"])
def test_evidence_shows_what_was_taken_out_of_the_record(tmp_path, section):
    by = signing_caller(tmp_path)
    done = execute(manifest(script("true", evidence={"ref": "e"}), **EVIDENCE), "a", by)
    edited(by, lambda record: record.pop(section))
    found = verify_execution(done["execution_id"], by)

    assert found["verified"] is False
    assert section in found["reason"]


@requirement("agentcli:attestation:verify")
@pytest.mark.parametrize("section", ["result", "contract", "command", "declared_identity"])
def test_evidence_shows_any_edit_of_the_record(tmp_path, section):
    by = signing_caller(tmp_path)
    done = execute(manifest(script("true", evidence={"ref": "e"}), **EVIDENCE), "a", by)
    edited(by, lambda record: record.update({section: {"exit_code": 1}}))
    found = verify_execution(done["execution_id"], by)

    assert found["verified"] is False
    assert found["audit_binding_verified"] is False
    assert section in found["reason"]


@requirement("agentcli:attestation:verify")
def test_a_verdict_by_evidence_has_its_documented_members_in_their_order(tmp_path):
    by = signing_caller(tmp_path)
    done = execute(manifest(script("true", evidence={"ref": "e"}), **EVIDENCE), "a", by)
    good = verify_execution(done["execution_id"], by)
    edited(by, lambda record: record.update(effective_task_hash="sha256:00"))
    bad = verify_execution(done["execution_id"], by)
    members = (
        "ok execution_id verified principal method key_fingerprint payload_digest envelope_version audit_binding_verified source"
    ).split()

    assert [name for name in good if name != "trust_source"] == members
    assert [name for name in bad if name != "trust_source"] == [*members, "reason"]
    assert (good["verified"], good["envelope_version"], good["source"]) == (True, 1, "evidence-envelope")
    assert (bad["verified"], bad["audit_binding_verified"]) == (False, False)


@requirement("agentcli:attestation:verify")
def test_only_believed_signers_count(tmp_path):
    by = signing_caller(tmp_path)
    done = execute(manifest(script("true", evidence={"ref": "e"}), **EVIDENCE), "a", by)
    _, stranger = written(tmp_path, name="stranger")
    found = verify_execution(done["execution_id"], by, allowed_signers=str(allowed(tmp_path, stranger)))

    assert found["verified"] is False
    assert "no allowed signer" in found["reason"]


@requirement("agentcli:attestation:verify")
def test_an_unsigned_execution_is_not_verified_and_an_unknown_one_is_not_found(tmp_path):
    by = caller(tmp_path)
    done = execute(manifest(), "a", by, ExecOptions(signer="none"))

    assert verify_execution(done["execution_id"], by)["reason"] == "signing disabled"
    with pytest.raises(FlowError) as caught:
        verify_execution("nobody", by)
    assert caught.value.message == "Execution not found in audit log: nobody"


def test_in_toto_statements_are_verified_with_a_named_key(tmp_path):
    by = caller(tmp_path)
    path, key = written(tmp_path, name="signer")
    public = tmp_path / "public.pem"
    public.write_text(pem(key))
    profile = {"id": "e", "provider": "in-toto", "provider_config": {"key_path": str(path)}}
    done = execute(manifest(script("true", evidence={"ref": "e"}), evidence_profiles=[profile]), "a", by)
    blind = verify_execution(done["execution_id"], by)
    found = verify_execution(done["execution_id"], by, public_key=str(public))

    assert done["evidence"]["attested"] is True
    assert (blind["verified"], found["verified"]) == (False, True)
    json.dumps(found)


def test_a_record_of_the_future_is_not_verified(tmp_path):
    by = signing_caller(tmp_path)
    done = execute(manifest(), "a", by)
    later = timestamp(time.time() + 3600)

    def signed_later(record):
        said = {**json.loads(record["attestation"]["signed_payload"]), "timestamp": later}
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        record["attestation"], _ = attest(text, by.surroundings)
        record["timestamp"] = later

    edited(by, signed_later)
    found = verify_execution(done["execution_id"], by)
    assert (found["verified"], found["reason"]) == (
        False,
        f"the record is of {later}, which has not come yet",
    )
