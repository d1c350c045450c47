"""The handoff artifact, version 4: what exactly a scheduler is asked to run, as one document with one digest.

Proofs, approvals and evidence on the other side are bound to that digest. The document contains no command, no
environment and no credential, only their hashes and names. Of the three shapes that were published, this is the
newest: members that have nothing to say are there as null.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.canonical import canonical_digest, hash_object, hash_optional_text, hash_text
from operable.flow.compile.binding import (
    child_environment,
    execution_binding,
    proof_binding,
    real_folder,
    task_hash,
)
from operable.flow.compile.job.binding import BINDING_VERSION, job_binding_digest
from operable.flow.compile.plan import normal_shell
from operable.flow.contracts import entry, known
from operable.flow.errors import FlowError
from operable.flow.manifest import inheritance
from operable.flow.manifest.failure_handlers import ExpandedManifest
from operable.flow.manifest.inheritance import Json, first

SCHEMA = "openclaw.scheduler.handoff-artifact"
CANONICALIZATION = {"name": "json-sort-v1", "version": 1, "digest": "sha256", "undefined": "null"}
# What a runtime must enforce before it is given an artifact.
V4_FEATURES = (
    "handoff_v4_artifact artifact_bound_proofs signed_or_provider_verified_evidence provider_session_cache "
    "credential_presentation source_run_bound_delegation immutable_runtime_events"
).split()
_EXECUTION_BINDING = 2
_PROVEN = ("jwt", "detached-signature", "certificate")
_KINDS = {"shellCommand": "shell", "agentTurn": "prompt", "systemEvent": "system"}
# What of a proof says how it is verified, next to the proof itself.
_CONTEXT = (
    "jwks_uri public_key_hash allowed_signers principal namespace ca_certificate_hash ca_certificate_from_hash verify"
).split()


_DEEPEST = 16


def handoff_fields(
    manifest: ExpandedManifest,
    workflow: Json,
    task: Json,
    plan: Json,
    job: Json,
    *,
    ambient: Mapping[str, str],
    base: str,
) -> Json:
    """The four fields that version 4 adds to a job; `job` has its defaults (`job_binding.rebound`)."""
    environment = child_environment(ambient, (task.get("shell") or {}).get("env"))
    binding = execution_binding(
        manifest, workflow, task, environment=environment, base=base, version=_EXECUTION_BINDING
    )
    artifact = _artifact(manifest, workflow, task, plan, job, binding, environment, base)
    return {
        "handoff_version": 4,
        "handoff_artifact_digest": canonical_digest(artifact),
        "handoff_artifact_payload": artifact,
        "effective_task_hash": task_hash(binding),
    }


def declared_evidence(evidence: Json | None) -> Json | None:
    """Evidence as a v4 job declares it: bound to its payload and its provider's configuration, which it does not contain."""
    if evidence is None:
        return None
    return {
        **evidence,
        "methods": evidence["methods"] or _methods(evidence["provider"]),
        "provider_config": None,
        "payload_hash": hash_object(evidence["payload"]),
        "provider_config_hash": hash_object(evidence["provider_config"]),
    }


def _methods(provider: str | None) -> list[str]:
    """Those that a provider has when its profile names none: a v4 job must say how its evidence is made."""
    return list(entry("evidences", provider).methods) if provider in known("evidences") else []


def _artifact(
    manifest: Json,
    workflow: Json,
    task: Json,
    plan: Json,
    job: Json,
    binding: Json,
    environment: Mapping[str, str],
    base: str,
) -> Json:
    identity = inheritance.effective_identity(manifest, workflow, task)
    proof = inheritance.effective_proof(manifest, workflow, task)
    authorization = inheritance.effective_authorization(manifest, workflow, task)
    evidence = inheritance.effective_evidence(manifest, workflow, task)
    execution = plan["execution"]
    return {
        "schema": SCHEMA,
        "artifact_schema_version": 1,
        "handoff_version": 4,
        "scheduler_schema_min": 29,
        "canonicalization": CANONICALIZATION,
        "execution_binding_version": _EXECUTION_BINDING,
        "scheduler_job_binding": {"version": BINDING_VERSION, "digest": job_binding_digest(job)},
        "manifest": {
            "version": binding["manifest_version"],
            "digest": binding["manifest_digest"],
            **plan["source"],
        },
        "compiled": {
            "target": "openclaw-scheduler",
            "job_id": plan["id"],
            "effective_task_hash": task_hash(binding),
            "source": plan["source"],
        },
        "lifecycle": {
            "enabled": bool(job["enabled"]),
            "delete_after_run": bool(job["delete_after_run"]),
            "target": {name: execution[name] for name in ("session_target", "agent_id", "payload_kind")},
        },
        "command": _command(task, plan, job, environment, base),
        "runtime": {
            "timeout_ms": job["run_timeout_ms"],
            "instance_id": {"kind": "deferred", "source": "run.id"},
        },
        "approval": {
            "required": bool(job["approval_required"]),
            **{name: job[f"approval_{name}"] for name in ("timeout_s", "auto", "risk_level", "approver_scope")},
        },
        "identity": identity_section(identity, binding["identity"], execution["session_target"]),
        "contract": _contract(plan, job),
        "authorization_proof": _proof(proof),
        "authorization": {
            "ref": (authorization or {}).get("ref"),
            "provider": (authorization or {}).get("provider"),
            "policy_digest": hash_object((authorization or {}).get("provider_config")),
            "on_error": (authorization or {}).get("on_error"),
            "request_hash": hash_object((authorization or {}).get("request")),
            "decision_hash": hash_object((authorization or {}).get("decision")),
        },
        "evidence": _evidence(evidence),
        "verification": {
            "shell_sha256": hash_optional_text(job["verify_shell"]),
            "timeout_s": job["verify_timeout_s"],
            "on_failure": job["verify_on_failure"],
        },
        "output": {
            name: job[f"output_{name}"]
            for name in (
                "format", "store_limit_bytes", "excerpt_limit_bytes", "summary_limit_bytes", "offload_threshold_bytes",
            )
        },
        "child_credential_policy": plan["child_credential_policy"],
        "intent": {"mode": plan["intent"]["mode"], "read_only": bool(plan["intent"]["read_only"])},
        "delegation": delegation_section(identity, plan),
    }  # fmt: skip


def _command(task: Json, plan: Json, job: Json, environment: Mapping[str, str], base: str) -> Json:
    shell = task.get("shell")
    payload = normal_shell(shell) if shell is not None else None
    arguments = [hash_text(argument) for argument in payload["args"]] if payload else []
    message = hash_optional_text(job["payload_message"])
    keys = sorted(environment, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return {
        "kind": _KINDS[plan["execution"]["payload_kind"]],
        "program": payload["program"] if payload else None,
        "args_count": len(arguments),
        "args_sha256": arguments,
        # Of a prompt too, as of a list of nothing: readers compare it with the two members above, whatever they are.
        "argv_sha256": canonical_digest([payload["program"] if payload else None, *arguments]),
        "cwd": real_folder(payload["cwd"], base) if payload else None,
        "stdin_sha256": hash_optional_text(payload["stdin"]) if payload else None,
        "prompt_sha256": None if payload else hash_optional_text(task.get("prompt")),
        "input_sha256": None,
        "payload_message_sha256": message,
        "env": {
            "declared_env_sha256": hash_object((shell or {}).get("env")),
            "effective_env_keys": keys if payload else [],
            "effective_env_value_sha256": {name: hash_text(environment[name]) for name in keys}
            if payload
            else {},
        },
    }


def _contract(plan: Json, job: Json) -> Json:
    contract = plan["contract"]
    paths = contract["allowed_paths"]
    return {
        **{name: contract[name] for name in ("required_trust_level", "trust_enforcement", "sandbox")},
        "allowed_paths_sha256": None if paths is None else canonical_digest(paths),
        **{name: contract[name] for name in ("network", "max_cost_usd", "audit")},
        "postcondition": {
            "output_format": plan["output"]["format"],
            "verify_shell_sha256": hash_optional_text(job["verify_shell"]),
            "verify_timeout_s": job["verify_timeout_s"],
            "verify_on_failure": job["verify_on_failure"],
        },
    }


def _proof(proof: Json | None) -> Json:
    block, bound = proof or {}, proof_binding(proof)
    proven = block.get("method") in _PROVEN
    return {
        "ref": block.get("ref"),
        "method": block.get("method"),
        "issuer": block.get("issuer"),
        "audience": block.get("audience"),
        "claims_hash": hash_object(block.get("claims")),
        "proof_source_hash": hash_object(block.get("proof")),
        "verification_context_hash": bound and canonical_digest({name: bound[name] for name in _CONTEXT}),
        "artifact_binding_required": proven,
        "replay_protection_required": proven,
        "revocation_check_required": proven,
    }


def _evidence(evidence: Json | None) -> Json:
    block = declared_evidence(evidence) or {}
    payload: Mapping[str, Any] = block.get("payload") or {}
    return {
        "ref": block.get("ref"),
        "provider": block.get("provider"),
        "methods": block.get("methods") or [],
        "payload_bind": payload.get("bind") or [],
        "payload_hash": block.get("payload_hash"),
        "provider_config_hash": block.get("provider_config_hash"),
        "verify_required": bool((block.get("verify") or {}).get("required")),
        "retention": None,
        # A runtime that takes artifacts refuses evidence that any user could have written.
        "signed_or_provider_verified_required": evidence is not None,
    }


# The identity that a handed-off task runs as: what the artifact says of identity, of presenting credentials, and of
# delegation.
#
# It never contains the credentials themselves: a source is there as its hash, a target as the name of a variable or
# file.


def identity_section(identity: Json | None, binding: Json, session_target: str) -> Json:
    subject, trust = binding["subject"], binding["trust"]
    return {
        "ref": binding["ref"],
        "provider": binding["provider"],
        "scope": binding["scope"],
        "subject_kind": subject["kind"],
        "subject_principal": subject["principal"],
        "subject_hash": canonical_digest(subject),
        "auth_hash": canonical_digest(binding["auth"]),
        "trust_level": trust["level"],
        "delegation_mode": subject["delegation_mode"],
        "presentation": _presentation((identity or {}).get("presentation") or {}, session_target),
    }


def _presentation(presentation: Json, session_target: str) -> Json:
    bindings = [_binding(each, presentation, session_target) for each in presentation.get("bindings") or []]
    media = {each["medium"] for each in bindings} - {"none"}
    if len(media) > 1:
        raise FlowError(
            "HANDOFF_PRESENTATION_MIXED_MEDIA", "presentation bindings of one task must use one medium"
        )
    return {
        "mode": first(presentation.get("handoff"), "none"),
        "handoff": media.pop() if media else "none",
        "bindings": bindings,
        "default_redaction": presentation.get("default_redaction"),
        "cleanup": first(presentation.get("cleanup"), "always"),
    }


def _binding(binding: Json, presentation: Json, session_target: str) -> Json:
    target = binding.get("target") or {}
    kind = first(target.get("kind"), "none")
    medium = {
        "env": "gateway-env-header" if session_target == "isolated" else "env",
        "file": "temp-file",
        "stdin": "stdin",
    }.get(kind, "none")
    return {
        "name": first(binding.get("name"), binding["source"]),
        "medium": medium,
        "env_key": target.get({"env": "name", "file": "expose_as"}.get(kind, "")),
        "file_name": first(target.get("name"), target.get("prefix")) if kind == "file" else None,
        "source_hash": hash_text(binding["source"]),
        "required": first(binding.get("required"), True),
        "redact": first(binding.get("redact"), presentation.get("default_redaction"), True),
        "format": first(binding.get("format"), "raw"),
    }


def delegation_section(identity: Json | None, plan: Json) -> Json:
    policy: Json = ((identity or {}).get("auth") or {}).get("delegation_policy") or {}
    mode = ((identity or {}).get("subject") or {}).get("delegation_mode")
    delegators = _names(policy.get("allowed_delegators") or [])
    return {
        "mode": mode,
        "source_binding": "source_run_id",
        "max_depth": first(policy.get("max_depth"), plan["budgets"]["max_iterations"], _DEEPEST),
        "target_scope": (identity or {}).get("scope"),
        "allowed_delegators": delegators,
        "allowed_delegators_hash": canonical_digest(delegators),
        "require_grant_per_hop": first(policy.get("require_grant_per_hop"), mode not in (None, "none")),
    }


def _names(delegators: list[Any]) -> list[str]:
    """Sorted and unique. The validator takes any list here; a reader of artifacts takes names only."""
    for position, name in enumerate(delegators):
        if not isinstance(name, str):
            place = f"artifact.delegation.allowed_delegators[{position}]"
            raise FlowError("HANDOFF_ARTIFACT_INVALID", f"{place} must be string")
    return sorted(set(delegators), key=lambda name: name.encode("utf-16-be", "surrogatepass"))
