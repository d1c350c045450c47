"""operable: plain job documents for Operable's own engine, one per task.

A document says everything that decides when and how a task runs, with every default filled in and every profile merged, and
nothing secret: environment, standard input, attributes and the configuration of providers are hashes, or left out. The
engine takes them from the manifest, which is kept beside the jobs under its digest. What would never run (a schedule that no
clock understands, a time zone that does not exist, triggers in a circle) is refused, and so is what the engine cannot do.
"""

from collections.abc import Iterator

from operable.flow.canonical import canonical_digest
from operable.flow.compile.limits import unsupported
from operable.flow.compile.plan import plans, shown_identity, shown_plan, shown_profiles, shown_proof_source
from operable.flow.compile.target import Compilation, Target, executed_features, explained, refused
from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.schedules import cron_problem, is_zone
from operable.flow.manifest.validation import MANIFEST_VERSION, validate

JOB_VERSION = 1
# What `operable engine` does with a job. Records are shown and exported to no other system, and a presentation with a
# handoff is refused (`compile.limits`).
_FEATURES = executed_features(without=("audit_export", "credential_handoff"))
_NOTES = {
    "schedule": "Runs when its schedule says so, in its own time zone.",
    "trigger": "Runs when its parent has ended as the trigger says; it has no schedule of its own.",
}


def _compile(compilation: Compilation) -> Json:
    manifest = compilation.manifest
    unrunnable = (*unschedulable(manifest), *unsupported(manifest))
    errors = [{"path": path, "message": message} for path, message in unrunnable]
    if errors:
        raise refused("operable", errors, validate(manifest)["warnings"])
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


# Whether tasks can ever run: schedules that a clock understands, time zones that exist, triggers that lead back to a
# root.
#
# The validator accepts any text as a schedule, because other readers do. A backend that runs what it accepts asks
# here first.


def unschedulable(manifest: Json) -> Iterator[tuple[str, str]]:
    """(path, message) for every task of an expanded manifest that would never run as it is declared."""
    for index, workflow in enumerate(manifest["workflows"]):
        lost = set(_lost(workflow["tasks"]))
        for number, task in enumerate(workflow["tasks"]):
            path = f"$.workflows[{index}].tasks[{number}]"
            schedule = task.get("schedule")
            if schedule is not None:
                if (problem := cron_problem(schedule["cron"])) is not None:
                    yield f"{path}.schedule.cron", f"is not a schedule: {problem}"
                if not is_zone(schedule.get("tz") or "UTC"):
                    yield f"{path}.schedule.tz", f"is not a time zone: {schedule['tz']}"
            elif task["id"] in lost:
                yield f"{path}.trigger.parent", "has no scheduled root: the triggers form a cycle"


def _lost(tasks: list[Json]) -> Iterator[str]:
    """Tasks from whose parents no way leads to a scheduled one; every task is walked over once."""
    parents = {task["id"]: (task.get("trigger") or {}).get("parent") for task in tasks}
    leads_home: dict[str | None, bool] = {None: True}
    for name in parents:
        way: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in leads_home and at not in way:
            way[at] = None
            at = parents.get(at)
        home = leads_home.get(at, False)
        leads_home.update(dict.fromkeys(way, home))
        if not leads_home[name]:
            yield name


TARGET = Target(
    name="operable",
    order=3,
    description="Jobs for Operable's own engine",
    capabilities=("compile", "plan", "apply", "prune", "inspect", "field-mask", "sanitize-basic"),
    features=_FEATURES,
    compile=_compile,
)
