"""Evidence of an execution: `add_evidence` makes it, `verify_execution` checks a record of the audit log against it.

The provider is the caller's choice, else the profile's, else AGENTCLI_EVIDENCE_PROVIDER, else ssh. Evidence exists only if
an evidence block or the caller asks for it. What fails is part of the result; whether it fails the task is for the caller.

A check prefers evidence, because it covers the whole record, to the attestation, which covers who ran which command.
Either must be signed by a believed signer, and must speak of this very record.
"""

import time
from collections.abc import Mapping
from typing import Any

from operable.flow.approve.records import is_future
from operable.flow.audit import log as audit_log
from operable.flow.audit.attestation import (
    evidence_payload,
    make_evidence,
    record_mismatches,
    verify_attestation,
    verify_evidence,
)
from operable.flow.errors import FlowError
from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import first
from operable.flow.run.caller import Caller
from operable.flow.run.execution import Execution

Json = dict[str, Any]


def add_evidence(it: Execution, chosen: str | None, key: str | None, required: bool) -> None:
    """Fill in the evidence of an execution whose work is done."""
    selected = it.selected
    declared = None
    if selected.governed:
        declared = inheritance.effective_evidence(selected.manifest, selected.workflow, selected.task)
    if declared is None and not required and chosen is None:
        return
    profile: Mapping[str, Any] = declared or {}
    ambient = it.caller.environment.get("AGENTCLI_EVIDENCE_PROVIDER")
    provider: str = first(chosen, profile.get("provider"), ambient or None, "ssh")
    if provider == "none" and not required:
        it.evidence = {"provider": "none", "ref": profile.get("ref"), "attested": False, "verified": False}
        return
    config = _config(it, profile, provider, key)
    facts: Json = {"provider": provider, "ref": profile.get("ref")}
    try:
        payload = _payload(it, profile)
        envelope = make_evidence(provider, payload, config, it.caller.surroundings)
        checked = verify_evidence(provider, envelope, config, it.caller.surroundings)
    except FlowError as problem:
        it.evidence = {**facts, "attested": False, "verified": False, "reason": problem.message}
        return
    mismatches = record_mismatches(checked["payload"], it.record()) if checked["verified"] else []
    reason = checked.get("reason") or (
        f"it does not match the record: {', '.join(mismatches)}" if mismatches else None
    )
    it.envelope = envelope
    it.evidence = {
        **facts,
        "attested": True,
        "verified": checked["verified"] is True and not mismatches,
        "method": envelope.get("method"),
        "key_fingerprint": envelope.get("key_fingerprint"),
        "payload_digest": envelope.get("payload_digest"),
        "payload_bind": (profile.get("payload") or {}).get("bind"),
        **({"reason": reason} if reason else {}),
    }


def _config(it: Execution, profile: Mapping[str, Any], provider: str, key: str | None) -> Json:
    config = dict(profile.get("provider_config") or {})
    if key is not None:
        config.setdefault("key_path", key)
    if provider == "ssh" and not (config.get("allowed_signers") or config.get("allowed_signers_path")):
        believed = it.caller.believing().allowed_signers
        if believed is not None:
            config["allowed_signers"] = believed
    return config


def _payload(it: Execution, profile: Mapping[str, Any]) -> Json:
    approval = it.approval_used or {}
    return evidence_payload(
        execution_id=it.execution_id,
        timestamp=it.timestamp,
        source=it.selected.source,
        manifest_digest=it.bound.manifest_digest,
        effective_task_hash=it.bound.task_hash,
        sections=it.sections(),
        context=(profile.get("payload") or {}).get("context"),
        known_context={
            "principal": it.principal,
            "approval_id": approval.get("approval_id"),
            "approver": approval.get("approver"),
            "risk_level": approval.get("risk_level"),
            "policy_ref": (it.decision or {}).get("policy_ref"),
            "instance_id": it.bound.binding["runtime"]["instance_id"],
        },
    )


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
    return {"ok": True, "execution_id": record["execution_id"], **found}


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
