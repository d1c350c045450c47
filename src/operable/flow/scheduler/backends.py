"""Where jobs are applied: a scheduler that is reached through its program, or the store of our own engine.

One interface for both, so that plan, apply and prune do not depend on which one it is.

Jobs of our own engine are compared and written in one transaction; `openclaw` applies to the scheduler.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from operable.flow.canonical import canonical_digest, same_json, spelled
from operable.flow.compile.limits import missing_runtimes
from operable.flow.compile.target import compile_manifest
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.home import home_of
from operable.flow.manifest.failure_handlers import expand
from operable.flow.manifest.inheritance import Json
from operable.flow.operation import Defaults, text_of, truthy
from operable.flow.scheduler import openclaw
from operable.flow.scheduler.client import SchedulerClient, invocation_of
from operable.flow.scheduler.job_rows import own_schedule
from operable.flow.scheduler.job_store import VERSION, jobs_address, stored_jobs, writing
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
from operable.kernel.data_class import dataclass
from operable.state.database import shown_address

ENGINE = "operable"
# The engine verifies a proof for each attempt. One that does not hold now is refused when it is applied, nevertheless.
_VERIFIED_LATER: Mapping[str, Any] = {}
SCHEDULER = openclaw.SCHEDULER


@dataclass(frozen=True, slots=True)
class SchedulerBackend:
    """One place for jobs: `client` for a scheduler, `store` (a path or a URL) for our own engine."""

    target: str
    client: SchedulerClient | None = None
    store: str = ""


def backend_of(params: Mapping[str, Any], defaults: Defaults) -> SchedulerBackend:
    """The backend that a request means; without a word that is the scheduler, as its clients expect."""
    target: Any = params.get("target")
    target = target if truthy(target) else SCHEDULER
    db_path = text_of(params, "dbPath")
    if target == ENGINE:
        home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
        database = text_of(params, "database")
        address = jobs_address(defaults.environment, home, path=db_path, database=database, cwd=defaults.cwd)
        return SchedulerBackend(ENGINE, store=address)
    if target != SCHEDULER:
        raise invalid_argument(f"Unsupported apply target: {spelled(target)}")
    prefix, program = text_of(params, "schedulerPrefix"), text_of(params, "schedulerBin")
    if not prefix and not program:
        prefix, program = defaults.scheduler_prefix, defaults.scheduler_bin
    client = SchedulerClient(
        invocation_of(prefix, program, defaults.environment),
        cwd=os.path.abspath(defaults.cwd),
        environment=defaults.environment,
        db_path=db_path or defaults.db_path,
    )
    return SchedulerBackend(SCHEDULER, client=client)


def apply(
    manifest: Json,
    backend: SchedulerBackend,
    options: ApplyOptions,
    surroundings: Surroundings,
    warn: Callable[[str], None] = lambda _text: None,
) -> Json:
    """The documented result; FlowError when nothing, or not everything, could be applied."""
    if backend.client is None:
        return apply_to_store(manifest, backend.store, options, surroundings)
    return openclaw.apply_to_scheduler(manifest, backend.client, options, surroundings, warn)


def plan(
    manifest: Json,
    backend: SchedulerBackend,
    options: ApplyOptions,
    surroundings: Surroundings,
    warn: Callable[[str], None] = lambda _text: None,
) -> list[JobStep]:
    """What would happen to each job. Reads, negotiates and verifies proofs, and writes nothing."""
    if backend.client is None:
        return plan_for_store(manifest, backend.store, options, surroundings)
    prepared = openclaw.prepare(manifest, backend.client, options, surroundings)
    for warning in prepared.warnings:
        warn(warning["message"])
    return prepared.steps


# Applying a manifest to Operable's own engine: compare and write in one transaction.
# Nothing is written unless everything is, and what was compared cannot change before it is written. Jobs that are as
# they should be are left alone.
def plan_for_store(
    manifest: Json, path: str, options: ApplyOptions, surroundings: Surroundings
) -> list[JobStep]:
    """What would happen to each job; the store is only read, and not even made."""
    compiled = compile_manifest(manifest, ENGINE)
    _require_runtimes(manifest, surroundings)
    proofs = verified_proofs(manifest, _VERIFIED_LATER, options, surroundings)
    return with_verifications(_steps(manifest, compiled, stored_jobs(path), options), proofs)


def apply_to_store(manifest: Json, path: str, options: ApplyOptions, surroundings: Surroundings) -> Json:
    """Create, update, adopt and prune: all of it or nothing. The result has the shape of every backend's."""
    compiled = compile_manifest(manifest, ENGINE, explain=options.explain)
    _require_runtimes(manifest, surroundings)
    proofs = verified_proofs(manifest, _VERIFIED_LATER, options, surroundings)
    if options.dry_run:
        steps = _steps(manifest, compiled, stored_jobs(path), options)
        require_expected(steps, options.expected)
    else:
        steps = _write(manifest, compiled, path, options)
    steps = with_verifications(steps, proofs)
    found: Json = {
        "ok": True,
        "target": ENGINE,
        "dry_run": options.dry_run,
        "scheduler": {"command": ENGINE, "db_path": shown_address(path)},
        "capabilities": {
            "source": "static",
            "negotiated": False,
            "handoff_version": None,
            "schema_version": VERSION,
            "handoff_contract": None,
        },
        "handoff": {
            "field_version": str(compiled["job_version"]),
            "projected_fields": len(compiled["jobs"][0]),
            "v02_fields_included": True,
        },
        "job_count": len(compiled["jobs"]),
        "actions": [step.report() for step in steps],
        **proofs_reported(proofs),
    }
    if options.explain:
        found["explain"] = compiled["explain"]
    return found


def _require_runtimes(manifest: Json, surroundings: Surroundings) -> None:
    """FlowError if an agent, a tool or an application of the manifest cannot be found here."""
    found = missing_runtimes(expand(manifest), cwd=surroundings.cwd, environment=surroundings.environment)
    missing = list(found)
    if missing:
        errors = [{"path": path, "message": f"cannot be used: {each.message}"} for path, each in missing]
        said = "; ".join(f"{each['path']} {each['message']}" for each in errors[:5])
        refusal = FlowError("no_runtime", f"nothing was applied: {said}", errors=errors)
        refusal.hint = next((each.hint for _, each in missing if each.hint), None)
        raise refusal


def _write(manifest: Json, compiled: Json, path: str, options: ApplyOptions) -> list[JobStep]:
    digest = compiled["manifest_digest"]
    with writing(path) as transaction:
        steps = _steps(manifest, compiled, transaction.jobs(), options)
        require_expected(steps, options.expected)
        changing = [step for step in steps if step.action != "unchanged"]
        if changing:
            transaction.keep_manifest(digest, manifest)
        for step in changing:
            if step.job is None:
                transaction.remove(step.job_id)
            else:
                transaction.write(step.job, digest, step.stored)
        if changing:
            scheduled = {step.job_id for step in changing if _changes_schedule(step)}
            transaction.record(digest, [step.report() for step in changing], scheduled)
    return steps


def _changes_schedule(step: JobStep) -> bool:
    """Whether the schedule of a job begins, ends or becomes another one; an adopted job begins."""
    stored = step.stored if step.adopted_from is None else None
    before = None if stored is None else own_schedule(stored["document"])
    after = None if step.job is None else own_schedule(step.job)
    return before != after


def _steps(manifest: Json, compiled: Json, stored: list[Json], options: ApplyOptions) -> list[JobStep]:
    digest = canonical_digest(manifest)

    def compare(row: Json, job: Json) -> list[Json]:
        found = list(differences(row["document"], job))
        if row["manifest_digest"] != digest:
            # Proofs, approvals and evidence of the job are bound to it.
            found.append({"field": "manifest_digest", "before": row["manifest_digest"], "after": digest})
        return found

    steps = matched(compiled["jobs"], stored, options.adopt_by, compare)
    if options.prune or options.only_prune:
        flows = {flow["id"] for flow in manifest["workflows"]}
        kept = {job["id"] for job in compiled["jobs"]} | {step.adopted_from for step in steps}
        gone = [row for row in stored if row["workflow_id"] in flows and row["id"] not in kept]
        steps += [pruned_step(row) for row in gone[::-1]]
    return chosen(steps, options, digest)


def differences(before: Json, after: Json, path: str = "") -> list[Json]:
    """What differs, leaf by leaf; lists are compared as wholes."""
    found: list[Json] = []
    for name in dict.fromkeys([*before, *after]):
        place = f"{path}.{name}" if path else name
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, place)
        elif not same_json(old, new):
            found.append({"field": place, "before": old, "after": new})
    return found
