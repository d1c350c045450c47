"""Is this a manifest? `validate` answers with all errors and warnings, with the paths, messages and order of the contract.

The phases, whose order can be seen from outside: version; unknown top-level keys (0.1); profiles; workflows with
their tasks; unknown keys everywhere (0.2); what providers and proof methods ask of their profiles (0.2); references
and trust. Nothing that a manifest contains makes it raise. It reads only the manifest: what only a run can
show is not judged here.
"""

from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.blocks import (
    check_authorization_members,
    check_condition,
    check_execution_blocks,
    check_invocation,
    check_payload,
    check_plain_block,
    check_references,
    check_required,
    check_surface,
    check_target,
    check_verify,
)
from operable.flow.manifest.cross_references import check_cross_references
from operable.flow.manifest.findings import Findings
from operable.flow.manifest.profile_rules import check_identity, check_identity_parts, check_providers
from operable.flow.manifest.vocabulary import check_unknown_keys, warn_unknown

MANIFEST_VERSION = "0.2"


_PROOF_TEXTS = (
    "issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate".split()
)


def validate(manifest: Any) -> dict[str, Any]:
    """`{ok, errors, warnings}`, each entry with `path` and `message`."""
    findings = Findings()
    if not isinstance(manifest, dict):
        findings.error("$", "manifest must be an object")
        return findings.result()
    version = manifest.get("version")
    if not (isinstance(version, str) and version in vocabulary.VERSIONS):
        findings.error("$.version", f"must be one of: {', '.join(vocabulary.VERSIONS)}")
    strict = version == MANIFEST_VERSION
    if not strict:
        warn_unknown(findings, manifest, "$", vocabulary.MANIFEST)
    check_profiles(findings, manifest)
    _check_workflows(findings, manifest.get("workflows"), strict=strict)
    if strict:
        check_unknown_keys(findings, manifest)
        check_providers(findings, manifest)
    check_cross_references(findings, manifest)
    return findings.result()


def _check_workflows(findings: Findings, workflows: Any, *, strict: bool) -> None:
    if not isinstance(workflows, list) or not workflows:
        findings.error("$.workflows", "must be a non-empty array")
        return
    seen: set[str] = set()
    for index, workflow in enumerate(workflows):
        path = f"$.workflows[{index}]"
        if not isinstance(workflow, dict):
            findings.error(path, "must be an object")
            continue
        if not strict:
            warn_unknown(findings, workflow, path, vocabulary.WORKFLOW)
        identifier = workflow.get("id")
        findings.identifier(identifier, f"{path}.id", required=True)
        findings.unique(identifier, f"{path}.id", seen)
        _check_workflow(findings, workflow, path, strict=strict)


def _check_workflow(findings: Findings, workflow: dict[str, Any], path: str, *, strict: bool) -> None:
    findings.string(workflow.get("name"), f"{path}.name", required=True)
    check_plain_block(findings, workflow, path, "model_policy")
    check_identity(findings, workflow.get("identity"), f"{path}.identity")
    check_plain_block(findings, workflow, path, "contract")
    check_references(findings, workflow, path)
    _check_child_policy(findings, workflow, path)
    check_verify(findings, workflow.get("verify"), f"{path}.verify")
    tasks = workflow.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        findings.error(f"{path}.tasks", "must be a non-empty array")
        return
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        place = f"{path}.tasks[{index}]"
        if isinstance(task, dict):
            _check_task(findings, task, place, seen, strict=strict)
        else:
            findings.error(place, "must be an object")
    _check_expanded_ids(findings, tasks, path)
    _check_parents(findings, tasks, path)


def _check_task(findings: Findings, task: dict[str, Any], path: str, seen: set[str], *, strict: bool) -> None:
    if not strict:
        warn_unknown(findings, task, path, vocabulary.TASK)
    identifier = task.get("id")
    findings.identifier(identifier, f"{path}.id", required=True)
    findings.unique(identifier, f"{path}.id", seen, " within the workflow")
    findings.string(task.get("name"), f"{path}.name", required=True)
    findings.boolean(task.get("enabled"), f"{path}.enabled")
    session = check_target(findings, task.get("target"), f"{path}.target")
    check_surface(findings, task, path, session)
    check_invocation(findings, task, path)
    check_execution_blocks(findings, task, path)
    _warn_about_intent(findings, task, path, session)
    _check_child_policy(findings, task, path)
    check_verify(findings, task.get("verify"), f"{path}.verify")
    findings.string(task.get("auth_profile"), f"{path}.auth_profile")
    findings.boolean(task.get("delete_after_run"), f"{path}.delete_after_run")
    handler = findings.object(task.get("on_failure"), f"{path}.on_failure")
    if handler is not None:
        _check_handler(findings, handler, f"{path}.on_failure", strict=strict)


def _check_handler(findings: Findings, handler: dict[str, Any], path: str, *, strict: bool) -> None:
    if not strict:
        warn_unknown(findings, handler, path, vocabulary.ON_FAILURE)
    findings.identifier(handler.get("id"), f"{path}.id")
    findings.string(handler.get("name"), f"{path}.name")
    findings.boolean(handler.get("enabled"), f"{path}.enabled")
    findings.integer(handler.get("delay_s"), f"{path}.delay_s", 0)
    check_condition(findings, handler.get("condition"), f"{path}.condition")
    target = handler.get("target")
    session: str | None = "shell" if handler.get("shell") is not None else "isolated"
    if target is not None:
        declared = check_target(findings, target, f"{path}.target")
        session = declared or (session if isinstance(target, dict) else None)
    check_surface(findings, handler, path, session)
    check_execution_blocks(findings, handler, path)
    findings.boolean(handler.get("delete_after_run"), f"{path}.delete_after_run")


def _check_child_policy(findings: Findings, owner: dict[str, Any], path: str) -> None:
    findings.enum(
        owner.get("child_credential_policy"), f"{path}.child_credential_policy", vocabulary.CHILD_POLICIES
    )


def _warn_about_intent(findings: Findings, task: dict[str, Any], path: str, session: str | None) -> None:
    intent = task.get("intent")
    if session != "shell" or not isinstance(intent, dict):
        return
    if intent.get("mode") == "plan" or intent.get("read_only") is True:
        findings.warn(
            f"{path}.intent",
            "shell targets do not get a first-class planning boundary in every backend; intent may be advisory only",
        )


def _check_expanded_ids(findings: Findings, tasks: list[Any], path: str) -> None:
    """Tasks and the handlers that will be made of `on_failure` share one namespace."""
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        if not isinstance(task, dict):
            continue
        places = [(task.get("id"), f"{path}.tasks[{index}].id")]
        handler = task.get("on_failure")
        if isinstance(handler, dict):
            own = handler.get("id")
            made = own if own is not None else f"{task.get('id')}.failure"
            places.append((made, f"{path}.tasks[{index}].on_failure.id"))
        for identifier, place in places:
            findings.unique(identifier, place, seen, " after shorthand expansion")


def _check_parents(findings: Findings, tasks: list[Any], path: str) -> None:
    declared = {task["id"] for task in tasks if isinstance(task, dict) and isinstance(task.get("id"), str)}
    for index, task in enumerate(tasks):
        if not isinstance(task, dict):
            continue
        place = f"{path}.tasks[{index}]"
        trigger = task.get("trigger")
        parent = trigger.get("parent") if isinstance(trigger, dict) else None
        if isinstance(parent, str) and parent:
            if parent == task.get("id"):
                findings.error(f"{place}.trigger.parent", "must not reference its own task id")
            elif parent not in declared:
                findings.error(
                    f"{place}.trigger.parent", "must reference another task id in the same workflow"
                )
        approval = task.get("approval")
        required = approval.get("required") if isinstance(approval, dict) else None
        # Truth is JavaScript's: an empty list or object is something.
        if (required or isinstance(required, dict | list)) and trigger is None:
            findings.warn(
                f"{place}.approval.required",
                "approval_required is most useful on triggered tasks; "
                "root scheduled tasks usually should not block on approval",
            )


# The shape of the four kinds of profiles; what a provider asks of its profile is checked later, in 0.2 only.


def check_profiles(findings: Findings, manifest: dict[str, Any]) -> None:
    """All four arrays, in their order."""
    for name, check in (
        ("identity_profiles", _check_identity_profile),
        ("authorization_proof_profiles", _check_proof_profile),
        ("authorization_profiles", _check_authorization_profile),
        ("evidence_profiles", _check_evidence_profile),
    ):
        seen: set[str] = set()
        for index, profile in enumerate(findings.array(manifest.get(name), f"$.{name}") or []):
            path = f"$.{name}[{index}]"
            if not isinstance(profile, dict):
                findings.error(path, "must be an object")
                continue
            identifier = profile.get("id")
            findings.identifier(identifier, f"{path}.id", required=True)
            findings.unique(identifier, f"{path}.id", seen)
            check(findings, profile, path)


def _check_identity_profile(findings: Findings, profile: dict[str, Any], path: str) -> None:
    findings.string(profile.get("provider"), f"{path}.provider", required=True)
    check_identity_parts(findings, profile, path)
    findings.object(profile.get("provider_config"), f"{path}.provider_config")


def _check_proof_profile(findings: Findings, profile: dict[str, Any], path: str) -> None:
    findings.enum(profile.get("method"), f"{path}.method", vocabulary.PROOF_METHODS)
    for name in _PROOF_TEXTS:
        findings.string(profile.get(name), f"{path}.{name}")
    _check_value_from(
        findings, profile.get("ca_certificate_from"), f"{path}.ca_certificate_from", literal=True
    )
    proof = findings.object(profile.get("proof"), f"{path}.proof")
    if proof is not None:
        _check_value_from(findings, proof.get("value_from"), f"{path}.proof.value_from", literal=False)
    findings.object(profile.get("claims"), f"{path}.claims")
    check_required(findings, profile.get("verify"), f"{path}.verify")


def _check_value_from(findings: Findings, value: Any, path: str, *, literal: bool) -> None:
    block = findings.object(value, path)
    if block is None:
        return
    sources = ["env", "file", "command"]
    for name in sources:
        findings.string(block.get(name), f"{path}.{name}")
    if literal:
        sources.append("literal")
        findings.string(block.get("literal"), f"{path}.literal")
    elif block.get("literal") is not None:
        findings.error(f"{path}.literal", "is not supported here")
    if all(block.get(name) is None for name in sources):
        known = "env, file, literal, or command" if literal else "env, file, or command"
        findings.error(path, f"must include at least one of: {known}")


def _check_authorization_profile(findings: Findings, profile: dict[str, Any], path: str) -> None:
    findings.string(profile.get("provider"), f"{path}.provider", required=True)
    check_authorization_members(findings, profile, path)


def _check_evidence_profile(findings: Findings, profile: dict[str, Any], path: str) -> None:
    findings.string(profile.get("provider"), f"{path}.provider", required=True)
    findings.unique_strings(profile.get("methods"), f"{path}.methods")
    findings.object(profile.get("provider_config"), f"{path}.provider_config")
    check_payload(findings, profile.get("payload"), f"{path}.payload")
    check_required(findings, profile.get("verify"), f"{path}.verify")
