"""Small manifests for the tests of the engine, and the definitions that apply would store for them."""

from typing import Any

from operable.engine.store.rows import Definition
from operable.flow.canonical import canonical_text
from operable.flow.compile.target import compile_manifest

Json = dict[str, Any]


def task(task_id: str, *argv: str, **blocks: Any) -> Json:
    """A shell task; hourly unless it has a trigger."""
    program, *args = argv or ("true",)
    when = {} if "trigger" in blocks else {"schedule": {"cron": "0 * * * *"}}
    return {
        "id": task_id,
        "name": task_id,
        "target": {"session_target": "shell"},
        "shell": {"program": program, "args": args},
        **when,
        **blocks,
    }


def manifest(*tasks: Json) -> Json:
    return {"version": "0.1", "workflows": [{"id": "flow", "name": "Flow", "tasks": list(tasks)}]}


def definitions(document: Json) -> list[Definition]:
    compiled = compile_manifest(document, "operable")
    return [Definition(job["id"], 1, job, compiled["manifest_digest"]) for job in compiled["jobs"]]


def text(document: Json) -> str:
    return canonical_text(document)


def prompt(task_id: str, text: str, agent: str = "scripted", **blocks: Any) -> Json:
    """A prompt task; hourly unless it has a trigger."""
    made = {name: value for name, value in task(task_id, **blocks).items() if name != "shell"}
    target = {"session_target": "isolated", "agent_id": agent, **blocks.get("target", {})}
    return {**made, "prompt": text, "target": target}
