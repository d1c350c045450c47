"""What the audit log says of approvals: that they were given, for what, used by whom, and taken back.

The file of approvals is shared with other programs and is plain lines: a process that may write it can remove a
use or a revocation, or move an expiry. The audit log is a chain that shows every such change. So every step of an
approval is also recorded there, and the log decides, whatever the file says. A grant is recorded before it
is in the file (the log then knows every approval of ours), a use too; a revocation is in the file first, because nothing
may keep it from taking effect. Approvals that other programs gave are not in the log: those count by their signature.
"""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from operable.flow.audit import log as audit_log
from operable.flow.canonical import canonical_digest
from operable.flow.errors import FlowError
from operable.kernel.data_class import dataclass

Json = dict[str, Any]
_GRANTED, _REVOKED, _USED = "approval_granted", "approval_revoked", "approval_used"


@dataclass(slots=True)
class RecordedApprovals:
    """What was recorded: the digest of each grant, and their outcome, as events of the file of approvals."""

    grants: dict[str, str] = field(default_factory=dict)
    events: list[Json] = field(default_factory=list)

    def fate(self, approval_id: str) -> Json | None:
        """The event that ended an approval."""
        return next((event for event in self.events if event["approval_id"] == approval_id), None)


def record_grant(path: str, made: Mapping[str, Any]) -> None:
    names = "approval_id task_hash approver approver_scope reason granted_at expires_at unsigned_explicit"
    shown = {name: made[name] for name in names.split()} | {"record_hash": canonical_digest(dict(made))}
    _append(path, _GRANTED, made, made["granted_at"], shown)


def record_revocation(path: str, made: Mapping[str, Any], event: Mapping[str, Any]) -> None:
    names = "approval_id revoked_by reason revoked_at"
    _append(path, _REVOKED, made, event["revoked_at"], {name: event[name] for name in names.split()})


def record_use(
    path: str, source: Mapping[str, Any], used: Mapping[str, Any], execution_id: str, at: str
) -> None:
    """Before the use: a process that dies in between has used the approval."""
    _append(path, _USED, source, at, {"approval_id": used["approval_id"], "execution_id": execution_id})


def _append(path: str, status: str, of: Mapping[str, Any], timestamp: str, approval: Json) -> None:
    source = {name: of.get(name) for name in ("workflow_id", "task_id")}
    record = {"execution_id": None, "timestamp": timestamp, "source": source, "status": status}
    audit_log.append(path, {**record, "approval": approval})


def known(path: str, approval_id: str | None = None) -> RecordedApprovals:
    """What the log says of all approvals, or at least of this one. The first record of a grant counts."""
    found = RecordedApprovals()
    needle = "approval_id" if approval_id is None else approval_id
    for record in audit_log.holding(path, json.dumps(needle).encode("ascii")):
        _add(found, record)
    return found


def _add(found: RecordedApprovals, record: Mapping[str, Any]) -> None:
    used, approval = record.get("approval_used"), record.get("approval")
    if isinstance(used, Mapping):
        _take(found, _USED, record, {**used, "execution_id": record.get("execution_id")})
    elif isinstance(approval, Mapping):
        _take(found, record.get("status"), record, approval)


def lost_uses(path: str, events: list[Json]) -> list[str]:
    """The approvals that were used according to their file, and of whose use the log knows nothing: records are gone.

    A use is in the log before it is in the file. Uses that other programs noted say not whether they were recorded; those
    are lost only if nothing at all is in the log. `events` must have been read before the log is.
    """
    used = {event["approval_id"]: event for event in events if event.get("kind") == "consume"}
    # From the end, and no further than to the oldest of these uses: the log is older than the file is.
    records = audit_log.holding(path, b'"approval_id"', newest_first=True)
    while used and (record := next(records, None)) is not None:
        found = RecordedApprovals()
        _add(found, record)
        for event in found.events:
            if event["kind"] == "consume":
                used.pop(event["approval_id"], None)
    if not used:
        return []
    empty = next(audit_log.holding(path, b""), None) is None
    return [name for name, event in used.items() if empty or event.get("recorded") is True]


def require_whole(path: str, events: list[Json]) -> None:
    """FlowError(approval_log_invalid) if uses of approvals are gone from the log: it is not the one they are in."""
    lost = lost_uses(path, events)
    if lost:
        shown = ", ".join(lost[:3])
        message = (
            f"The audit log {path} does not contain the use of {len(lost)} approvals that were used ({shown})"
        )
        raise FlowError(
            "approval_log_invalid",
            f"{message}: it was removed or replaced. Restore it; or move the file of approvals away with it",
            lost=lost,
        )


def _take(
    found: RecordedApprovals, status: Any, record: Mapping[str, Any], approval: Mapping[str, Any]
) -> None:
    name = approval.get("approval_id")
    if not isinstance(name, str):
        return
    if status == _GRANTED:
        found.grants.setdefault(name, str(approval.get("record_hash")))
    elif status == _REVOKED:
        taken = {key: approval.get(key) for key in ("revoked_by", "reason", "revoked_at")}
        found.events.append({"kind": "revoke", "approval_id": name, **taken})
    elif status == _USED:
        used = {"execution_id": approval.get("execution_id"), "consumed_at": record.get("timestamp")}
        found.events.append({"kind": "consume", "approval_id": name, **used})
