"""A prompt task given to openclaw-scheduler as a job of its own, for callers that have no agent here.

The job is the one that applying the manifest would make, except that it is deleted after its first run: it keeps its
schedule, so "once" means the next time that comes. Everything is negotiated before the one write, as in applying.
"""

import os
from collections.abc import Mapping
from typing import Any

from operable.flow.compile.plan import approval_policy
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.manifest.selection import Selected
from operable.flow.scheduler import capabilities
from operable.flow.scheduler.client import SchedulerClient
from operable.flow.scheduler.specs import Handoffs, create_spec

Json = dict[str, Any]
_NOTE = "The scheduler runs it the next time its schedule comes, and then deletes it."


def preview_dispatch(selected: Selected) -> Json:
    """What would be sent. No person is asked."""
    job = _job(selected)
    return {
        "ok": True,
        "dry_run": True,
        "delegated": True,
        "runtime": capabilities.SCHEDULER,
        "job_id": job["id"],
        "job_spec": create_spec(job, "3"),
        "session_target": job["session_target"],
        "note": _NOTE,
    }


def dispatch(selected: Selected, client: SchedulerClient, cwd: str, environment: Mapping[str, str]) -> Json:
    """Add the job; FlowError when the runtime cannot keep what the task declares."""
    job = _job(selected)
    queried = capabilities.query(client)
    effective = capabilities.effective(queried)
    if capabilities.supports_v4(queried):
        job = Handoffs(selected.original, ambient=environment, base=os.path.abspath(cwd)).bound(job)
    found = capabilities.compatibility([job], effective["features"])
    capabilities.require_compatible(found)
    version = capabilities.field_version([job], effective["handoff_version"])
    client.add(create_spec(job, version))
    warnings = found["warnings"]
    return {
        "ok": True,
        "delegated": True,
        "execution_mode": "scheduler-dispatch",
        "runtime": capabilities.SCHEDULER,
        "job_id": job["id"],
        "session_target": job["session_target"],
        "payload_kind": job["payload_kind"],
        "status": "dispatched",
        "handoff_version": version,
        **({"warnings": [each["message"] for each in warnings]} if warnings else {}),
        **({"capability_warnings": warnings} if warnings else {}),
        "note": _NOTE,
    }


def no_runtime(selected: Selected) -> FlowError:
    target = selected.task["target"]["session_target"]
    return FlowError(
        "no_runtime",
        f'Task "{selected.task["id"]}" ({target}) requires runtime delegation; name a scheduler with --scheduler-prefix or '
        "--scheduler-bin",
    )


def _job(selected: Selected) -> Json:
    if approval_policy(selected.task.get("approval")) == "auto-reject":
        raise FlowError("approval_auto_rejected", f'Task "{selected.task["id"]}" is rejected by its policy')
    jobs = compile_manifest(selected.original, capabilities.SCHEDULER)["jobs"]
    (found,) = [job for job in jobs if job["source"] == selected.source]
    return {**found, "delete_after_run": 1}
