"""standalone: a portable plan, for backends that read it themselves and for people.

Keeps every declaration in its own words: schedules and triggers as they are, edges between tasks, profiles without their
secrets. Promises nothing about execution.
"""

from operable.flow.compile.plan import plans, shown_plan, shown_profiles
from operable.flow.compile.target import Compilation, Target, declared_features, explained, refused
from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.tools import foreign_tools
from operable.flow.manifest.validation import MANIFEST_VERSION

_ALSO = dict.fromkeys("authoring planning rpc budgets identity contracts".split(), True)
_NOTES = {
    "trigger": "Retains trigger semantics directly; no scheduler-specific cron sentinel is needed.",
    "schedule": "Retains cron schedule directly for backends that understand scheduled roots.",
}


def _compile(compilation: Compilation) -> Json:
    errors = list(foreign_tools(compilation.manifest, "standalone"))
    if errors:
        raise refused("standalone", errors, [])
    compiled = plans(compilation.manifest)
    output: Json = {
        "target": "standalone",
        "version": MANIFEST_VERSION,
        "capabilities": {**declared_features(), **_ALSO},
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
        output["explain"] = [explained(plan, "standalone", _NOTES) for _, tasks in compiled for plan in tasks]
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


TARGET = Target(
    name="standalone",
    order=1,
    description="Portable plan for inspection and for backends of your own",
    capabilities=("schema", "validate", "compile", "describe", "json-rpc"),
    features=declared_features(),
    compile=_compile,
)
