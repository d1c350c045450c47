"""What can be inspected in a scheduler's database: the entities, their tables, and the order in which they are shown."""

from typing import NamedTuple


class Entity(NamedTuple):
    """`newest` is the column by which the newest come first."""

    table: str
    newest: str


ENTITIES = {
    "jobs": Entity("jobs", "created_at"),
    "runs": Entity("runs", "started_at"),
    "queue": Entity("job_dispatch_queue", "created_at"),
    "approvals": Entity("approvals", "requested_at"),
    "evidence": Entity("evidence_records", "created_at"),
    "artifacts": Entity("handoff_artifacts", "created_at"),
    "events": Entity("runtime_events", "id"),
    "provider_sessions": Entity("provider_sessions", "updated_at"),
    "credential_presentations": Entity("credential_presentations", "created_at"),
}
