"""Approvals of tasks on this machine: granted for exactly one thing, used once, revoked, expired, and never forged.

A grant names the hash of what exactly would run (`binding`), who approved it, and until when; it is signed, unless the
approver said in so many words that it is not. It is used by an execution that has the same hash, at the last moment before
the task starts: signature, scope and time are checked first, so that a forged record does not replace a good one. `before`
is also called first, so that no approval is used without another record of it. Every step is in the audit log too
(`approval_trail`), which decides.
"""

import functools
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from operable.flow.approve.audit_trail import known, record_grant, record_revocation, require_whole
from operable.flow.approve.eligibility import ApprovalRequest, Believing, is_for, usable
from operable.flow.approve.records import (
    VERSION,
    fate,
    folded,
    matches_scope,
    parts,
    shown,
    shown_signature,
    signed_text,
)
from operable.flow.approve.store import ApprovalStore
from operable.flow.canonical import canonical_digest
from operable.flow.compile.plan import approval_policy
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.manifest.inheritance import first
from operable.flow.manifest.selection import Selected
from operable.flow.trust.identity.sessions import timestamp
from operable.flow.trust.keys.signers import NAMESPACE, believed_signers, signing_key
from operable.gate.signatures import ssh_signatures
from operable.gate.signatures.allowed_signers import may_sign

Json = dict[str, Any]
DEFAULT_TTL = 3600
DEFAULT_PENDING = 10
_LONGEST_TTL = 100 * 365 * 86_400  # dates have four digits for the year


def grant(
    store: ApprovalStore,
    selected: Selected,
    binding: Mapping[str, Any],
    *,
    content: Mapping[str, str],
    approver: str,
    believing: Believing,
    reason: str | None = None,
    ttl: int | None = None,
    signer: str = "ssh",
    key: str | None = None,
    now: float | None = None,
) -> Json:
    """Approve one execution of the task as it is now; `content` has the digests of its files (`task_content`)."""
    made = make_grant(
        selected,
        binding,
        content=content,
        approver=approver,
        believing=believing,
        reason=reason,
        ttl=ttl,
        signer=signer,
        key=key,
        now=now,
    )
    keep_grant(store, selected, made, now=now)
    return shown(made)


def make_grant(
    selected: Selected,
    binding: Mapping[str, Any],
    *,
    content: Mapping[str, str],
    approver: str,
    believing: Believing,
    approval_id: str | None = None,
    reason: str | None = None,
    ttl: int | None = None,
    signer: str = "ssh",
    key: str | None = None,
    now: float | None = None,
) -> Json:
    """The record of an approval, signed; it counts where it is kept."""
    approval = _grantable(selected.task, approver)
    check_signer(approver, believing, signer, key)
    seconds = _ttl(approval, ttl)
    moment = time.time() if now is None else now
    made: Json = {
        "v": VERSION,
        "kind": "grant",
        "approval_id": approval_id or secrets.token_hex(16),
        **selected.source,
        "task_hash": canonical_digest(dict(binding)),
        "risk_level": approval.get("risk_level"),
        "approver_scope": approval.get("approver_scope"),
        "approver": approver,
        "reason": reason,
        "granted_at": timestamp(moment),
        "expires_at": timestamp(moment + seconds),
        "signature": None,
        "unsigned_explicit": signer == "none",
        "content": dict(content),
        "bound": parts(binding),  # only to say later what changed; the hash alone decides
    }
    if signer != "none":
        made["signature"] = _signed(made, believing.surroundings, signer, key)
    return made


def keep_grant(store: ApprovalStore, selected: Selected, made: Json, *, now: float | None = None) -> None:
    """Keep the record of an approval where executions look for it. Whether it counts is decided there."""
    moment = time.time() if now is None else now
    with store.locked():
        require_whole(store.audit, store.events())  # a new record would hide that the others are gone
        most = first((selected.task.get("budgets") or {}).get("max_pending_approvals"), DEFAULT_PENDING)
        waiting = [each for each in folded(store.events(), moment) if _waits_for(each, selected)]
        if len(waiting) >= most:
            message = f'task "{selected.task["id"]}" has {len(waiting)} pending approvals already'
            raise FlowError("policy_forbids_approval", f"{message} (budgets.max_pending_approvals)")
        record_grant(store.audit, made)
        store.append(made)


def check_grant(task: Mapping[str, Any], approver: str, ttl: int | None = None) -> None:
    """FlowError when this approver may not approve this task, or not for so long."""
    _ttl(_grantable(task, approver), ttl)


def check_signer(approver: str, believing: Believing, signer: str, key: str | None) -> None:
    """FlowError when the approval would not count: allowed signers are configured, and do not have this name and key."""
    if believing.allowed_signers is None:
        return
    where = f"the allowed signers ({believing.allowed_signers})"
    if signer == "none":
        raise _uncounted(f"it is not signed, and {where} are configured")
    try:
        signers, _ = believed_signers(believing.allowed_signers, believing.surroundings, approver)
    except ValueError as problem:
        raise _uncounted(f"{where} {problem}") from None
    found = signing_key(key, believing.surroundings, code="approval_signature_invalid")
    if found is None or signer != "ssh":
        return  # signing says what is missing
    blob = ssh_signatures.public_blob(found.public_key())
    if not may_sign(signers, principal=approver, key=blob, namespace=NAMESPACE, now=time.time()):
        raise _uncounted(f"{where} do not give {approver} the key {ssh_signatures.fingerprint(blob)}")


def _uncounted(why: str) -> FlowError:
    return FlowError("approval_signature_invalid", f"The approval would not count: {why}")


def scope_warnings(task: Mapping[str, Any], believing: Believing) -> list[str]:
    """Why the scope of approvers says less than it seems."""
    scope = (task.get("approval") or {}).get("approver_scope")
    if not scope:
        return []
    if believing.allowed_signers is None:
        said = f'approval.approver_scope "{scope}" is compared with a name that nothing proves'
        return [
            f"{said}: no allowed signers are configured (AGENTCLI_ALLOWED_SIGNERS, or state/allowed_signers)"
        ]
    return []


def _grantable(task: Mapping[str, Any], approver: str) -> Json:
    approval: Json | None = task.get("approval")
    name = task["id"]
    if not approver:
        raise invalid_argument("approver is required (pass --by <principal>)")
    if approval is None:
        raise invalid_argument(f'task "{name}" has no approval policy; nothing to approve')
    policy = approval_policy(approval)
    if policy == "auto-reject":
        message = f'task "{name}" policy is "auto-reject"; approvals cannot override'
        raise FlowError("policy_forbids_approval", message)
    if policy != "manual":
        raise invalid_argument(f'task "{name}" policy is "{policy or "none"}"; approval grant not meaningful')
    scope = approval.get("approver_scope")
    if not matches_scope(approver, scope):
        message = f'approver "{approver}" does not satisfy approval.approver_scope "{scope}"'
        raise FlowError("approval_scope_mismatch", message, approver_scope=scope)
    return approval


def _ttl(approval: Mapping[str, Any], wanted: int | None) -> int:
    longest = approval.get("timeout_s")
    seconds = int(first(wanted, longest, DEFAULT_TTL))
    if seconds < 1:
        raise invalid_argument("approval TTL must be an integer >= 1")
    if seconds > _LONGEST_TTL:
        raise invalid_argument(
            f"approval TTL must be at most {_LONGEST_TTL}s (100 years); pass a shorter one"
        )
    if longest is not None and seconds > longest:
        raise invalid_argument(f"approval TTL {seconds}s exceeds task approval.timeout_s {longest}s")
    return seconds


def _signed(made: Mapping[str, Any], surroundings: Surroundings, signer: str, key: str | None) -> Json:
    if signer != "ssh":
        raise invalid_argument(f'Unknown signing provider: "{signer}"')
    found = signing_key(key, surroundings, code="approval_signature_invalid")
    if found is None:
        message = 'signing provider "ssh" has no usable signing credentials'
        raise FlowError("approval_signature_invalid", message, keyless=True)
    text = signed_text(made)
    return {
        "method": "ssh-signature",
        "key_fingerprint": ssh_signatures.fingerprint(ssh_signatures.public_blob(found.public_key())),
        "namespace": NAMESPACE,
        "signed_payload": text,
        "signature": ssh_signatures.sign(found, text.encode("utf-8", "surrogatepass"), NAMESPACE),
    }


def require_pending(
    store: ApprovalStore,
    selected: Selected,
    binding: Mapping[str, Any],
    *,
    content: Mapping[str, str],
    believing: Believing,
    approval_id: str | None = None,
    now: float | None = None,
) -> None:
    """FlowError unless there is an approval that `consume` would use now. Nothing is used."""
    wanted = ApprovalRequest(selected, binding, content, approval_id, time.time() if now is None else now)
    try:
        _judge(store, wanted, believing)
    except FlowError as problem:
        if problem.flow_code != "approval_log_invalid":
            raise
        # The file and the log are written one after the other: only under the lock do they have to agree.
        with store.locked():
            _judge(store, wanted, believing)


def _judge(store: ApprovalStore, wanted: ApprovalRequest, believing: Believing) -> tuple[Json, bool]:
    events = store.events()
    require_whole(store.audit, events)
    return usable(events, functools.partial(known, store.audit), wanted, believing)


def consume(
    store: ApprovalStore,
    selected: Selected,
    binding: Mapping[str, Any],
    *,
    execution_id: str,
    content: Mapping[str, str],
    believing: Believing,
    approval_id: str | None = None,
    before: Callable[[Json], object] = lambda _: None,
    now: float | None = None,
) -> Json:
    """Use the oldest approval that fits, once; Raises FlowError if it does not exist. `before` gets what will be used."""
    with store.locked():
        moment = time.time() if now is None else now
        wanted = ApprovalRequest(selected, binding, content, approval_id, moment)
        found, verified = _judge(store, wanted, believing)
        used = {
            **{name: found.get(name) for name in "approval_id task_hash approver reason".split()},
            **{name: found.get(name) for name in "risk_level approver_scope granted_at expires_at".split()},
            "signature_verified": verified,
            "signature": shown_signature(found),
        }
        before(used)
        store.append(
            {
                "v": VERSION,
                "kind": "consume",
                "approval_id": found["approval_id"],
                "execution_id": execution_id,
                "consumed_at": timestamp(moment),
                "recorded": True,  # `before` has put it into the audit log
            }
        )
    return used


def revoke(
    store: ApprovalStore,
    approval_id: str,
    *,
    by: str | None = None,
    reason: str | None = None,
    now: float | None = None,
) -> Json:
    """Take an approval back. One that was used already cannot be; one that was revoked already stays so."""
    moment = time.time() if now is None else now
    with store.locked():
        events = [*store.events(), *_recorded_uses(store.audit, approval_id)]
        found = next((each for each in folded(events, moment) if each["approval_id"] == approval_id), None)
        if found is None:
            raise invalid_argument(f"Approval not found: {approval_id}")
        if found["status"] == "consumed":
            used_by = found["consumed_by_execution_id"]
            raise invalid_argument(f"Approval {approval_id} was already used by execution {used_by}")
        if found["status"] != "revoked":
            event = {
                "v": VERSION,
                "kind": "revoke",
                "approval_id": approval_id,
                "revoked_by": by,
                "reason": reason,
                "revoked_at": timestamp(moment),
            }
            store.append(event)
            try:
                record_revocation(store.audit, found, event)
            except FlowError as problem:
                message = f"Approval {approval_id} is revoked, but not recorded: {problem.message}"
                raise problem.restated(message) from None
    return {"approval_id": approval_id, "status": "revoked"}


def _recorded_uses(audit: str, approval_id: str) -> list[Json]:
    """What the log says of its use: a process that died while it used an approval may have got no further than the log.

    Nothing may keep a revocation from taking effect, not even a log that cannot be read.
    """
    try:
        return [event for event in known(audit, approval_id).events if event["kind"] == "consume"]
    except FlowError:
        return []


def listed(
    store: ApprovalStore,
    *,
    status: str | None = None,
    workflow_id: str | None = None,
    task_id: str | None = None,
    now: float | None = None,
) -> list[Json]:
    """All approvals with their outcome, also of what only the audit log still says, oldest first."""
    events = [*store.events(), *known(store.audit).events]
    return [
        shown(each) | fate(each)
        for each in folded(events, time.time() if now is None else now)
        if status in (None, "all", each["status"])
        and workflow_id in (None, each["workflow_id"])
        and task_id in (None, each["task_id"])
    ]


def _waits_for(each: Mapping[str, Any], selected: Selected) -> bool:
    return each["status"] == "pending" and is_for(each, selected)
