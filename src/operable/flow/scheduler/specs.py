"""What is sent to a scheduler for one job: the fields of the negotiated version, in the form that it stores.

A new job has no nulls; an update has them, because there a null takes a value away, but neither id nor origin, which are the
stored job's own. Objects travel as JSON text. For version 4 a job is bound to an artifact: whatever the stored job was given
after compilation, and may keep, is bound into a new one.
"""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from operable.flow.canonical import canonical_text, same_json
from operable.flow.compile.handoff.artifact import declared_evidence, handoff_fields
from operable.flow.compile.job.binding import rebound
from operable.flow.compile.job.fields import BLOBS, BY_VERSION, REBINDABLE
from operable.flow.compile.plan import approval_policy, plans
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.javascript_json import javascript_json
from operable.flow.manifest import inheritance
from operable.flow.manifest.failure_handlers import expand
from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.selection import Selected
from operable.flow.scheduler import capabilities
from operable.flow.scheduler.client import SchedulerClient

_NOTE = "The scheduler runs it the next time its schedule comes, and then deletes it."


class Handoffs:
    """Binds the compiled jobs of one manifest to artifacts; made only for a runtime that keeps them."""

    def __init__(self, original: Json, *, ambient: Mapping[str, str], base: str) -> None:
        self._manifest = expand(original)
        self._ambient, self._base = ambient, base
        self._tasks = {
            plan["id"]: (workflow, task, plan)
            for workflow, tasks in plans(self._manifest)
            for task, plan in zip(workflow["tasks"], tasks, strict=True)
        }

    def bound(self, job: Json, stored: Json | None = None) -> Json:
        """The job with its artifact; of a stored one it takes over what may be given after compilation."""
        overrides = {name: stored[name] for name in REBINDABLE if name in stored} if stored else None
        workflow, task, plan = self._tasks[job["id"]]
        evidence = declared_evidence(inheritance.effective_evidence(self._manifest, workflow, task))
        full = {**rebound(job, overrides), "evidence": evidence}
        fields = handoff_fields(
            self._manifest,
            workflow,
            task,
            plan,
            full,
            ambient=self._ambient,
            base=self._base,
        )
        return {**full, **fields}


def create_spec(job: Json, version: str, origin: str | None = None) -> Json:
    """A new job; `origin` is that of the job which it adopts."""
    spec = {name: value for name, value in _projected(job, version) if value is not None}
    return spec if origin is None else {**spec, "origin": origin}


def update_spec(job: Json, version: str) -> Json:
    return {name: value for name, value in _projected(job, version) if name not in ("id", "origin")}


def _projected(job: Json, version: str) -> Iterator[tuple[str, Any]]:
    for name in BY_VERSION[version]:
        if name not in job:
            continue
        value = job[name]
        if name == "enabled":
            value = bool(value)
        elif name in BLOBS and isinstance(value, dict | list):
            value = canonical_text(value) if version == "4" else javascript_json(value)
        yield name, value


def differences(stored: Json, spec: Json) -> list[Json]:
    """What an update would change in a stored job, field by field, whatever form the store keeps values in."""
    changed = []
    for name, value in spec.items():
        before, after = plain(stored.get(name), name), plain(value, name)
        if not same_json(before, after):
            changed.append({"field": name, "before": before, "after": after})
    return changed


def plain(value: Any, name: str) -> Any:
    """JSON text as the value it spells, and 1 for true: as both sides can be compared."""
    if isinstance(value, bool):
        return int(value)
    if name in (*BLOBS, "contract_allowed_paths") and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


# A prompt task given to openclaw-scheduler as a job of its own, for callers that have no agent here.
#
# The job is the one that applying the manifest would make, except that it is deleted after its first run: it keeps
# its schedule, so "once" means the next time that comes. Everything is negotiated before the one write, as in
# applying.


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
