"""What applying a manifest to any backend has in common: options, matching jobs with stored ones, proofs, the report.

Theory of operation. A backend compiles the manifest, reads what is stored, and `matched` says for each job what happens to
it: a list of `JobStep`s. All checks are made on that list, proofs are verified, and only then is anything written. The same
list, without the writing, is the plan that people look at first; its fingerprints say later whether the world has changed
since. What runs the jobs is none of this module's business.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Literal

from operable.flow.canonical import canonical_digest, spelled, stable_id
from operable.flow.compile.binding import child_environment, real_folder
from operable.flow.contracts import Surroundings
from operable.flow.errors import FlowError, NotAllowed, invalid_argument
from operable.flow.manifest import inheritance
from operable.flow.manifest.failure_handlers import expand
from operable.flow.manifest.inheritance import Json
from operable.flow.run.caller import TaskCommands
from operable.flow.trust.proof_verification import verify_proof
from operable.kernel.data_class import dataclass

ADOPT_BY = ("id", "name")
Action = Literal["created", "updated", "adopted", "unchanged", "pruned"]
Mode = Literal["schedule", "trigger"]


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """How to apply. `prune` also removes jobs that the manifest's workflows no longer have, `only_prune` does only that."""

    dry_run: bool = False
    explain: bool = False
    adopt_by: str = "id"
    prune: bool = False
    only_prune: bool = False
    skip_unchanged: bool = False
    allow_proof_command: bool = False  # proofs may come from commands that the manifest names
    # The fingerprints of a plan that was looked at: anything else is refused, and nothing is written.
    expected: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class JobStep:
    """What happens to one job: created, updated, adopted, unchanged or pruned."""

    action: Action
    job_id: str
    name: str
    invocation_mode: Mode
    job: Json | None = None  # None: pruned
    stored: Json | None = None
    changes: tuple[Json, ...] = field(default=())
    verification: Json | None = None
    manifest_digest: str = ""

    @property
    def adopted_from(self) -> str | None:
        return str((self.stored or {})["id"]) if self.action == "adopted" else None

    @property
    def fingerprint(self) -> str:
        """Of everything that was decided about it, and of the manifest, because a job does not show all of it."""
        return canonical_digest(
            [
                self.action,
                self.job_id,
                self.adopted_from,
                list(self.changes),
                _content(self.job),
                self.manifest_digest,
            ]
        )

    def report(self) -> Json:
        """The entry of `actions`, in the order of its members that clients know."""
        found: Json = {"action": self.action, "job_id": self.job_id}
        if self.adopted_from is not None:
            found["adopted_from_job_id"] = self.adopted_from
        found |= {"name": self.name, "invocation_mode": self.invocation_mode}
        if self.verification is not None:
            found["authorization_proof_verification"] = self.verification["verification"]
        return found

    def view(self) -> Json:
        """The same with what would change."""
        return {**self.report(), "changes": list(self.changes)}


def _content(job: Json | None) -> Any:
    return None if job is None else {name: value for name, value in job.items() if name != "source"}


def adopt_by_of(value: Any) -> str:
    if value is None:
        return "id"
    if value not in ADOPT_BY:
        raise invalid_argument(f"Invalid adoptBy value: {spelled(value)}. Accepted values: id, name")
    return str(value)


def matched(
    jobs: list[Json],
    stored: Iterable[Json],
    adopt_by: str,
    compare: Callable[[Json, Json], list[Json]],
) -> list[JobStep]:
    """A step for every job. `compare(stored, job)` lists what an update would change."""
    by_id = {row["id"]: row for row in stored if isinstance(row.get("id"), str)}
    own = {job["id"] for job in jobs}  # whatever they are called: none of these can be adopted by another
    by_name: dict[str, list[Json]] = {}
    for row in by_id.values():
        if isinstance(row.get("name"), str) and row["id"] not in own:
            by_name.setdefault(row["name"], []).append(row)
    if adopt_by == "name":
        _require_unique(jobs)
    steps = []
    for job in jobs:
        existing = by_id.get(job["id"])
        action: Action = "updated"
        if existing is None and adopt_by == "name":
            same = by_name.get(job["name"], [])
            if len(same) > 1:
                message = "Cannot use --adopt-by name because existing scheduler jobs have duplicate names"
                raise invalid_argument(f"{message}: {job['name']}")
            existing, action = (same[0] if same else None), "adopted"
        if existing is None:
            steps.append(_step("created", job))
            continue
        changes = tuple(compare(existing, job))
        if action == "updated" and not changes:
            action = "unchanged"
        steps.append(_step(action, job, existing, changes))
    return steps


def _require_unique(jobs: list[Json]) -> None:
    twice = [name for name, count in Counter(job["name"] for job in jobs).items() if count > 1]
    if twice:
        message = "Cannot use --adopt-by name when compiled job names are not unique"
        raise invalid_argument(f"{message}: {', '.join(twice)}")


def _step(action: Action, job: Json, stored: Json | None = None, changes: tuple[Json, ...] = ()) -> JobStep:
    mode: Mode = "trigger" if job["parent_id"] else "schedule"
    return JobStep(action, job["id"], job["name"], mode, job, stored, changes)


def pruned_step(stored: Json) -> JobStep:
    mode: Mode = "trigger" if stored.get("parent_id") else "schedule"
    return JobStep("pruned", stored["id"], str(stored.get("name") or ""), mode, None, stored)


def chosen(steps: list[JobStep], options: ApplyOptions, manifest_digest: str) -> list[JobStep]:
    """The steps that the options ask for, bound to the manifest that they are made of."""
    return [
        replace(step, manifest_digest=manifest_digest)
        for step in steps
        if step.action == "pruned" or not options.only_prune
    ]


def require_expected(steps: list[JobStep], expected: tuple[str, ...] | None) -> None:
    """Refuse when the plan is not the one that was looked at."""
    if expected is None:
        return
    if tuple(step.fingerprint for step in steps if step.action != "unchanged") != expected:
        raise FlowError(
            "plan_changed", "What would be applied is not what was planned: something changed since"
        )


def verified_proofs(
    manifest: Json, features: Mapping[str, Any], options: ApplyOptions, surroundings: Surroundings
) -> dict[str, Json]:
    """By job id: the proofs that the backend will not verify itself, verified here. FlowError when one does not hold."""
    if features.get("authorization_proof_verification") or not manifest.get("authorization_proof_profiles"):
        return {}
    expanded, found = expand(manifest), {}
    for workflow in expanded["workflows"]:
        for task in workflow["tasks"]:
            proof = inheritance.effective_proof(expanded, workflow, task)
            if proof is None or (
                proof["method"] in (None, "none") and proof["verify"]["required"] is not True
            ):
                continue
            found[stable_id(workflow["id"], task["id"])] = {
                "source": {"workflow_id": workflow["id"], "task_id": task["id"]},
                "authorization_proof_ref": proof["ref"],
                "verification": _verified(proof, manifest, _around(workflow, task, options, surroundings)),
            }
    return found


def _around(workflow: Json, task: Json, options: ApplyOptions, surroundings: Surroundings) -> Surroundings:
    """What verifying the proof of one task may use: commands run under the task's contract."""
    if not options.allow_proof_command:
        return surroundings
    shell, base = task.get("shell") or {}, os.path.abspath(surroundings.cwd)
    commands = TaskCommands(
        contract=inheritance.merged_contract(workflow, task),
        cwd=real_folder(shell.get("cwd"), base),
        base=base,
        environment=child_environment(surroundings.environment, shell.get("env")),
        sandbox_mode=surroundings.environment.get("AGENTCLI_SANDBOX", ""),
    )
    return replace(surroundings, commands=commands.run)


def _verified(proof: Json, manifest: Json, around: Surroundings) -> Json | None:
    try:
        return verify_proof(proof, manifest, around)
    except NotAllowed as problem:
        if problem.flow_code != "commands_not_allowed":
            raise
        # The words that clients of this protocol know for a proof that was not available.
        message = f'Authorization proof not available for profile "{proof["ref"]}": {problem.message}'
        raise FlowError("authorization_proof_failed", message, allow="allowProofCommand") from None


def with_verifications(steps: list[JobStep], proofs: Mapping[str, Json]) -> list[JobStep]:
    return [replace(step, verification=proofs.get(step.job_id)) for step in steps]


def proofs_reported(proofs: Mapping[str, Json]) -> Json:
    return {"authorization_proof_verifications": list(proofs.values())} if proofs else {}
