"""Applying a manifest to Operable's own engine: compare and write in one transaction.

Nothing is written unless everything is, and what was compared cannot change before it is written. Jobs that are as they
should be are left alone.
"""

from operable.flow.canonical import canonical_digest, same_json
from operable.flow.compile.target import compile_manifest, target
from operable.flow.contracts import Surroundings
from operable.flow.manifest.inheritance import Json
from operable.flow.scheduler.job_store import VERSION, stored_jobs, writing
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

ENGINE = "operable"


def plan_for_store(
    manifest: Json, path: str, options: ApplyOptions, surroundings: Surroundings
) -> list[JobStep]:
    """What would happen to each job; the store is only read, and not even made."""
    compiled = compile_manifest(manifest, ENGINE)
    proofs = verified_proofs(manifest, target(ENGINE).features, options, surroundings)
    return with_verifications(_steps(manifest, compiled, stored_jobs(path), options), proofs)


def apply_to_store(manifest: Json, path: str, options: ApplyOptions, surroundings: Surroundings) -> Json:
    """Create, update, adopt and prune: all of it or nothing. The result has the shape of every backend's."""
    compiled = compile_manifest(manifest, ENGINE, explain=options.explain)
    proofs = verified_proofs(manifest, target(ENGINE).features, options, surroundings)
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
        "scheduler": {"command": ENGINE, "db_path": path},
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
            transaction.record(digest, [step.report() for step in changing])
    return steps


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
