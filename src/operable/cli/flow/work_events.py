"""The events of `operable flow …` about running tasks: executions, approvals, identities, decisions, records."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class FlowExecution(Event):
    """A task that was run: `answer` is everything that is known of it."""

    workflow_id: str
    task_id: str
    ok: bool
    exit_code: int | None
    execution_id: str
    answer: dict[str, Any]


class FlowTask(Event):
    """One task of a run: its outcome, and why."""

    workflow_id: str
    task_id: str
    status: Literal["success", "failed", "skipped"]
    reason: str | None
    execution_id: str | None
    record: dict[str, Any]


class FlowApproval(Event):
    """An approval of a task, and its outcome."""

    approval_id: str
    status: str
    workflow_id: str | None = None
    task_id: str | None = None
    task_hash: str | None = None
    risk_level: str | None = None
    approver_scope: str | None = None
    approver: str | None = None
    approver_from: str | None = None  # of a new one: `--by`, or `account`, the user of this process
    reason: str | None = None
    granted_at: str | None = None
    expires_at: str | None = None
    signature: dict[str, Any] | None = None
    unsigned_explicit: bool | None = None
    consumed_at: str | None = None
    consumed_by_execution_id: str | None = None
    revoked_at: str | None = None
    revoked_by: str | None = None
    revoke_reason: str | None = None


class FlowVerification(Event):
    """Whether what the audit log says of an execution is what was signed."""

    execution_id: str
    verified: bool
    principal: str | None
    method: str | None
    key_fingerprint: str | None
    proven: str  # what the signature shows, and what it does not
    reason: str | None = None
    payload_digest: str | None = None
    envelope_version: int | None = None
    audit_binding_verified: bool | None = None
    source: str | None = None
    trust_source: str | None = None


class FlowRecord(Event):
    """One record of the audit log."""

    execution_id: str | None
    timestamp: str | None
    task: str
    outcome: str
    record: dict[str, Any]


class FlowAuditProblem(Event):
    """Something in the audit log that is not as it was written."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None


class FlowAuditVerdict(Event):
    """Whether the audit log is whole. `head` is what to keep elsewhere as an anchor."""

    ok: bool
    records: int
    unsealed_lines: int
    problems: int
    head: str | None
    lost: int = 0  # executions whose process ended before it recorded the end
    running: int = 0  # executions that are begun and have not ended
    signed_from: int | None = None  # the record from which on the operator's key vouches for the log
    unsigned: int = 0  # records before that one


class FlowProvider(Event):
    """A provider or method that manifests can name."""

    kind: Literal["identity", "authorization", "authorization-proof", "evidence", "signing"]
    name: str
    capabilities: dict[str, Any]


class FlowIdentity(Event):
    """The identity that a task runs as, without its credentials."""

    workflow_id: str
    task_id: str
    principal_used: str
    declared_identity: dict[str, Any] | None
    resolved_identity: dict[str, Any] | None
    trust: dict[str, Any] | None


class FlowDelegation(Event):
    """Whether the chain by which an identity was delegated holds; null if it has none."""

    workflow_id: str
    task_id: str
    delegation: dict[str, Any] | None


class FlowProof(Event):
    """The proof of a task, verified, and what it is bound to."""

    workflow_id: str
    task_id: str
    authorization_proof: dict[str, Any]
    effective_task_hash: str
    manifest_digest: str


class FlowDecision(Event):
    """What a policy says about a task."""

    workflow_id: str
    task_id: str
    allowed: bool
    decision: str
    reason: str | None
    authorization: dict[str, Any]
