"""Which task is meant: a workflow and a task of a valid manifest, by their ids.

Everything that acts on one task begins here, so that the messages for what cannot be found are the same everywhere. The
manifest is validated first and expanded once; the original is kept beside it, because digests are made of that.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from operable.flow.canonical import spelled
from operable.flow.compile.target import require_valid
from operable.flow.errors import invalid_argument
from operable.flow.manifest import inheritance
from operable.flow.manifest.failure_handlers import ExpandedManifest, expand
from operable.kernel.data_class import dataclass

Json = dict[str, Any]
PROFILES = "identity_profiles"
_DECLARED = (
    inheritance.effective_identity,
    inheritance.effective_proof,
    inheritance.effective_authorization,
    inheritance.effective_evidence,
)


@dataclass(frozen=True, slots=True)
class Selected:
    """One task. `manifest` is the expanded one."""

    original: Json
    manifest: ExpandedManifest
    workflow: Json
    task: Json

    @property
    def source(self) -> dict[str, str]:
        return {"workflow_id": self.workflow["id"], "task_id": self.task["id"]}

    @property
    def is_shell(self) -> bool:
        return bool(self.task["target"]["session_target"] == "shell")

    @property
    def governed(self) -> bool:
        """Whether identity, proof, authorization and evidence are acted on: in 0.2, and in 0.1 with identity profiles."""
        return self.original["version"] == "0.2" or bool(self.original.get(PROFILES))


def select(manifest: Any, task_id: Any, workflow_id: Any = None) -> Selected:
    """The task; FlowError with the validation result, or with the ids that there are."""
    if not isinstance(task_id, str) or not task_id:
        raise invalid_argument("taskId is required")
    require_valid(manifest)
    expanded = expand(manifest)
    workflow = workflow_of(expanded, workflow_id)
    return Selected(manifest, expanded, workflow, task_of(workflow, task_id))


def workflow_of(expanded: Mapping[str, Any], workflow_id: Any = None) -> Json:
    """The workflow of this id; without one, the only one."""
    workflows: list[Json] = expanded["workflows"]
    if workflow_id or isinstance(workflow_id, dict | list):
        for workflow in workflows:
            if workflow["id"] == workflow_id:
                return workflow
        raise invalid_argument(f"Workflow not found: {spelled(workflow_id)}")
    if len(workflows) > 1:
        available = ", ".join(workflow["id"] for workflow in workflows)
        raise invalid_argument(f"Multiple workflows found; specify --workflow. Available: {available}")
    return workflows[0]


def task_of(workflow: Mapping[str, Any], task_id: str) -> Json:
    tasks: list[Json] = workflow["tasks"]
    for task in tasks:
        if task["id"] == task_id:
            return task
    available = ", ".join(task["id"] for task in tasks)
    raise invalid_argument(f"Task not found: {task_id} in workflow {workflow['id']}. Available: {available}")


def value_commands(selected: Selected) -> Iterator[str]:
    """The shell lines that give the task its credentials and proofs."""
    if selected.governed:
        for effective in _DECLARED:
            yield from _commands_in(effective(selected.manifest, selected.workflow, selected.task))


def _commands_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _commands_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "command" and isinstance(item, str):
                yield item
            else:
                yield from _commands_in(item)
