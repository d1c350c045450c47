"""operable: plain job documents for Operable's own engine, one per task.

A document says everything that decides when and how a task runs, with every default filled in and every profile merged, and
nothing secret: environment, standard input, attributes and the configuration of providers are hashes, or left out. The
engine takes them from the manifest, which is kept beside the jobs under its digest. What would never run (a schedule that no
clock understands, a time zone that does not exist, triggers in a circle) is refused.
"""

from operable.flow.canonical import canonical_digest
from operable.flow.compile.plan import plans
from operable.flow.compile.redaction import shown_identity, shown_plan, shown_profiles, shown_proof_source
from operable.flow.compile.schedulable import unschedulable
from operable.flow.compile.target import Compilation, Target, declared_features, explained, invalid
from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.validation import MANIFEST_VERSION, validate

JOB_VERSION = 1
# Jobs are kept, but nothing runs them by itself yet: only what holds without an engine is claimed.
_FEATURES = declared_features()
_NOTES = {
    "schedule": "Runs when its schedule says so, in its own time zone.",
    "trigger": "Runs when its parent has ended as the trigger says; it has no schedule of its own.",
}


def _compile(compilation: Compilation) -> Json:
    manifest = compilation.manifest
    errors = [{"path": path, "message": message} for path, message in unschedulable(manifest)]
    if errors:
        raise invalid({"ok": False, "errors": errors, "warnings": validate(manifest)["warnings"]})
    compiled = [
        (workflow, task, plan)
        for workflow, tasks in plans(manifest)
        for task, plan in zip(workflow["tasks"], tasks, strict=True)
    ]
    output: Json = {
        "target": "operable",
        "version": MANIFEST_VERSION,
        "job_version": JOB_VERSION,
        "manifest_digest": canonical_digest(compilation.original),
        "jobs": [_job(manifest, workflow, task, plan) for workflow, task, plan in compiled],
        **shown_profiles(compilation.original),
    }
    if compilation.explain:
        output["explain"] = [explained(plan, "operable", _NOTES) for _, _, plan in compiled]
    return output


def _job(manifest: Json, workflow: Json, task: Json, plan: Json) -> Json:
    identity = inheritance.effective_identity(manifest, workflow, task)
    proof = inheritance.effective_proof(manifest, workflow, task)
    authorization = inheritance.effective_authorization(manifest, workflow, task)
    evidence = inheritance.effective_evidence(manifest, workflow, task)
    shown = {name: value for name, value in shown_plan(plan).items() if name != "parent_compiled_id"}
    return {
        **shown,
        "enabled": bool(plan["enabled"] and plan["approval"]["policy"] != "auto-reject"),
        "identity": shown["identity"] if identity is None else _shown_effective(identity),
        "authorization_proof": proof and {**proof, "proof": shown_proof_source(proof["proof"], both=True)},
        "authorization": authorization and {**authorization, "provider_config": None},
        "evidence": evidence and {**evidence, "provider_config": None},
        "parent_id": plan["parent_compiled_id"],
    }


def _shown_effective(identity: Json) -> Json:
    return shown_identity({name: value for name, value in identity.items() if name != "provider_config"})


TARGET = Target(
    name="operable",
    order=3,
    description="Jobs for Operable's own engine",
    capabilities=("compile", "plan", "apply", "prune", "inspect", "field-mask", "sanitize-basic"),
    features=_FEATURES,
    compile=_compile,
)
