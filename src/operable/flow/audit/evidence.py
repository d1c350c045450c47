"""Evidence of an execution: who signs it, making it, and checking at once that it can be verified later.

The provider is the caller's choice, else the profile's, else AGENTCLI_EVIDENCE_PROVIDER, else ssh. Without an evidence block
and without a wish for it there is none. What fails is part of the result; whether it fails the task is for the caller.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.audit.attestation import (
    evidence_payload,
    make_evidence,
    record_mismatches,
    verify_evidence,
)
from operable.flow.errors import FlowError
from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import first
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
