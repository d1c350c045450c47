"""openclaw-scheduler: one flat job record per task, as that scheduler stores it.

Triggered tasks get the cron of a day that never comes and point to their parent. What the backend would persist in
clear (the environment and the standard input of a shell) is refused, and so is what does not fit its columns.
"""

from collections.abc import Iterator

from operable.flow.canonical import utf16_length
from operable.flow.compile.handoff.artifact import V4_FEATURES
from operable.flow.compile.job.fields import BY_VERSION, MAX_LENGTHS
from operable.flow.compile.job.record import SENTINEL_CRON, scheduler_job
from operable.flow.compile.plan import plans, shown_profiles
from operable.flow.compile.target import Compilation, Target, refused
from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import Json, first
from operable.flow.manifest.tools import foreign_tools
from operable.flow.manifest.validation import MANIFEST_VERSION, validate

_DEFAULT_FIELDS = "3"
_RUNTIME = "execution_intent output_hints timeout_support context_retrieval".split()
_CLAIMED_BY_NOBODY = (
    "identity_declaration runtime_execution runtime_identity_resolution evidence_generation audit_export "
    "trust_evaluation delegation_validation credential_handoff authorization_proof_verification authorization_hook "
    "root_approval_gate approval_scope_enforcement structured_output_format"
).split()
# Deliberately pessimistic: only a live runtime can say what it enforces.
_FEATURES = {
    "approvals": "runtime",
    "model_policy": "model+thinking",
    **dict.fromkeys(_RUNTIME, "runtime"),
    **dict.fromkeys((*_CLAIMED_BY_NOBODY, *V4_FEATURES), False),
}
_SCHEDULE_NOTES = ["Scheduled roots map directly to scheduler cron fields."]
_TRIGGER_NOTES = [
    "Triggered tasks use a sentinel cron that never fires on its own.",
    "The scheduler dispatches them when their parent run ends.",
]


def _compile(compilation: Compilation) -> Json:
    manifest = compilation.manifest
    compiled = [
        (workflow, task, plan)
        for workflow, tasks in plans(manifest)
        for task, plan in zip(workflow["tasks"], tasks, strict=True)
    ]
    jobs = [scheduler_job(manifest, workflow, task, plan) for workflow, task, plan in compiled]
    _require_storable(manifest, jobs)
    output: Json = {
        "target": "openclaw-scheduler",
        "version": MANIFEST_VERSION,
        "handoff": {
            "field_version": first(compilation.field_version, _DEFAULT_FIELDS),
            **{f"v{version}_field_count": len(fields) for version, fields in BY_VERSION.items()},
        },
        "jobs": jobs,
        **shown_profiles(compilation.original),
    }
    if compilation.explain:
        output["explain"] = [_explained(plan) for _, _, plan in compiled]
    return output


def _require_storable(manifest: Json, jobs: list[Json]) -> None:
    """What the backend cannot store, or must not, with paths into the expanded manifest."""
    errors, position = list(foreign_tools(manifest, "openclaw-scheduler")), 0
    for index, workflow in enumerate(manifest["workflows"]):
        by_id = {task["id"]: task for task in workflow["tasks"]}
        for number, task in enumerate(workflow["tasks"]):
            path = f"$.workflows[{index}].tasks[{number}]"
            for place, message in _problems(manifest, workflow, task, by_id, jobs[position]):
                errors.append({"path": f"{path}.{place}", "message": message})
            position += 1
    if errors:
        raise refused("openclaw-scheduler", errors, validate(manifest)["warnings"])


def _problems(
    manifest: Json, workflow: Json, task: Json, by_id: dict[str, Json], job: Json
) -> Iterator[tuple[str, str]]:
    for name, limit in MAX_LENGTHS.items():
        if job[name] is not None and utf16_length(job[name]) > limit:
            yield name, f"compiled openclaw-scheduler {name} exceeds max length of {limit}"
    if task.get("trigger") is None and job["schedule_cron"] == SENTINEL_CRON:
        yield "schedule.cron", f"{SENTINEL_CRON} is the reserved at-job sentinel of openclaw-scheduler"
    shell = task.get("shell") or {}
    if shell.get("env"):
        yield "shell.env", "is not supported by openclaw-scheduler, which persists the command it runs"
    if shell.get("stdin") is not None:
        yield "shell.stdin", "is not supported by openclaw-scheduler, which persists the command it runs"
    trigger = task.get("trigger")
    if trigger is not None:
        parent = by_id.get(trigger["parent"], {})
        policy = first(
            task.get("child_credential_policy"),
            parent.get("child_credential_policy"),
            workflow.get("child_credential_policy"),
        )
        identity = inheritance.effective_identity(manifest, workflow, task)
        if policy == "downscope" and (identity or {}).get("scope") is None:
            yield (
                "identity.scope",
                "child_credential_policy is downscope but the task declares no identity scope",
            )


def _explained(plan: Json) -> Json:
    mode = plan["invocation"]["mode"]
    return {
        **plan["source"],
        "compiled_id": plan["id"],
        "target": "openclaw-scheduler",
        "invocation_mode": mode,
        "notes": _SCHEDULE_NOTES if mode == "schedule" else _TRIGGER_NOTES,
        "model_policy": plan["execution"]["model_policy"],
        "intent": plan["intent"],
        "output": plan["output"],
        "budgets": plan["budgets"],
    }


TARGET = Target(
    name="openclaw-scheduler",
    order=2,
    description="Jobs for openclaw-scheduler",
    capabilities=("compile", "apply", "inspect", "field-mask", "sanitize-basic", "ndjson"),
    features=_FEATURES,
    compile=_compile,
)
