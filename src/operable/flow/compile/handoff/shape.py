"""The shape of a handoff artifact: every member of every section, its type, and nothing else.

The shape is data. `problems` judges an artifact that was stored or sent, in the words that its other readers use;
`artifact_schema` is the same shape as JSON Schema, and `require_intact` judges a stored job together with its artifact.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from operable.flow.canonical import canonical_digest
from operable.flow.compile.handoff.artifact import CANONICALIZATION, SCHEMA
from operable.flow.compile.job.binding import BINDING_VERSION
from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json

_DIGEST = "^sha256:[0-9a-f]{64}$"
_SOURCE: Json = {"workflow_id": "string", "task_id": "string"}
_BINDING: Json = {
    "name": "string",
    "medium": ["none", "env", "temp-file", "stdin", "gateway-env-header"],
    "env_key": "string?",
    "file_name": "string?",
    "source_hash": "digest",
    "required": "boolean",
    "redact": "boolean",
    "format": "string",
}
# A word is a type, `?` allows null; a list is an enumeration; a tuple holds one constant; `[x]` is an array of x.
SHAPE: Json = {
    "schema": (SCHEMA,),
    "artifact_schema_version": (1,),
    "handoff_version": (4,),
    "scheduler_schema_min": (29,),
    "canonicalization": {name: (value,) for name, value in CANONICALIZATION.items()},
    "execution_binding_version": (2,),
    "scheduler_job_binding": {"version": (BINDING_VERSION,), "digest": "digest"},
    "manifest": {"version": "string", "digest": "digest", **_SOURCE},
    "compiled": {
        "target": ("openclaw-scheduler",),
        "job_id": "string",
        "effective_task_hash": "digest",
        "source": _SOURCE,
    },
    "lifecycle": {
        "enabled": "boolean",
        "delete_after_run": "boolean",
        "target": {
            "session_target": ["main", "isolated", "shell"],
            "agent_id": "string",
            "payload_kind": ["systemEvent", "agentTurn", "shellCommand"],
        },
    },
    "command": {
        "kind": ["shell", "prompt", "system"],
        "program": "string?",
        "args_count": "integer",
        "args_sha256": "[digest]",
        **dict.fromkeys(("argv_sha256",), "digest?"),
        "cwd": "string?",
        **dict.fromkeys(
            ("stdin_sha256", "prompt_sha256", "input_sha256", "payload_message_sha256"), "digest?"
        ),
        "env": {
            "declared_env_sha256": "digest?",
            "effective_env_keys": "[string]",
            "effective_env_value_sha256": "digests",
        },
    },
    "runtime": {
        "timeout_ms": "integer?",
        "instance_id": {"kind": ("deferred",), "source": ("run.id",)},
    },
    "approval": {
        "required": "boolean",
        "timeout_s": "integer?",
        **dict.fromkeys(("auto", "risk_level", "approver_scope"), "string?"),
    },
    "identity": {
        **dict.fromkeys(("ref", "provider", "scope", "subject_kind", "subject_principal"), "string?"),
        "subject_hash": "digest?",
        "auth_hash": "digest?",
        "trust_level": "string?",
        "delegation_mode": "string?",
        "presentation": {
            "mode": "string?",
            "handoff": _BINDING["medium"],
            "bindings": "[binding]",
            "default_redaction": "boolean?",
            "cleanup": "string?",
        },
    },
    "contract": {
        **dict.fromkeys(("required_trust_level", "trust_enforcement", "sandbox"), "string?"),
        "allowed_paths_sha256": "digest?",
        "network": "string?",
        "max_cost_usd": "number?",
        "audit": "string?",
        "postcondition": {
            "output_format": "string?",
            "verify_shell_sha256": "digest?",
            "verify_timeout_s": "integer?",
            "verify_on_failure": "string?",
        },
    },
    "authorization_proof": {
        **dict.fromkeys(("ref", "method", "issuer", "audience"), "string?"),
        **dict.fromkeys(("claims_hash", "proof_source_hash", "verification_context_hash"), "digest?"),
        **dict.fromkeys(
            ("artifact_binding_required", "replay_protection_required", "revocation_check_required"),
            "boolean",
        ),
    },
    "authorization": {
        "ref": "string?",
        "provider": "string?",
        "policy_digest": "digest?",
        "on_error": "string?",
        "request_hash": "digest?",
        "decision_hash": "digest?",
    },
    "evidence": {
        "ref": "string?",
        "provider": "string?",
        "methods": "[string]",
        "payload_bind": "[string]",
        "payload_hash": "digest?",
        "provider_config_hash": "digest?",
        "verify_required": "boolean",
        "retention": "string?",
        "signed_or_provider_verified_required": "boolean",
    },
    "verification": {"shell_sha256": "digest?", "timeout_s": "integer?", "on_failure": "string?"},
    "output": {
        "format": "string?",
        **dict.fromkeys(
            ("store_limit_bytes", "excerpt_limit_bytes", "summary_limit_bytes", "offload_threshold_bytes"),
            "integer",
        ),
    },
    "child_credential_policy": "string?",
    "intent": {"mode": "string", "read_only": "boolean"},
    "delegation": {
        "mode": "string?",
        "source_binding": ("source_run_id",),
        "max_depth": "integer",
        "target_scope": "string?",
        "allowed_delegators": "[string]",
        "allowed_delegators_hash": "digest?",
        "require_grant_per_hop": "boolean",
    },
}


def problems(artifact: Any, expected_digest: str | None = None) -> list[str]:
    """Everything that is wrong with an artifact, and with its digest when one is claimed."""
    found = list(_judged(artifact, SHAPE, "artifact"))
    if not found and expected_digest is not None and canonical_digest(artifact) != expected_digest:
        found.append("artifact digest does not match handoff_artifact_digest")
    return found


def require_intact(job: Json) -> Json:
    """The artifact of a stored v4 job; FlowError when it is not the one that was handed over for this job."""
    digest: Any = job.get("handoff_artifact_digest")
    artifact: Any = job.get("handoff_artifact_payload")
    if isinstance(artifact, str):
        try:
            artifact = json.loads(artifact)
        except ValueError:
            raise _invalid(job, ["handoff_artifact_payload must be JSON"]) from None
    if not isinstance(digest, str) or not re.fullmatch(_DIGEST, digest):
        raise _invalid(job, ["handoff_artifact_digest must be a sha256 digest"])
    found = problems(artifact, digest)
    if not found:
        compiled = artifact["compiled"]
        for member, stored in (("job_id", "id"), ("effective_task_hash", "effective_task_hash")):
            if compiled[member] != job.get(stored):
                found.append(f"artifact.compiled.{member} must equal the job's {stored}")
    if found:
        raise _invalid(job, found)
    intact: Json = artifact
    return intact


def artifact_schema() -> Json:
    """The shape as JSON Schema."""
    return _schema(SHAPE)


def _invalid(job: Json, errors: list[str]) -> FlowError:
    message = f'Stored handoff v4 job "{job.get("id")}" has an invalid artifact: {"; ".join(errors[:10])}'
    return FlowError("HANDOFF_ARTIFACT_INVALID", message, errors=errors)


def _judged(value: Any, shape: Any, path: str) -> Iterator[str]:
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            yield f"{path} must be object, received {_type(value)}"
            return
        for name, inner in shape.items():
            if name in value:
                yield from _judged(value[name], inner, f"{path}.{name}")
            else:
                yield f"{path}.{name} is required"
        yield from (f"{path}.{name} is not allowed" for name in value if name not in shape)
    elif isinstance(shape, tuple):
        if type(value) is not type(shape[0]) or value != shape[0]:
            yield f"{path} must equal {json.dumps(shape[0])}"
    elif isinstance(shape, list):
        if value not in shape:
            yield f"{path} must be one of {', '.join(shape)}"
    else:
        yield from _of_type(value, shape, path)


def _of_type(value: Any, word: str, path: str) -> Iterator[str]:
    if word.startswith("["):
        if not isinstance(value, list):
            yield f"{path} must be array, received {_type(value)}"
            return
        inner = _BINDING if word == "[binding]" else word[1:-1]
        for position, item in enumerate(value):
            yield from _judged(item, inner, f"{path}[{position}]")
    elif word == "digests":
        if not isinstance(value, dict):
            yield f"{path} must be object, received {_type(value)}"
            return
        for name, item in value.items():
            yield from _of_type(item, "digest", f"{path}.{name}")
    elif value is None and word.endswith("?"):
        return
    else:
        kind = word.removesuffix("?")
        wanted = "string" if kind == "digest" else kind
        if not (_type(value) == wanted or (wanted == "number" and _type(value) == "integer")):
            yield f"{path} must be {wanted}, received {_type(value)}"
        elif kind == "digest" and not re.fullmatch(_DIGEST, value):
            yield f"{path} must be a sha256 digest"


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _schema(shape: Any) -> Json:
    if isinstance(shape, dict):
        properties = {name: _schema(inner) for name, inner in shape.items()}
        closed: Json = {"type": "object", "additionalProperties": False, "required": list(shape)}
        return {**closed, "properties": properties}
    if isinstance(shape, tuple):
        return {"const": shape[0]}
    if isinstance(shape, list):
        return {"enum": shape}
    if shape.startswith("["):
        return {"type": "array", "items": _schema(_BINDING if shape == "[binding]" else shape[1:-1])}
    if shape == "digests":
        return {"type": "object", "additionalProperties": _schema("digest")}
    kind, nullable = shape.removesuffix("?"), shape.endswith("?")
    base: Json = {"type": "string", "pattern": _DIGEST} if kind == "digest" else {"type": kind}
    return {**base, "type": [base["type"], "null"]} if nullable else base
