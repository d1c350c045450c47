"""What is asked of a scheduler before the first write, and the order in which it takes jobs.

A scheduler judges more of a job than a manifest's validator knows: which regular expressions it can search with, which
session keys it accepts, what its evidence may be bound to. One that keeps artifacts can judge without writing, so it is
asked about every job that would change, and one refusal stops everything: nothing is half applied because of the last
job. A parent is written before its children, which is the only order that a scheduler takes them in, and it follows a
chain of triggers only so far.
"""

from collections.abc import Iterable
from typing import Any

from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json
from operable.flow.scheduler.client import SchedulerClient
from operable.flow.scheduler.reconciliation import Step
from operable.flow.scheduler.specs import create_spec, update_spec

_LONGEST_CHAIN = 10  # triggers from a root to its last descendant
# The scheduler's word for a job that it judged; any other says that it could not judge.
_JUDGED = ("COMMAND_FAILED", "HANDOFF_")


def parents_first(steps: Iterable[Step]) -> list[Step]:
    """The same steps, each after the step of its parent; what is removed comes last, and children before their parents."""
    waiting = {step.job_id: step for step in steps}
    written: list[Step] = []
    removed: list[Step] = []
    while waiting:
        chain: list[Step] = []
        step: Step | None = next(iter(waiting.values()))
        while step is not None:
            chain.append(waiting.pop(step.job_id))
            step = waiting.get(str(_row(step).get("parent_id")))
        for found in reversed(chain):
            (removed if found.action == "pruned" else written).append(found)
    return written + removed[::-1]


def _row(step: Step) -> Json:
    return step.job or step.stored or {}


def require_followed(jobs: list[Json]) -> None:
    """FlowError when a chain of triggers is longer than a scheduler follows."""
    parents: dict[str, Any] = {job["id"]: job["parent_id"] for job in jobs}
    for job in jobs:
        length, ancestor = 0, job["parent_id"]
        while ancestor is not None and length <= _LONGEST_CHAIN:
            length, ancestor = length + 1, parents.get(ancestor)
        if length > _LONGEST_CHAIN:
            raise FlowError(
                "unsupported_capability",
                f'Job "{job["name"]}" is more than {_LONGEST_CHAIN} triggers away from its root, '
                "which the scheduler does not follow",
            )


def require_taken(steps: list[Step], client: SchedulerClient, version: str) -> None:
    """FlowError with everything that the scheduler would refuse of these steps. Only one of version 4 can be asked."""
    if version != "4":
        return
    refused = [found for step in steps if (found := _refusal(step, client, version)) is not None]
    if not refused:
        return
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    raise FlowError(
        "invalid_argument",
        f'The scheduler refuses job "{refused[0]["name"]}": {refused[0]["message"]}{more}',
        reported_as="JOBS_REFUSED",
        refused=refused,
        actions=[],
        not_applied=[step.report() for step in steps],
    )


def _refusal(step: Step, client: SchedulerClient, version: str) -> Json | None:
    if step.job is None or step.action == "unchanged":
        return None
    try:
        if step.action == "updated":
            client.update(step.job_id, update_spec(step.job, version), dry_run=True)
        else:
            client.add(create_spec(step.job, version), dry_run=True)
    except FlowError as problem:
        if not str(problem.details.get("scheduler_code")).startswith(_JUDGED):
            raise
        return {
            "job_id": step.job_id,
            "name": step.name,
            "message": problem.message,
            "scheduler_code": problem.details["scheduler_code"],
        }
    return None
