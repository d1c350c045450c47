"""What one part of a manifest says about another: references to profiles, and whether demanded trust can be reached."""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.findings import Findings

# Block -> (array of profiles, its name in messages).
_REFERENCES = {
    "identity": ("identity_profiles", "identity"),
    "authorization_proof": ("authorization_proof_profiles", "authorization_proof"),
    "authorization": ("authorization_profiles", "authorization"),
    "evidence": ("evidence_profiles", "evidence"),
}


def check_cross_references(findings: Findings, manifest: dict[str, Any]) -> None:
    """In workflow and task order: dangling references, then trust that cannot be satisfied."""
    known = {array: _profiles(manifest, array) for array, _ in _REFERENCES.values()}
    for index, workflow in _objects(manifest.get("workflows")):
        path = f"$.workflows[{index}]"
        _check_owner(findings, workflow, path, known)
        for position, task in _objects(workflow.get("tasks")):
            place = f"{path}.tasks[{position}]"
            _check_owner(findings, task, place, known)
            _check_trust(findings, workflow, path, task, place, known["identity_profiles"])
            handler = task.get("on_failure")
            if isinstance(handler, dict):
                _check_owner(findings, handler, f"{place}.on_failure", known)
                _check_trust(
                    findings, workflow, path, handler, f"{place}.on_failure", known["identity_profiles"]
                )


def _objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(value, list):
        yield from ((index, item) for index, item in enumerate(value) if isinstance(item, dict))


def _profiles(manifest: dict[str, Any], array: str) -> dict[str, dict[str, Any]]:
    return {
        profile["id"]: profile
        for _, profile in _objects(manifest.get(array))
        if isinstance(profile.get("id"), str)
    }


def _check_owner(
    findings: Findings, owner: dict[str, Any], path: str, known: dict[str, dict[str, dict[str, Any]]]
) -> None:
    for name, (array, word) in _REFERENCES.items():
        block = owner.get(name)
        ref = block.get("ref") if isinstance(block, dict) else None
        if isinstance(ref, str) and ref and ref not in known[array]:
            findings.error(f"{path}.{name}.ref", f'references unknown {word} profile "{ref}"')


def _check_trust(
    findings: Findings,
    workflow: dict[str, Any],
    workflow_path: str,
    task: dict[str, Any],
    task_path: str,
    profiles: dict[str, dict[str, Any]],
) -> None:
    ceiling = max_autonomy(workflow, task, profiles)
    own = _member(task, "contract", "required_trust_level")
    required = own if own is not None else _member(workflow, "contract", "required_trust_level")
    if required not in vocabulary.TRUST_LEVELS or ceiling not in vocabulary.TRUST_LEVELS:
        return
    if vocabulary.TRUST_LEVELS.index(required) > vocabulary.TRUST_LEVELS.index(ceiling):
        place = task_path if own is not None else workflow_path
        findings.error_once(
            f"{place}.contract.required_trust_level",
            f'must not exceed resolved identity max_autonomy "{ceiling}"',
        )


def max_autonomy(
    workflow: dict[str, Any], task: dict[str, Any], profiles: dict[str, dict[str, Any]]
) -> str | None:
    """The most that the identity of this task may do by itself."""
    for owner in (task, workflow):
        found = _member(owner, "identity", "trust", "constraints", "max_autonomy")
        if found is not None:
            return found if isinstance(found, str) else None
    ref = _member(task, "identity", "ref")
    ref = ref if ref is not None else _member(workflow, "identity", "ref")
    profile = profiles.get(ref) if isinstance(ref, str) else None
    found = _member(profile, "trust", "constraints", "max_autonomy")
    return found if isinstance(found, str) else None


def _member(value: Any, *names: str) -> Any:
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value
