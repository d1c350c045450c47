"""Applying a manifest to openclaw-scheduler: negotiate, prove, compare, and only then write, job by job.

The scheduler takes one job at a time, so a failure in the middle leaves the jobs before it applied; the error then
names what was done and what was not. Before the first write everything that can be known is known: what the runtime
enforces, the proofs, the artifacts of stored jobs, what would happen to each job, and whether the scheduler takes it.
Adopting is adding under the stable id and then deleting the old row; when the second fails, the first is taken back.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from operable.flow.canonical import canonical_digest
from operable.flow.compile.handoff.shape import require_intact
from operable.flow.compile.job.fields import BY_VERSION
from operable.flow.compile.target import compile_manifest
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json
from operable.flow.scheduler import capabilities
from operable.flow.scheduler.client import SchedulerClient
from operable.flow.scheduler.reconciliation import (
    ApplyOptions,
    JobStep,
    chosen,
    matched,
    proofs_reported,
    pruned_step,
    require_expected,
    verified_proofs,
    with_verifications,
)
from operable.flow.scheduler.specs import Handoffs, create_spec, differences, update_spec
from operable.kernel.data_class import dataclass

SCHEDULER = capabilities.SCHEDULER


_LONGEST_CHAIN = 10  # triggers from a root to its last descendant
# The scheduler's word for a job that it judged; any other says that it could not judge.
_JUDGED = ("COMMAND_FAILED", "HANDOFF_")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that is known before the first write."""

    compiled: Json
    effective: Json
    warnings: list[Json]
    version: str
    steps: list[JobStep]
    proofs: dict[str, Json]


def check_capabilities(manifest: Json, client: SchedulerClient) -> Json:
    """What the runtime says, what applies, and whether the manifest can be used with it. Writes nothing."""
    queried = capabilities.query(client)
    effective = capabilities.effective(queried)
    jobs = compile_manifest(manifest, SCHEDULER)["jobs"]
    return {
        "ok": True,
        "capabilities": queried,
        "effective": effective,
        "compatibility": capabilities.compatibility(jobs, effective["features"]),
    }


def prepare(
    manifest: Json, client: SchedulerClient, options: ApplyOptions, surroundings: Surroundings
) -> Prepared:
    """Negotiate, prove and compare. FlowError for everything that forbids to go on."""
    compiled = compile_manifest(manifest, SCHEDULER, explain=options.explain)
    queried = capabilities.query(client)
    effective = capabilities.effective(queried)
    handoffs = None
    if capabilities.supports_v4(queried):
        handoffs = Handoffs(
            manifest, ambient=surroundings.environment, base=os.path.abspath(surroundings.cwd)
        )
        compiled = {**compiled, "jobs": [handoffs.bound(job) for job in compiled["jobs"]]}
    found = capabilities.compatibility(compiled["jobs"], effective["features"])
    capabilities.require_compatible(found)
    version = capabilities.field_version(compiled["jobs"], effective["handoff_version"])
    require_followed(compiled["jobs"])
    proofs = verified_proofs(manifest, effective["features"], options, surroundings)
    stored = client.jobs(artifacts=version == "4")
    compare = _comparison(version, handoffs)
    steps = matched(compiled["jobs"], stored, options.adopt_by, compare)
    if options.prune or options.only_prune:
        steps += _prunable(manifest, steps, stored, version)
    steps = chosen(steps, options, canonical_digest(manifest))
    for step in steps:
        _require_writable(step)
    steps = _bound(steps, handoffs)
    if options.expected is None:  # else the scheduler was asked for the plan that is expected
        require_taken(steps, client, version)
    return Prepared(
        compiled, effective, found["warnings"], version, with_verifications(steps, proofs), proofs
    )


def apply_to_scheduler(
    manifest: Json,
    client: SchedulerClient,
    options: ApplyOptions,
    surroundings: Surroundings,
    warn: Callable[[str], None] = lambda _text: None,
) -> Json:
    """Create, update and adopt; the documented result. A dry run does everything but the writing."""
    prepared = prepare(manifest, client, options, surroundings)
    for warning in prepared.warnings:
        warn(warning["message"])
    require_expected(prepared.steps, options.expected)
    if not options.dry_run:
        _write(prepared, client, options)
    return result(prepared, client, options)


def result(prepared: Prepared, client: SchedulerClient, options: ApplyOptions) -> Json:
    effective = prepared.effective
    said = {
        name: effective[name] or None for name in ("handoff_version", "schema_version", "handoff_contract")
    }
    found: Json = {
        "ok": True,
        "target": SCHEDULER,
        "dry_run": options.dry_run,
        "scheduler": {"command": client.invocation.label, "db_path": client.db_path},
        "capabilities": {
            "source": effective["source"],
            "negotiated": effective["negotiated"],
            **said,
            **({"warnings": prepared.warnings} if prepared.warnings else {}),
        },
        "handoff": {
            "field_version": prepared.version,
            "projected_fields": len(BY_VERSION[prepared.version]),
            "v02_fields_included": prepared.version != "1",
        },
        "job_count": len(prepared.compiled["jobs"]),
        "actions": [_reported(step, options) for step in prepared.steps],
        **proofs_reported(prepared.proofs),
    }
    if options.explain:
        found["explain"] = prepared.compiled["explain"]
    return found


def _reported(step: JobStep, options: ApplyOptions) -> Json:
    # Clients of the protocol know three actions; an update that changes nothing is still sent for them, and is one.
    renamed = step.action == "unchanged" and not options.skip_unchanged
    return {**step.report(), "action": "updated"} if renamed else step.report()


def _comparison(version: str, handoffs: Handoffs | None) -> Callable[[Json, Json], list[Json]]:
    def compare(stored: Json, job: Json) -> list[Json]:
        bound = job if handoffs is None else handoffs.bound(job, stored)
        return differences(stored, update_spec(bound, version))

    return compare


def _bound(steps: list[JobStep], handoffs: Handoffs | None) -> list[JobStep]:
    """Jobs that exist get an artifact which keeps what they were given after compilation."""
    if handoffs is None:
        return steps
    return [
        replace(step, job=handoffs.bound(step.job, step.stored)) if step.job and step.stored else step
        for step in steps
    ]


def _require_writable(step: JobStep) -> None:
    stored = step.stored
    if stored is None or str(stored.get("handoff_version")) != "4":
        return
    if step.job is not None and step.job.get("handoff_version") != 4:
        verb = "adopt" if step.action == "adopted" else "update"
        raise FlowError(
            "unsupported_capability",
            f'Cannot {verb} handoff v4 scheduler job "{stored["id"]}" after runtime capability downgrade; '
            "restore the exact v4 runtime contract before applying changes",
        )
    require_intact(stored)


def _prunable(manifest: Json, steps: list[JobStep], stored: list[Json], version: str) -> list[JobStep]:
    """Stored jobs that came from these workflows and are no longer in them; only an artifact says where a job came from."""
    if version != "4":
        raise FlowError(
            "unsupported_capability",
            "Cannot prune: without handoff version 4 the scheduler does not know which manifest its jobs came from",
        )
    flows = {flow["id"] for flow in manifest["workflows"]}
    kept = {step.job_id for step in steps} | {step.adopted_from for step in steps}
    found = []
    for row in stored:
        if row.get("id") in kept or str(row.get("handoff_version")) != "4":
            continue
        if require_intact(row)["manifest"]["workflow_id"] in flows:
            found.append(pruned_step(row))
    return found


def _write(prepared: Prepared, client: SchedulerClient, options: ApplyOptions) -> None:
    done: list[Json] = []
    steps = parents_first(prepared.steps)
    for position, step in enumerate(steps):
        if step.action == "unchanged" and options.skip_unchanged:
            continue
        try:
            _write_one(step, client, prepared.version)
        except FlowError as problem:
            left = [each.report() for each in steps[position:]]
            details = {**problem.details, "actions": done, "not_applied": left}
            raise problem.restated(problem.message, **details) from None
        done.append(_reported(step, options))


def _write_one(step: JobStep, client: SchedulerClient, version: str) -> None:
    if step.action == "pruned":
        client.delete(step.job_id)
        return
    assert step.job is not None  # noqa: S101 - only a pruned step has none
    if step.action == "created":
        client.add(create_spec(step.job, version))
    elif step.action == "adopted":
        _adopt(step, client, create_spec(step.job, version, (step.stored or {}).get("origin") or "system"))
    else:
        client.update(step.job_id, update_spec(step.job, version))


def _adopt(step: JobStep, client: SchedulerClient, spec: Json) -> None:
    old = str(step.adopted_from)
    client.add(spec)
    try:
        client.delete(old)
    except FlowError as problem:
        failure = f'Failed to adopt legacy row "{old}" to stable id "{step.job_id}"'
        try:
            client.delete(step.job_id)
        except FlowError:
            words = "the old row could not be deleted, nor the new one taken back; check both rows yourself"
            raise FlowError("scheduler_error", f"{failure}: {words}: {problem.message}") from None
        words = "the old row could not be deleted; the new one was taken back"
        raise FlowError("scheduler_error", f"{failure}: {words}: {problem.message}") from None


# What is asked of a scheduler before the first write, and the order in which it takes jobs.
#
# A scheduler judges more of a job than a manifest's validator knows: which regular expressions it can search with,
# which session keys it accepts, what its evidence may be bound to. One that keeps artifacts can judge without
# writing, so it is asked about every job that would change, and one refusal stops everything: nothing is half applied
# because of the last job. A parent is written before its children, which is the only order that a scheduler takes
# them in, and it follows a chain of triggers only so far.


def parents_first(steps: Iterable[JobStep]) -> list[JobStep]:
    """The same steps, each after the step of its parent; what is removed comes last, and children before their parents."""
    waiting = {step.job_id: step for step in steps}
    written: list[JobStep] = []
    removed: list[JobStep] = []
    while waiting:
        chain: list[JobStep] = []
        step: JobStep | None = next(iter(waiting.values()))
        while step is not None:
            chain.append(waiting.pop(step.job_id))
            step = waiting.get(str(_row(step).get("parent_id")))
        for found in reversed(chain):
            (removed if found.action == "pruned" else written).append(found)
    return written + removed[::-1]


def _row(step: JobStep) -> Json:
    return step.job or step.stored or {}


def require_followed(jobs: list[Json]) -> None:
    """FlowError when a chain of triggers is longer than a scheduler follows."""
    parents: dict[str, Any] = {job["id"]: job["parent_id"] for job in jobs}
    for job in jobs:
        length, ancestor = 0, job["parent_id"]
        while ancestor is not None and length <= _LONGEST_CHAIN:
            length, ancestor = length + 1, parents.get(ancestor)
        if length > _LONGEST_CHAIN:
            raise FlowError(
                "unsupported_capability",
                f'Job "{job["name"]}" is more than {_LONGEST_CHAIN} triggers away from its root, '
                "which the scheduler does not follow",
            )


def require_taken(steps: list[JobStep], client: SchedulerClient, version: str) -> None:
    """FlowError with everything that the scheduler would refuse of these steps. Only one of version 4 can be asked."""
    if version != "4":
        return
    refused = [found for step in steps if (found := _refusal(step, client, version)) is not None]
    if not refused:
        return
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    raise FlowError(
        "invalid_argument",
        f'The scheduler refuses job "{refused[0]["name"]}": {refused[0]["message"]}{more}',
        reported_as="JOBS_REFUSED",
        refused=refused,
        actions=[],
        not_applied=[step.report() for step in steps],
    )


def _refusal(step: JobStep, client: SchedulerClient, version: str) -> Json | None:
    if step.job is None or step.action == "unchanged":
        return None
    try:
        if step.action == "updated":
            client.update(step.job_id, update_spec(step.job, version), dry_run=True)
        else:
            client.add(create_spec(step.job, version), dry_run=True)
    except FlowError as problem:
        if not str(problem.details.get("scheduler_code")).startswith(_JUDGED):
            raise
        return {
            "job_id": step.job_id,
            "name": step.name,
            "message": problem.message,
            "scheduler_code": problem.details["scheduler_code"],
        }
    return None
