"""Which approval counts: the oldest that waits for exactly this task, signed by its approver, who may approve it.

A refusal says what is missing and, if something was approved before, what has changed since.
"""

from collections.abc import Callable, Mapping
from typing import Any

from operable.flow.approve.audit_trail import RecordedApprovals
from operable.flow.approve.records import changes, folded, is_future, matches_scope, parts, signed_text
from operable.flow.audit.attestation import check_ssh
from operable.flow.canonical import canonical_digest
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import Selected
from operable.kernel.data_class import dataclass

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Believing:
    """Whose signatures count: the caller's surroundings, a file of allowed signers."""

    surroundings: Surroundings
    allowed_signers: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """What an approval is wanted for: exactly this task, with these files, now."""

    selected: Selected
    binding: Mapping[str, Any]
    content: Mapping[str, str]  # digests of files, by path
    approval_id: str | None
    now: float


def usable(
    events: list[Json],
    known: Callable[[str], RecordedApprovals],
    wanted: ApprovalRequest,
    believing: Believing,
) -> tuple[Json, bool]:
    """The approval to use, and whether it is signed. `known` returns what the audit log says of one."""
    task_hash = canonical_digest(dict(wanted.binding))
    of_task = [each for each in folded(events, wanted.now) if is_for(each, wanted.selected)]
    if wanted.approval_id is not None:
        of_task = [each for each in of_task if each["approval_id"] == wanted.approval_id]
    fitting = [each for each in of_task if each["status"] == "pending" and each["task_hash"] == task_hash]
    refusal: FlowError | None = None
    for each in fitting:
        try:
            if is_future(each.get("granted_at"), wanted.now):
                raise _of_the_future(each)
            found = each, _believed(each, known(each["approval_id"]), wanted.selected.task, believing)
            _check_content(each, wanted)
        except FlowError as problem:
            refusal = problem  # of the newest: the last that was granted
        else:
            return found
    raise refusal or _required(wanted.selected, of_task, wanted.binding, wanted.approval_id)


def _check_content(each: Json, wanted: ApprovalRequest) -> None:
    """FlowError if a file that the task runs or reads is not the one that was approved."""
    approved, name = each.get("content"), each["approval_id"]
    if not isinstance(approved, Mapping):
        if not wanted.content:
            return
        message = f"Approval {name} does not say which files it is for; approve the task again"
        raise FlowError("approval_required", message, changed=sorted(wanted.content))
    changed = changes(approved, wanted.content)
    if changed:
        shown = ", ".join(changed[:10])
        message = f'Task "{wanted.selected.task["id"]}" requires manual approval: changed since approval {name}: {shown}'
        raise FlowError("approval_required", message, changed=changed)


def _believed(each: Json, known: RecordedApprovals, task: Mapping[str, Any], believing: Believing) -> bool:
    """Whether it is signed; FlowError when it is not what the approver signed, or they may not approve this."""
    name, scope = each["approval_id"], (task.get("approval") or {}).get("approver_scope")
    ended = known.fate(name)
    if ended is not None:
        raise _disputed(name, f"was {_in_words(ended)}, and the approvals do not say so")
    signature = each.get("signature")
    if signature is None:
        if each.get("unsigned_explicit") is not True:
            raise _forged(name, "the record is unsigned")
        if believing.allowed_signers is not None:
            # A user who configures allowed signers wants signatures: else an edit of the file would be an approval.
            raise _forged(name, "the record is unsigned, and allowed signers are configured")
    elif not isinstance(signature, Mapping) or signature.get("signed_payload") != signed_text(each):
        raise _forged(name, "its fields are not what was signed")
    else:
        try:
            check_ssh(
                str(signature.get("signature")),
                signed_text(each).encode("utf-8", "surrogatepass"),
                fingerprint=signature.get("key_fingerprint"),
                principal=str(each.get("approver")),
                allowed_signers=believing.allowed_signers,
                surroundings=believing.surroundings,
            )
        except ValueError as problem:
            raise _forged(name, str(problem)) from None
    if each.get("approver_scope") != scope or not matches_scope(str(each.get("approver")), scope):
        message = f"Approval {name} does not satisfy the task's current approver scope"
        raise FlowError("approval_scope_mismatch", message)
    _check_recorded(each, known)
    return signature is not None


def _check_recorded(each: Json, known: RecordedApprovals) -> None:
    """Whether it is what the audit log says was granted. Others' approvals are not in that log: a signature must do."""
    name = each["approval_id"]
    recorded = known.grants.get(name)
    if recorded is not None and recorded != each["record_hash"]:
        raise _disputed(name, "is not what was granted: its record was edited")
    if recorded is None and each.get("signature") is None:
        raise _disputed(name, "is unsigned, and the audit log does not know that it was granted")


def _of_the_future(each: Json) -> FlowError:
    why = f"was granted at {each.get('granted_at')}, which has not come yet; is the clock of this machine right?"
    return _disputed(each["approval_id"], why)


def _in_words(ended: Json) -> str:
    if ended["kind"] == "revoke":
        return f"revoked by {ended['revoked_by'] or 'somebody'}"
    return f"already used by execution {ended['execution_id']}"


def _disputed(name: str, why: str) -> FlowError:
    return FlowError("approval_log_invalid", f"Approval {name} {why}")


def _forged(name: str, why: str) -> FlowError:
    message = f"Approval {name} signature verification failed: {why}. Refusing execution."
    return FlowError("approval_signature_invalid", message)


def _required(
    selected: Selected, of_task: list[Json], binding: Mapping[str, Any], approval_id: str | None
) -> FlowError:
    """What is missing, and, when something was approved before, why that does not count."""
    task = selected.task
    risk = (task.get("approval") or {}).get("risk_level") or "unspecified"
    named = since = ""
    if approval_id is not None:
        status = of_task[-1]["status"] if of_task else "unknown"
        named = f" (--approval-id {approval_id} did not match a pending grant: {status})"
    changed: list[str] = []
    pending = [each for each in of_task if each["status"] == "pending"]
    if pending:
        changed = changes(pending[-1].get("bound"), parts(binding))
        since = (
            f" Changed since approval {pending[-1]['approval_id']}: {', '.join(changed[:10]) or 'the task'}."
        )
    message = f'Task "{task["id"]}" requires manual approval (policy=manual, risk={risk}){named}'
    return FlowError(
        "approval_required",
        f"{message}. No valid approval record found for this exact task.{since}",
        changed=changed,
    )


def is_for(each: Mapping[str, Any], selected: Selected) -> bool:
    return {name: each[name] for name in ("workflow_id", "task_id")} == selected.source
