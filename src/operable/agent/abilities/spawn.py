"""Spawn: several tasks at once, each done by a sub-agent; their answers come back together.

At most five run side by side. A sub-agent has the same tools and needs the same approvals; it remembers nothing of this
conversation, so its prompt must say everything that it needs to know.
"""

from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene

_MOST = 5


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    tasks = _tasks(arguments)
    if isinstance(tasks, str):
        return AbilityOutcome(tasks, ok=False)
    if scene.spawn is None:
        return AbilityOutcome("No sub-agents can be spawned here", ok=False)
    answers = scene.spawn(tasks)
    parts = [f"## {name}\n{answer.output}" for (name, _), answer in zip(tasks, answers, strict=True)]
    return AbilityOutcome("\n\n".join(parts), ok=any(answer.ok for answer in answers))


def _tasks(arguments: Mapping[str, Any]) -> list[tuple[str, str]] | str:
    given = arguments.get("tasks")
    if not isinstance(given, list) or not 1 <= len(given) <= _MOST:
        return f"Spawn needs tasks: a list of 1 to {_MOST}, each with name and prompt"
    tasks = []
    for position, task in enumerate(given, 1):
        prompt = task.get("prompt") if isinstance(task, dict) else None
        if not isinstance(prompt, str) or not prompt.strip():
            return f"task {position} needs a prompt"
        tasks.append((str(task.get("name") or f"task {position}"), prompt))
    return tasks


def _described(arguments: Mapping[str, Any]) -> str:
    tasks = _tasks(arguments)
    return "Spawn sub-agents" if isinstance(tasks, str) else f"Spawn {', '.join(name for name, _ in tasks)}"


ABILITY = Ability(
    name="Spawn",
    category="exec",
    description=(
        "Give up to 5 independent tasks to sub-agents that work side by side, and get their answers. "
        "Each knows only its prompt."
    ),
    schema={
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "minItems": 1,
                "maxItems": _MOST,
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "prompt": {"type": "string"}},
                    "required": ["name", "prompt"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["tasks"],
        "additionalProperties": False,
    },
    run=_run,
    describe=_described,
    cap=100_000,
)
