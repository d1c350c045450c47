"""Which members each level of a manifest knows: the table of the contract, level by level, in both versions."""

from typing import Any

import pytest

from tests.flow.manifests import Json, changed, errors, manifest, shell_task, warnings
from tests.requirement import requirement

BLOCKS = {
    "target": "session_target agent_id payload_kind",
    "shell": "program args env cwd stdin",
    "model_policy": "provider model thinking",
    "intent": "mode read_only",
    "output": "preview_bytes offload retrieve format",
    "budgets": "max_iterations max_fanout max_context_items max_pending_approvals max_queued_dispatches",
    "delivery": "mode channel to",
    "reliability": "guarantee max_retries overlap_policy",
    "runtime": "timeout_ms",
    "approval": "required policy risk_level approver_scope timeout_s auto",
    "context": "retrieval limit",
    "session": "preferred_key",
    "contract": "sandbox allowed_paths network max_cost_usd audit required_trust_level trust_enforcement",
    "authorization_proof": "ref claims verify",
    "authorization_proof.verify": "required",
    "authorization": "ref provider_config on_error request decision",
    "authorization.request": "include",
    "authorization.decision": "allow_values deny_values escalate_values",
    "evidence": "ref payload verify",
    "evidence.payload": "bind context format",
    "evidence.verify": "required",
    "identity": "ref scope subject auth trust presentation",
}
OF_TASKS = {
    "schedule": "cron tz",
    "trigger": "parent on delay_s condition",
    "verify": "shell timeout_seconds on_failure",
}
IDENTITY = {
    "subject": "kind principal display_name run_as issuer delegation_mode attributes",
    "auth": "mode scopes audience resource cache refresh required delegation_policy provider_config inputs",
    "auth.delegation_policy": "max_depth allowed_delegators require_grant_per_hop",
    "trust": "level constraints",
    "trust.constraints": "escalation max_autonomy escalation_timeout require_justification",
    "presentation": "bindings handoff cleanup default_redaction",
    "presentation.bindings.0": "source target required redact format",
    "presentation.bindings.0.target": "kind name prefix expose_as",
}
MANIFEST = "version workflows identity_profiles authorization_proof_profiles authorization_profiles evidence_profiles"
WORKFLOW = "id name model_policy identity contract tasks authorization_proof authorization evidence child_credential_policy verify"
TASK = (
    "id name enabled prompt command shell target model_policy intent output budgets schedule trigger delivery reliability runtime "
    "approval context session identity contract on_failure auth_profile delete_after_run authorization_proof authorization "
    "evidence child_credential_policy verify"
)
HANDLER = (
    "id name enabled prompt command shell target delay_s condition model_policy intent output budgets delivery reliability runtime "
    "approval context session identity contract delete_after_run authorization_proof authorization evidence"
)
W, T, H = "workflows.0", "workflows.0.tasks.0", "workflows.0.tasks.0.on_failure"
OF_WORKFLOWS = ("model_policy", "contract", "authorization", "evidence", "identity")
LEVELS = {
    "": MANIFEST,
    W: WORKFLOW,
    T: TASK,
    H: HANDLER,
    **{f"{T}.{name}": known for name, known in (BLOCKS | OF_TASKS).items()},
    **{f"{H}.{name}": known for name, known in BLOCKS.items()},
    **{f"{W}.{name}": known for name, known in (BLOCKS | OF_TASKS).items() if name.startswith((*OF_WORKFLOWS, "verify"))},
    **{f"{place}.identity.{name}": known for place in (W, T, H) for name, known in IDENTITY.items()},
    "identity_profiles.0": "id provider subject auth trust presentation provider_config",
    **{f"identity_profiles.0.{name}": known for name, known in IDENTITY.items()},
    "authorization_proof_profiles.0": (
        "id method issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate ca_certificate_from "
        "proof claims verify"
    ),
    "authorization_proof_profiles.0.proof": "value_from",
    "authorization_proof_profiles.0.proof.value_from": "env file literal command",
    "authorization_proof_profiles.0.ca_certificate_from": "env file literal command",
    "authorization_proof_profiles.0.verify": "required",
    "authorization_profiles.0": "id provider provider_config on_error request decision",
    "authorization_profiles.0.request": "include",
    "authorization_profiles.0.decision": "allow_values deny_values escalate_values",
    "evidence_profiles.0": "id provider methods provider_config payload verify",
    "evidence_profiles.0.payload": "bind context format",
    "evidence_profiles.0.verify": "required",
}  # fmt: skip


def spelled(path: str) -> str:
    return "".join(f"[{name}]" if name.isdigit() else f".{name}" for name in path.split(".") if name)


def holding(path: str, members: Json, version: str = "0.2") -> Any:
    """A manifest whose object at `path` gets these members and loses none of what leads to others."""
    value: Any = manifest(shell_task(on_failure={"prompt": "x"}), version=version)
    for array in ("identity_profiles", "authorization_proof_profiles", "authorization_profiles", "evidence_profiles"):  # fmt: skip
        value[array] = [{"id": "x"}]
    owner = value
    for name in path.split(".") if path else []:
        if name.isdigit():
            owner.append({}) if not owner else None
            owner = owner[int(name)]
        else:
            owner = owner.setdefault(name, [] if name == "bindings" else {})
    for name, given in members.items():
        owner.setdefault(name, given)
    return value


def unknown(found):
    return [(path, message) for path, message in found if message.startswith("unknown key")]


@requirement("agentcli:validation:unknown-keys")
@pytest.mark.parametrize("path", LEVELS, ids=lambda path: spelled(path) or "$")
def test_in_0_2_a_level_knows_its_members_and_no_others(path):
    members = dict.fromkeys(LEVELS[path].split())

    assert unknown(errors(holding(path, {**members, "zzz": None}))) == [
        (f"${spelled(path)}.zzz", 'unknown key "zzz" is not allowed in a v0.2 manifest')
    ]


@requirement("agentcli:validation:unknown-keys")
@pytest.mark.parametrize("version", ["0.1", "0.3", None, 0.2])
def test_in_every_other_version_four_levels_warn_and_the_rest_is_silent(version):
    for path, known in LEVELS.items():
        value = holding(path, {**dict.fromkeys(known.split()), "zzz": None}) | {"version": version}
        assert unknown(errors(value)) == [], path
        told = [(f"${spelled(path)}.zzz", 'unknown key "zzz"')] if path in ("", W, T, H) else []
        assert unknown(warnings(value)) == told, path


@requirement("agentcli:validation:unknown-keys")
@pytest.mark.parametrize(
    "path",
    [
        f"{T}.identity.auth.provider_config", f"{T}.identity.auth.inputs", f"{T}.identity.subject.attributes",
        f"{T}.authorization_proof.claims", f"{T}.authorization.provider_config", f"{T}.evidence.payload.context", f"{T}.shell.env",
        "identity_profiles.0.provider_config", "authorization_proof_profiles.0.claims", "authorization_profiles.0.provider_config",
        "evidence_profiles.0.provider_config", "evidence_profiles.0.payload.context",
    ],
)  # fmt: skip
def test_maps_without_a_form_take_everything(path):
    assert unknown(errors(holding(path, {"zzz": "x"}))) == []


@requirement("agentcli:validation:unknown-keys")
@pytest.mark.parametrize("name", ["verify", "child_credential_policy", "schedule", "trigger", "auth_profile"])
def test_a_handler_does_not_know_what_only_tasks_have(name):
    place = "$.workflows[0].tasks[0].on_failure"

    assert unknown(errors(holding(H, {name: None}))) == [
        (f"{place}.{name}", f'unknown key "{name}" is not allowed in a v0.2 manifest')
    ]
    assert warnings(holding(H, {name: None}, "0.1")) == [(f"{place}.{name}", f'unknown key "{name}"')]


@requirement("agentcli:validation:identity-known", "agentcli:validation:unknown-keys")
@pytest.mark.parametrize("path", [W, T, H])
def test_the_flat_form_of_an_identity_is_of_0_1_only(path):
    flat = {"principal": "me", "run_as": "root", "attestation": "seen"}
    old, new = (
        changed(manifest(shell_task(on_failure={"prompt": "x"}), version=version), f"{path}.identity", flat)
        for version in ("0.1", "0.2")
    )

    assert (errors(old), warnings(old)) == ([], [])
    assert errors(new) == [
        (f"${spelled(path)}.identity.{name}", f'unknown key "{name}" is not allowed in a v0.2 manifest')
        for name in flat
    ]


@requirement("agentcli:validation:identity-known")
@pytest.mark.parametrize("path", [W, T, H])
def test_identity_and_contract_are_known_in_0_1_in_both_forms(path):
    value = manifest(shell_task(on_failure={"prompt": "x"}), version="0.1")
    for identity in ({"principal": "me"}, {"scope": "s", "subject": {"kind": "agent"}}):
        declared = changed(value, f"{path}.identity", identity)
        declared = changed(declared, f"{path}.contract", {"audit": "none"})
        assert (errors(declared), warnings(declared)) == ([], [])


@requirement("agentcli:validation:unknown-keys")
def test_a_stray_block_of_a_workflow_is_unknown_and_judged_by_its_own_keys():
    value = changed(manifest(), "workflows.0.shell", {"program": 5, "zzz": 1})

    assert errors(value) == [
        ("$.workflows[0].shell", 'unknown key "shell" is not allowed in a v0.2 manifest'),
        ("$.workflows[0].shell.zzz", 'unknown key "zzz" is not allowed in a v0.2 manifest'),
    ]
