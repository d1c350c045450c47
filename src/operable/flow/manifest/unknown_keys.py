"""Members that no version of the manifest knows: errors at every level in 0.2; in 0.1 warnings, at four levels only."""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.findings import Findings

# Blocks whose members also have fixed keys: block -> member -> keys. Other maps are free-form.
_NESTED = {
    "authorization_proof": {"verify": vocabulary.VERIFY_REQUIRED},
    "authorization": {"request": vocabulary.REQUEST, "decision": vocabulary.DECISION},
    "evidence": {"payload": vocabulary.PAYLOAD, "verify": vocabulary.VERIFY_REQUIRED},
}


def warn_unknown(findings: Findings, value: dict[str, Any], path: str, known: list[str]) -> None:
    for name in value:
        if name not in known:
            findings.warn(f"{path}.{name}", f'unknown key "{name}"')


def check_unknown_keys(findings: Findings, manifest: dict[str, Any]) -> None:
    """The whole manifest, by the rules of 0.2."""
    for path, name in unknown_keys(manifest):
        findings.error(f"{path}.{name}", f'unknown key "{name}" is not allowed in a v0.2 manifest')


def unknown_keys(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(path of the object, unknown member) for every level of a manifest."""
    yield from _unknown(manifest, "$", vocabulary.MANIFEST)
    for array, known in vocabulary.PROFILES.items():
        for index, profile in _objects(manifest.get(array)):
            path = f"$.{array}[{index}]"
            yield from _unknown(profile, path, known)
            yield from _in_profile(array, profile, path)
    for index, workflow in _objects(manifest.get("workflows")):
        path = f"$.workflows[{index}]"
        yield from _unknown(workflow, path, vocabulary.WORKFLOW)
        yield from _in_blocks(workflow, path)
        for position, task in _objects(workflow.get("tasks")):
            place = f"{path}.tasks[{position}]"
            yield from _unknown(task, place, vocabulary.TASK)
            yield from _in_blocks(task, place)
            handler = task.get("on_failure")
            if isinstance(handler, dict):
                yield from _unknown(handler, f"{place}.on_failure", vocabulary.ON_FAILURE)
                yield from _in_blocks(handler, f"{place}.on_failure")


def _objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(value, list):
        yield from ((index, item) for index, item in enumerate(value) if isinstance(item, dict))


def _unknown(value: Any, path: str, known: list[str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((path, name) for name in value if name not in known)


def _in_blocks(owner: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for name, known in vocabulary.BLOCKS.items():
        block = owner.get(name)
        if not isinstance(block, dict):
            continue  # most blocks of most tasks: this loop is half of what a large manifest costs
        yield from _unknown(block, f"{path}.{name}", known)
        for member, inner in _NESTED.get(name, {}).items():
            yield from _unknown(block.get(member), f"{path}.{name}.{member}", inner)
    identity = owner.get("identity")
    if isinstance(identity, dict):
        yield from _unknown(identity, f"{path}.identity", vocabulary.IDENTITY)
        yield from _in_identity(identity, f"{path}.identity")


def _in_identity(owner: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    yield from _unknown(owner.get("subject"), f"{path}.subject", vocabulary.SUBJECT)
    auth = owner.get("auth")
    yield from _unknown(auth, f"{path}.auth", vocabulary.AUTH)
    if isinstance(auth, dict):
        yield from _unknown(
            auth.get("delegation_policy"), f"{path}.auth.delegation_policy", vocabulary.DELEGATION_POLICY
        )
    trust = owner.get("trust")
    yield from _unknown(trust, f"{path}.trust", vocabulary.TRUST)
    if isinstance(trust, dict):
        yield from _unknown(trust.get("constraints"), f"{path}.trust.constraints", vocabulary.CONSTRAINTS)
    presentation = owner.get("presentation")
    yield from _unknown(presentation, f"{path}.presentation", vocabulary.PRESENTATION)
    if isinstance(presentation, dict):
        for index, binding in _objects(presentation.get("bindings")):
            place = f"{path}.presentation.bindings[{index}]"
            yield from _unknown(binding, place, vocabulary.BINDING)
            yield from _unknown(binding.get("target"), f"{place}.target", vocabulary.BINDING_TARGET)


def _in_profile(array: str, profile: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    if array == "identity_profiles":
        yield from _in_identity(profile, path)
        return
    yield from _unknown(profile.get("verify"), f"{path}.verify", vocabulary.VERIFY_REQUIRED)
    if array == "authorization_proof_profiles":
        proof = profile.get("proof")
        yield from _unknown(proof, f"{path}.proof", ["value_from"])
        if isinstance(proof, dict):
            yield from _unknown(proof.get("value_from"), f"{path}.proof.value_from", vocabulary.VALUE_FROM)
        yield from _unknown(
            profile.get("ca_certificate_from"), f"{path}.ca_certificate_from", vocabulary.VALUE_FROM
        )
    elif array == "authorization_profiles":
        yield from _unknown(profile.get("request"), f"{path}.request", vocabulary.REQUEST)
        yield from _unknown(profile.get("decision"), f"{path}.decision", vocabulary.DECISION)
    else:
        yield from _unknown(profile.get("payload"), f"{path}.payload", vocabulary.PAYLOAD)
