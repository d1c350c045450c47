"""What can be inspected, by backend: the entities, their tables, and the column by which the newest come first."""

from typing import NamedTuple


class Entity(NamedTuple):
    """`documents` are columns of our own that contain JSON, shown as what they spell."""

    table: str
    newest: str
    documents: tuple[str, ...] = ()


# In the order in which descriptions list them.
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
OF_OPERABLE = {
    "jobs": Entity("jobs", "updated_at", ("document",)),
    "applies": Entity("applies", "id", ("actions",)),
}
BY_TARGET = {"openclaw-scheduler": ENTITIES, "operable": OF_OPERABLE}
