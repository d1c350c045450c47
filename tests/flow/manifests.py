"""Small manifests for tests, a way to change one thing in them, and what the validator says of them."""

import copy
from typing import Any

from operable.flow.manifest.validation import validate

Json = dict[str, Any]
# What is no object, and what is no list.
NO_OBJECTS: list[Any] = [[], "x", 5, True, False]
NO_LISTS: list[Any] = [{}, "x", 5, True, False]


def shell_task(task_id: str = "a", **members: Any) -> Json:
    task = {
        "id": task_id,
        "name": task_id.upper(),
        "target": {"session_target": "shell"},
        "shell": {"program": "echo", "args": ["hi"]},
        "schedule": {"cron": "0 9 * * *"},
    }
    return without_none({**task, **members})


def prompt_task(task_id: str = "p", **members: Any) -> Json:
    task = {
        "id": task_id,
        "name": task_id.upper(),
        "target": {"session_target": "isolated"},
        "prompt": "do it",
        "schedule": {"cron": "0 9 * * *"},
    }
    return without_none({**task, **members})


def triggered(parent: Any, /, **members: Any) -> Json:
    return {"schedule": None, "trigger": {"parent": parent, "on": "success", **members}}


def manifest(*tasks: Json, version: str = "0.2", workflow: Json | None = None, **members: Any) -> Json:
    flow = {"id": "w", "name": "W", "tasks": list(tasks) or [shell_task()], **(workflow or {})}
    return {"version": version, "workflows": [flow], **members}


def without_none(value: Json) -> Json:
    return {name: item for name, item in value.items() if item is not None}


def changed(value: Json, path: str, new: Any) -> Json:
    """A copy with one member set: `changed(m, "workflows.0.tasks.0.name", 5)`."""
    value = copy.deepcopy(value)
    owner: Any = value
    *outer, last = path.split(".")
    for name in outer:
        owner = owner[int(name)] if isinstance(owner, list) else owner.setdefault(name, {})
    if isinstance(owner, list):
        owner[int(last)] = new
    else:
        owner[last] = new
    return value


def errors(value: Any) -> list[tuple[str, str]]:
    """(path, message) in the order of the answer."""
    return [(found["path"], found["message"]) for found in validate(value)["errors"]]


def warnings(value: Any) -> list[tuple[str, str]]:
    return [(found["path"], found["message"]) for found in validate(value)["warnings"]]
