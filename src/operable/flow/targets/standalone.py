"""standalone: a portable plan, for backends that read it themselves and for people.

Keeps every declaration in its own words: schedules and triggers as they are, edges between tasks, profiles without their
secrets. Promises nothing about execution.
"""

from operable.flow.merge import Json
from operable.flow.plan import plans
from operable.flow.sanitise import shown_plan, shown_profiles
from operable.flow.target import Compilation, Target
from operable.flow.validate import MANIFEST_VERSION

_PORTABLE = "model_policy execution_intent output_hints timeout_support context_retrieval".split()
_NOT_HERE = (
    "runtime_execution runtime_identity_resolution evidence_generation audit_export trust_evaluation "
    "delegation_validation credential_handoff authorization_proof_verification authorization_hook root_approval_gate "
    "approval_scope_enforcement structured_output_format"
).split()
_FEATURES = {
    "approvals": "intent-only",
    **dict.fromkeys(_PORTABLE, "portable"),
    "identity_declaration": True,
    **dict.fromkeys(_NOT_HERE, False),
}
_ALSO = dict.fromkeys("authoring planning rpc budgets identity contracts".split(), True)
_NOTES = {
    "trigger": "Retains trigger semantics directly; no scheduler-specific cron sentinel is needed.",
    "schedule": "Retains cron schedule directly for backends that understand scheduled roots.",
}


def _compile(compilation: Compilation) -> Json:
    compiled = plans(compilation.manifest)
    output: Json = {
        "target": "standalone",
        "version": MANIFEST_VERSION,
        "capabilities": {**_FEATURES, **_ALSO},
        **shown_profiles(compilation.original),
        "workflows": [
            {
                "id": workflow["id"],
                "name": workflow["name"],
                "tasks": [shown_plan(plan) for plan in tasks],
                "edges": [_edge(plan) for plan in tasks if plan["parent_compiled_id"] is not None],
            }
            for workflow, tasks in compiled
        ],
    }
    if compilation.explain:
        output["explain"] = [_explained(plan) for _, tasks in compiled for plan in tasks]
    return output


def _edge(plan: Json) -> Json:
    invocation = plan["invocation"]
    return {
        "from": plan["parent_compiled_id"],
        "to": plan["id"],
        "on": invocation["on"],
        "condition": invocation["condition"],
        "delay_s": invocation["delay_s"],
    }


def _explained(plan: Json) -> Json:
    mode = plan["invocation"]["mode"]
    return {
        **plan["source"],
        "compiled_id": plan["id"],
        "target": "standalone",
        "invocation_mode": mode,
        "notes": [_NOTES[mode]],
    }


TARGET = Target(
    name="standalone",
    order=1,
    description="Portable plan for inspection and for backends of your own",
    capabilities=("schema", "validate", "compile", "describe", "json-rpc"),
    features=_FEATURES,
    compile=_compile,
)
