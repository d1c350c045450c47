"""What a manifest that validates may still get wrong: rules, one per file in `lints/`, and how they are asked.

Lint is separate from `validate`, whose results other programs compare: nothing here changes what is a manifest. Rules
look at any JSON value, valid or not, and never raise. What they say never repeats a secret that they found.

`places` and the functions beside it give rules the tasks of any JSON value, each with its path.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from operable.flow import lints
from operable.kernel import catalogue
from operable.kernel.data_class import dataclass
from operable.kernel.redact.shapes import mask_shapes

Level = Literal["error", "warning"]
Json = dict[str, Any]


class Sighting(NamedTuple):
    """Where a rule found something, and what can be done about it."""

    path: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Lint:
    """One rule. An `error` is something that cannot work or must not be; a `warning` is perhaps meant so."""

    level: Level
    summary: str
    look: Callable[[Any], Iterator[Sighting]]


@dataclass(frozen=True, slots=True)
class FlowFinding:
    rule: str
    level: Level
    path: str
    message: str
    hint: str


def rules() -> list[str]:
    return [name for directory in lints.__path__ for name in catalogue.names(directory)]


def rule(name: str) -> Lint:
    """One rule by its name; Raises Fail if it does not exist."""
    found: Lint = catalogue.load("operable.flow.lints", name, "LINT", kind="lint rule")
    return found


def lint(manifest: Any, only: Sequence[str] = ()) -> list[FlowFinding]:
    """What the rules find, in the order of the rules' names."""
    found = []
    for name in only or rules():
        asked = rule(name)
        # Names of members are shown, and a name can be a secret as well.
        found += [FlowFinding(name, asked.level, *map(mask_shapes, seen)) for seen in asked.look(manifest)]
    return found


# The tasks of any JSON value that is meant to be a manifest, each with its path: for readers that must not stumble.
# The validator says what is wrong with a shape; here a wrong shape is simply not a task. Handlers of `on_failure` count
# as tasks that are triggered by the failure of their owner.
@dataclass(frozen=True, slots=True)
class TaskPlace:
    """One task or handler."""

    path: str
    workflow_path: str
    task: Json
    id: str | None
    parent: str | None  # None for what has a schedule
    handles_failure: bool  # starts when its parent failed
    is_handler: bool  # written as `on_failure` of its parent

    @property
    def enabled(self) -> bool:
        return self.task.get("enabled") is not False


def objects(value: Any, path: str) -> Iterator[tuple[str, Json]]:
    """(path, item) for each object of an array."""
    if isinstance(value, list):
        yield from ((f"{path}[{index}]", item) for index, item in enumerate(value) if isinstance(item, dict))


def block(owner: Json, name: str) -> Json:
    """A member that is an object; an empty one where it is something else."""
    found = owner.get(name)
    return found if isinstance(found, dict) else {}


def text(owner: Json, name: str) -> str | None:
    """A member that is a text."""
    found = owner.get(name)
    return found if isinstance(found, str) else None


def workflows(manifest: Any) -> Iterator[tuple[str, Json]]:
    if isinstance(manifest, dict):
        yield from objects(manifest.get("workflows"), "$.workflows")


def places(manifest: Any) -> list[list[TaskPlace]]:
    """The tasks and handlers of each workflow."""
    return [list(_in_workflow(path, workflow)) for path, workflow in workflows(manifest)]


def _in_workflow(workflow_path: str, workflow: Json) -> Iterator[TaskPlace]:
    for path, task in objects(workflow.get("tasks"), f"{workflow_path}.tasks"):
        trigger = block(task, "trigger")
        identifier = text(task, "id")
        yield TaskPlace(
            path,
            workflow_path,
            task,
            identifier,
            text(trigger, "parent"),
            handles_failure=trigger.get("on") == "failure",
            is_handler=False,
        )
        handler = task.get("on_failure")
        if isinstance(handler, dict):
            made = text(handler, "id") or (identifier and f"{identifier}.failure")
            yield TaskPlace(
                f"{path}.on_failure",
                workflow_path,
                handler,
                made,
                identifier,
                handles_failure=True,
                is_handler=True,
            )


def cycles(tasks: Sequence[TaskPlace]) -> list[list[TaskPlace]]:
    """Groups of tasks that trigger each other in a circle. Each task has one parent, so circles do not share tasks."""
    by_id = {task.id: task for task in tasks if task.id is not None}
    found: list[list[TaskPlace]] = []
    settled: set[str] = set()
    for start in by_id:
        way: list[str] = []
        here: str | None = start
        while here is not None and here in by_id and here not in settled:
            settled.add(here)
            way.append(here)
            here = by_id[here].parent
        if here is not None and here in way:
            found.append([by_id[name] for name in reversed(way[way.index(here) :])])
    return found


def reached(tasks: Sequence[TaskPlace]) -> set[str]:
    """Paths of the tasks that something can start: a schedule, or a parent that is itself reached and enabled."""
    children: dict[str | None, list[TaskPlace]] = {}
    for task in tasks:
        children.setdefault(task.parent, []).append(task)
    found: set[str] = set()
    ready = [task for task in children.get(None, []) if task.enabled]
    while ready:
        task = ready.pop()
        if task.path in found:
            continue
        found.add(task.path)
        if task.id is not None:
            ready += [child for child in children.get(task.id, []) if child.enabled]
    return found
