"""The shape of the four kinds of profiles; what a provider asks of its profile is checked later, in 0.2 only."""

from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.blocks import check_authorization_members, check_payload, check_required
from operable.flow.manifest.findings import Findings
from operable.flow.manifest.identity_rules import check_identity_parts

_PROOF_TEXTS = (
    "issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate".split()
)


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
            if isinstance(identifier, str):
                if identifier in seen:
                    findings.error(f"{path}.id", "must be unique")
                seen.add(identifier)
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
