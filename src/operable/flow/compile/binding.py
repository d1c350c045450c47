"""What exactly would run, as one object and one hash: approvals, proofs and evidence are bound to it.

The binding names everything that could change what a task does: the manifest's digest, the command with the hashes of
its arguments and of every variable of its environment, timeouts, approval, identity, contract, authorization,
evidence, verification. Secrets are in it only as hashes. A change of any of them is another hash, and what was
approved for the old one is void.
"""

import os
from collections.abc import Iterator, Mapping

from operable.flow.canonical import canonical_digest, hash_object, hash_optional_text, hash_text, stable_id
from operable.flow.compile.plan import normal_approval, normal_intent, normal_output, normal_shell
from operable.flow.manifest import inheritance
from operable.flow.manifest.failure_handlers import ExpandedManifest, expand
from operable.flow.manifest.inheritance import Json, first

# Variables that a child gets from the caller, besides LC_*.
PASSED = (
    "PATH HOME TMPDIR TMP TEMP LANG SHELL USER LOGNAME TZ TERM SystemRoot WINDIR ComSpec PATHEXT"
).split()


def child_environment(ambient: Mapping[str, str], declared: Mapping[str, str] | None) -> dict[str, str]:
    """The caller's allow-listed variables, overlaid by those of the task."""
    passed = {name: value for name, value in ambient.items() if name in PASSED or name.startswith("LC_")}
    return {**passed, **(declared or {})}


def real_folder(cwd: str | None, base: str) -> str:
    """The real path of a task's folder; the resolved path when it does not exist."""
    return os.path.realpath(os.path.join(base, cwd or "."))


def execution_binding(
    manifest: ExpandedManifest,
    workflow: Json,
    task: Json,
    *,
    environment: Mapping[str, str],
    base: str,
    timeout_ms: int | None = None,
    instance_id: str | None = None,
    version: int = 1,
) -> Json:
    """The binding of one task. `environment` is the child's, whole; `base` the folder that relative paths mean."""
    prompt = task.get("prompt")
    return {
        "binding_version": version,
        "manifest_version": manifest["version"],
        "manifest_digest": manifest.original_digest,
        "source": {"workflow_id": workflow["id"], "task_id": task["id"]},
        "enabled": first(task.get("enabled"), True),
        "target": task["target"],
        "command": _command(task.get("shell"), environment, base),
        "prompt_hash": hash_optional_text(prompt),
        "runtime": {
            "timeout_ms": first(timeout_ms, (task.get("runtime") or {}).get("timeout_ms")),
            "instance_id": instance_id,
        },
        "approval": normal_approval(task.get("approval")),
        "identity": identity_binding(inheritance.effective_identity(manifest, workflow, task)),
        "contract": inheritance.merged_contract(workflow, task),
        "authorization_proof": proof_binding(inheritance.effective_proof(manifest, workflow, task)),
        "authorization": authorization_binding(inheritance.effective_authorization(manifest, workflow, task)),
        "evidence": evidence_binding(inheritance.effective_evidence(manifest, workflow, task)),
        "child_credential_policy": inheritance.child_policy(workflow, task),
        "verify": inheritance.merged_verify(workflow, task),
        "output": normal_output(task),
        "intent": normal_intent(task),
        "delete_after_run": task.get("delete_after_run"),
    }


def task_hash(binding: Json) -> str:
    return canonical_digest(binding)


def _command(shell: Json | None, environment: Mapping[str, str], base: str) -> Json | None:
    if shell is None:
        return None
    payload = normal_shell(shell)
    names = sorted(environment, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return {
        "program": payload["program"],
        "args_hashes": [hash_text(argument) for argument in payload["args"]],
        "args_count": len(payload["args"]),
        "cwd": real_folder(payload["cwd"], base),
        "env_keys": names,
        "env_hashes": {name: hash_text(environment[name]) for name in names},
        "stdin_hash": hash_optional_text(payload["stdin"]),
    }


def identity_binding(identity: Json | None) -> Json:
    """Always the full skeleton; of a flat identity only nulls (its words count through the manifest's digest)."""
    full = identity or {"provider": None, **inheritance.overlay_identity(None, None)}
    subject, auth = full["subject"], full["auth"]
    return {
        "ref": full["ref"],
        "scope": full["scope"],
        "provider": full["provider"],
        "subject": {
            **{
                name: subject[name]
                for name in "kind principal display_name run_as issuer delegation_mode".split()
            },
            "attributes_hash": hash_object(subject["attributes"]),
        },
        "auth": {
            **{
                name: auth[name]
                for name in "mode scopes audience resource cache refresh required delegation_policy".split()
            },
            "provider_config_hash": hash_object(full.get("provider_config", auth["provider_config"])),
            "inputs_hash": hash_object(auth["inputs"]),
        },
        "trust": full["trust"],
        "presentation": full["presentation"],
    }


def proof_binding(proof: Json | None) -> Json | None:
    if proof is None:
        return None
    return {
        **{name: proof[name] for name in "ref method issuer audience jwks_uri".split()},
        "public_key_hash": hash_optional_text(proof["public_key"]),
        **{name: proof[name] for name in "allowed_signers principal namespace".split()},
        "ca_certificate_hash": hash_optional_text(proof["ca_certificate"]),
        "ca_certificate_from_hash": hash_object(proof["ca_certificate_from"]),
        "proof_hash": hash_object(proof["proof"]),
        "claims_hash": hash_object(proof["claims"]),
        "verify": proof["verify"],
    }


def authorization_binding(authorization: Json | None) -> Json | None:
    if authorization is None:
        return None
    return {
        "ref": authorization["ref"],
        "provider": authorization["provider"],
        "provider_config_hash": hash_object(authorization["provider_config"]),
        "on_error": authorization["on_error"],
        "request": authorization["request"],
        "decision": authorization["decision"],
    }


def evidence_binding(evidence: Json | None) -> Json | None:
    if evidence is None:
        return None
    return {
        "ref": evidence["ref"],
        "provider": evidence["provider"],
        "methods": evidence["methods"],
        "provider_config_hash": hash_object(evidence["provider_config"]),
        "payload": evidence["payload"],
        "verify": evidence["verify"],
    }


def task_digests(manifest: Json) -> Iterator[Json]:
    """For every task of a valid manifest: what it would be bound to in this folder, with this environment."""
    expanded = expand(manifest)
    for workflow in expanded["workflows"]:
        for task in workflow["tasks"]:
            environment = child_environment(os.environ, (task.get("shell") or {}).get("env"))
            binding = execution_binding(expanded, workflow, task, environment=environment, base=os.getcwd())
            yield {
                "workflow_id": workflow["id"],
                "task_id": task["id"],
                "compiled_id": stable_id(workflow["id"], task["id"]),
                "manifest_digest": expanded.original_digest,
                "effective_task_hash": task_hash(binding),
            }
