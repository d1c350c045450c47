"""Which members each level of a manifest may have, as data; and the check for members that no version knows.

Used for the unknown-key rules of the validator (errors in 0.2, warnings at four levels in 0.1), for "did you mean" in
the linter, and by the JSON Schema. `command` is listed where it once was allowed, because its presence has a message
of its own.

Unknown members are errors at every level in 0.2; in 0.1 they are warnings, at four levels only.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.findings import Findings

MANIFEST = (
    "version workflows identity_profiles authorization_proof_profiles authorization_profiles evidence_profiles"
).split()
WORKFLOW = (
    "id name model_policy identity contract tasks authorization_proof authorization evidence child_credential_policy verify"
).split()
TASK = (
    "id name enabled prompt command shell target model_policy intent output budgets schedule trigger delivery reliability "
    "runtime approval context session identity contract on_failure auth_profile delete_after_run authorization_proof "
    "authorization evidence child_credential_policy verify"
).split()
ON_FAILURE = (
    "id name enabled prompt command shell target delay_s condition model_policy intent output budgets delivery reliability "
    "runtime approval context session identity contract delete_after_run authorization_proof authorization evidence"
).split()

# Blocks of a task (and of a workflow or handler, where it has them): member -> the keys inside.
BLOCKS = {
    "target": "session_target agent_id payload_kind".split(),
    "shell": "program args env cwd stdin".split(),
    "model_policy": "provider model thinking".split(),
    "intent": "mode read_only".split(),
    "output": "preview_bytes offload retrieve format".split(),
    "budgets": "max_iterations max_fanout max_context_items max_pending_approvals max_queued_dispatches".split(),
    "schedule": "cron tz".split(),
    "trigger": "parent on delay_s condition".split(),
    "delivery": "mode channel to".split(),
    "reliability": "guarantee max_retries overlap_policy".split(),
    "runtime": "timeout_ms".split(),
    "approval": "required policy risk_level approver_scope timeout_s auto".split(),
    "context": "retrieval limit".split(),
    "session": "preferred_key".split(),
    "contract": "sandbox allowed_paths network max_cost_usd audit required_trust_level trust_enforcement".split(),
    "verify": "shell timeout_seconds on_failure".split(),
    "authorization_proof": "ref claims verify".split(),
    "authorization": "ref provider_config on_error request decision".split(),
    "evidence": "ref payload verify".split(),
}

IDENTITY = "ref scope subject auth trust presentation".split()
FLAT_IDENTITY = "principal run_as attestation".split()
SUBJECT = "kind principal display_name run_as issuer delegation_mode attributes".split()
AUTH = "mode scopes audience resource cache refresh required delegation_policy provider_config inputs".split()
DELEGATION_POLICY = "max_depth allowed_delegators require_grant_per_hop".split()
TRUST = "level constraints".split()
CONSTRAINTS = "escalation max_autonomy escalation_timeout require_justification".split()
PRESENTATION = "bindings handoff cleanup default_redaction".split()
BINDING = "source target required redact format".split()
BINDING_TARGET = "kind name prefix expose_as".split()
VERIFY_REQUIRED = ["required"]
REQUEST = ["include"]
DECISION = "allow_values deny_values escalate_values".split()
PAYLOAD = "bind context format".split()
VALUE_FROM = "env file literal command".split()

IDENTITY_PROFILE = "id provider subject auth trust presentation provider_config".split()
PROOF_PROFILE = (
    "id method issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate ca_certificate_from "
    "proof claims verify"
).split()
AUTHORIZATION_PROFILE = "id provider provider_config on_error request decision".split()
EVIDENCE_PROFILE = "id provider methods provider_config payload verify".split()
PROFILES = {
    "identity_profiles": IDENTITY_PROFILE,
    "authorization_proof_profiles": PROOF_PROFILE,
    "authorization_profiles": AUTHORIZATION_PROFILE,
    "evidence_profiles": EVIDENCE_PROFILE,
}

# Enumerations, in the order in which messages list them.
VERSIONS = ["0.1", "0.2"]
SESSION_TARGETS = ["main", "isolated", "shell"]
PAYLOAD_KINDS = ["systemEvent", "agentTurn", "shellCommand"]
TRIGGERS = ["success", "failure", "complete"]
TRUST_LEVELS = ["untrusted", "restricted", "supervised", "autonomous"]
CHILD_POLICIES = ["none", "inherit", "downscope", "independent"]
PROOF_METHODS = ["jwt", "detached-signature", "certificate", "none"]
SUBJECT_KINDS = ["agent", "service", "workload", "user", "composite", "delegated-agent", "unknown"]
DELEGATION_MODES = ["none", "on-behalf-of", "impersonation"]
AUTH_MODES = ["none", "service", "delegated", "on-behalf-of", "impersonation", "exchange"]


# Blocks whose members also have fixed keys: block -> member -> keys. Other maps are free-form.
_NESTED = {
    "authorization_proof": {"verify": VERIFY_REQUIRED},
    "authorization": {"request": REQUEST, "decision": DECISION},
    "evidence": {"payload": PAYLOAD, "verify": VERIFY_REQUIRED},
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
    yield from _unknown(manifest, "$", MANIFEST)
    for array, known in PROFILES.items():
        for index, profile in _objects(manifest.get(array)):
            path = f"$.{array}[{index}]"
            yield from _unknown(profile, path, known)
            yield from _in_profile(array, profile, path)
    for index, workflow in _objects(manifest.get("workflows")):
        path = f"$.workflows[{index}]"
        yield from _unknown(workflow, path, WORKFLOW)
        yield from _in_blocks(workflow, path)
        for position, task in _objects(workflow.get("tasks")):
            place = f"{path}.tasks[{position}]"
            yield from _unknown(task, place, TASK)
            yield from _in_blocks(task, place)
            handler = task.get("on_failure")
            if isinstance(handler, dict):
                yield from _unknown(handler, f"{place}.on_failure", ON_FAILURE)
                yield from _in_blocks(handler, f"{place}.on_failure")


def _objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    if isinstance(value, list):
        yield from ((index, item) for index, item in enumerate(value) if isinstance(item, dict))


def _unknown(value: Any, path: str, known: list[str]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((path, name) for name in value if name not in known)


def _in_blocks(owner: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for name, known in BLOCKS.items():
        block = owner.get(name)
        if not isinstance(block, dict):
            continue  # most blocks of most tasks: this loop is half of what a large manifest costs
        yield from _unknown(block, f"{path}.{name}", known)
        for member, inner in _NESTED.get(name, {}).items():
            yield from _unknown(block.get(member), f"{path}.{name}.{member}", inner)
    identity = owner.get("identity")
    if isinstance(identity, dict):
        yield from _unknown(identity, f"{path}.identity", IDENTITY)
        yield from _in_identity(identity, f"{path}.identity")


def _in_identity(owner: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    yield from _unknown(owner.get("subject"), f"{path}.subject", SUBJECT)
    auth = owner.get("auth")
    yield from _unknown(auth, f"{path}.auth", AUTH)
    if isinstance(auth, dict):
        yield from _unknown(
            auth.get("delegation_policy"), f"{path}.auth.delegation_policy", DELEGATION_POLICY
        )
    trust = owner.get("trust")
    yield from _unknown(trust, f"{path}.trust", TRUST)
    if isinstance(trust, dict):
        yield from _unknown(trust.get("constraints"), f"{path}.trust.constraints", CONSTRAINTS)
    presentation = owner.get("presentation")
    yield from _unknown(presentation, f"{path}.presentation", PRESENTATION)
    if isinstance(presentation, dict):
        for index, binding in _objects(presentation.get("bindings")):
            place = f"{path}.presentation.bindings[{index}]"
            yield from _unknown(binding, place, BINDING)
            yield from _unknown(binding.get("target"), f"{place}.target", BINDING_TARGET)


def _in_profile(array: str, profile: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    if array == "identity_profiles":
        yield from _in_identity(profile, path)
        return
    yield from _unknown(profile.get("verify"), f"{path}.verify", VERIFY_REQUIRED)
    if array == "authorization_proof_profiles":
        proof = profile.get("proof")
        yield from _unknown(proof, f"{path}.proof", ["value_from"])
        if isinstance(proof, dict):
            yield from _unknown(proof.get("value_from"), f"{path}.proof.value_from", VALUE_FROM)
        yield from _unknown(profile.get("ca_certificate_from"), f"{path}.ca_certificate_from", VALUE_FROM)
    elif array == "authorization_profiles":
        yield from _unknown(profile.get("request"), f"{path}.request", REQUEST)
        yield from _unknown(profile.get("decision"), f"{path}.decision", DECISION)
    else:
        yield from _unknown(profile.get("payload"), f"{path}.payload", PAYLOAD)
