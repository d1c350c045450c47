"""Was it really so: checking what an audit record says of an execution against what was signed about it.

Evidence is preferred, because it covers the whole record; else the attestation, which covers who ran which command. Either
must be signed by somebody who is believed, and must speak of this very record.
"""

import time
from collections.abc import Mapping
from typing import Any

from operable.flow.approve.records import is_future
from operable.flow.audit import log as audit_log
from operable.flow.audit.attestation import record_mismatches, verify_attestation, verify_evidence
from operable.flow.errors import FlowError
from operable.flow.run.caller import Caller

Json = dict[str, Any]


def verify_execution(
    execution_id: str, caller: Caller, *, allowed_signers: str | None = None, public_key: str | None = None
) -> Json:
    """The verdict about one execution. FlowError when it is not in the audit log."""
    record = audit_log.find(caller.place("audit"), execution_id)
    believed = caller.believing(allowed_signers).allowed_signers
    evidence = record.get("evidence")
    envelope = evidence.get("envelope") if isinstance(evidence, Mapping) else None
    if isinstance(evidence, Mapping) and isinstance(envelope, Mapping):
        found = _by_evidence(record, evidence, envelope, caller, believed, public_key)
    elif isinstance(attestation := record.get("attestation"), Mapping):
        found = verify_attestation(attestation, record, caller.surroundings, allowed_signers=believed)
    else:
        unfinished = record.get("status") in ("started", "lost")
        reason = "the execution was begun and its end was never recorded" if unfinished else _unsigned(record)
        found = _unverified(record, reason)
    if found["verified"] and is_future(record.get("timestamp"), time.time()):
        reason = f"the record is of {record.get('timestamp')}, which has not come yet"
        found = {**found, "verified": False, "reason": reason}
    return {"ok": True, "execution_id": execution_id, **found}


def _unverified(record: Mapping[str, Any], reason: str) -> Json:
    return {
        "verified": False,
        "principal": record.get("principal_used"),
        "method": None,
        "key_fingerprint": None,
        "reason": reason,
    }


def _unsigned(record: Mapping[str, Any]) -> str:
    return str(record.get("attestation_note") or "the record has neither evidence nor an attestation")


def _by_evidence(
    record: Json,
    evidence: Mapping[str, Any],
    envelope: Mapping[str, Any],
    caller: Caller,
    believed: str | None,
    public_key: str | None,
) -> Json:
    config: Json = {"principal": envelope.get("principal"), "allowed_signers": believed}
    if public_key is not None:
        config["public_key_path"] = public_key
    try:
        checked = verify_evidence(str(evidence.get("provider")), envelope, config, caller.surroundings)
    except FlowError as problem:
        checked = {"verified": False, "reason": problem.message}
    payload = checked.pop("payload", None)
    mismatches = record_mismatches(payload, record) if isinstance(payload, Mapping) else []
    bound = checked["verified"] is True and not mismatches
    reason = checked.pop("reason", None)
    if mismatches:
        reason = f"the evidence does not match the audit record: {', '.join(mismatches)}"
    return {
        "verified": bound,
        "principal": checked.get("principal") or record.get("principal_used"),
        "method": checked.get("method"),
        "key_fingerprint": checked.get("key_fingerprint"),
        "payload_digest": checked.get("payload_digest"),
        "envelope_version": checked.get("envelope_version"),
        "audit_binding_verified": bound,
        "source": "evidence-envelope",
        **({"trust_source": checked["trust_source"]} if "trust_source" in checked else {}),
        **({"reason": reason} if reason else {}),
    }
