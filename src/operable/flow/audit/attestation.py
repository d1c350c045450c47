"""Signed statements about what ran: the attestation of a command, and the payload of evidence.

An attestation binds an execution's id, its principal and the hash of its command; it is made before the result is known.
Evidence is the whole story with hashes in place of contents, signed by an evidence provider. Verification compares what
was signed with the audit record it is beside: a good signature under another record proves nothing.
"""

import json
import re
import time
from collections.abc import Mapping
from typing import Any

from operable.flow.canonical import canonical_digest, hash_text, parse
from operable.flow.contracts import Evidence, Surroundings, entry, known
from operable.flow.errors import FlowError
from operable.flow.trust.keys.signers import NAMESPACE, believed_signers, signing_key
from operable.gate.signatures import ssh_signatures
from operable.gate.signatures.allowed_signers import may_sign

Json = dict[str, Any]
PAYLOAD_SCHEMA = "agentcli.evidence.payload"
SECTIONS = (
    "declared_identity resolved_identity authorization_proof authorization actor_context contract command result verify"
).split()
# Other programs leave out what a task has not; these every task has.
_ALWAYS_RECORDED = ("contract", "command", "result")
PAYLOAD_MEMBERS = ["schema", "version", "execution_id", "timestamp", "source", "bindings", *SECTIONS]
_SENSITIVE = re.compile(
    r"(?:^|_)(?:token|secret|password|private_key|credentials?|cookie|client_assertion|api_key|authorization_header)(?:_|$)"
)
_METHOD = "ssh-signature"


def command_hash(program: str, args: list[str], cwd: str | None) -> str:
    return hash_text("\0".join([program, *args, *([f"cwd:{cwd}"] if cwd else [])]))


def attestation_text(
    *, command_hash: str, execution_id: str, principal: str, source: Mapping[str, str], timestamp: str
) -> str:
    """The text that is signed; its members always are in this order."""
    members = {
        "v": 1,
        "command_hash": command_hash,
        "execution_id": execution_id,
        "principal": principal,
        "source": dict(source),
        "timestamp": timestamp,
    }
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


def attest(
    text: str, surroundings: Surroundings, *, signer: str = "ssh", key: str | None = None
) -> tuple[Json | None, str | None]:
    """The attestation, or None and a note that says why it is missing. A missing key is not an error: the task runs."""
    if signer == "none":
        return None, "signing disabled"
    if signer != "ssh":
        raise FlowError("invalid_argument", f'Unknown signing provider: "{signer}"')
    try:
        found = signing_key(key, surroundings)
    except FlowError as error:
        return None, error.message
    if found is None:
        return None, "no signing key found"
    return {
        "method": _METHOD,
        "key_fingerprint": ssh_signatures.fingerprint(ssh_signatures.public_blob(found.public_key())),
        "namespace": NAMESPACE,
        "signed_payload": text,
        "signature": ssh_signatures.sign(found, text.encode(), NAMESPACE),
    }, None


def verify_attestation(
    attestation: Mapping[str, Any],
    record: Mapping[str, Any],
    surroundings: Surroundings,
    *,
    allowed_signers: str | None = None,
) -> Json:
    """Whether a believed signer signed it, and whether it speaks of this record."""
    principal = str(record.get("principal_used") or record.get("principal") or "")
    result = {
        "verified": False,
        "principal": principal,
        "method": attestation.get("method"),
        "key_fingerprint": attestation.get("key_fingerprint"),
    }
    try:
        text = _text(attestation.get("signed_payload"), "signed payload")
        said = parse(text)
        if not isinstance(said, dict):
            raise ValueError("the signed payload is not an object")  # noqa: TRY004 - content of a record
        for name in ("execution_id", "source", "timestamp", "command_hash"):
            if name in record and said.get(name) != record[name]:
                raise ValueError(f"the signed {name} is not the record's")
        if said.get("principal") != principal:
            raise ValueError("the signed principal is not the record's")
        trust_source = check_ssh(
            _text(attestation.get("signature"), "signature"),
            text.encode(),
            fingerprint=attestation.get("key_fingerprint"),
            principal=principal,
            allowed_signers=allowed_signers,
            surroundings=surroundings,
        )
    except ValueError as error:
        return {**result, "reason": str(error)}
    return {**result, "verified": True, "trust_source": trust_source}


def check_ssh(
    armored: str,
    data: bytes,
    *,
    fingerprint: Any,
    principal: str,
    allowed_signers: str | None,
    surroundings: Surroundings,
    namespace: str = NAMESPACE,
) -> str:
    """Check an SSH signature by its signer, namespace and data; the source of belief. ValueError says what failed."""
    parsed = ssh_signatures.parse(armored)
    if parsed.namespace != namespace:
        raise ValueError(f'the signature is for namespace "{parsed.namespace}"')
    if fingerprint is not None and parsed.fingerprint != fingerprint:
        raise ValueError("the signature was made by another key")
    signers, source = believed_signers(allowed_signers, surroundings, principal)
    now = time.time()
    if not may_sign(signers, principal=principal, key=parsed.public_blob, namespace=namespace, now=now):
        raise ValueError(f'no allowed signer "{principal}" has this key')
    if not ssh_signatures.is_signed(parsed, data):
        raise ValueError("the signature does not match")
    return source


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"there is no {what}")  # noqa: TRY004 - content of a record, not a programming error
    return value


def evidence_payload(
    *,
    execution_id: str,
    timestamp: str,
    source: Mapping[str, str],
    manifest_digest: str,
    effective_task_hash: str,
    sections: Mapping[str, Any],
    context: Mapping[str, Any] | None = None,
    known_context: Mapping[str, Any] | None = None,
) -> Json:
    """The complete payload. `context` is the profile's payload.context, `known_context` what can be said about it."""
    wanted = [name for name, enabled in (context or {}).items() if enabled]
    return {
        "schema": PAYLOAD_SCHEMA,
        "version": 1,
        "execution_id": execution_id,
        "timestamp": timestamp,
        "source": dict(source),
        "bindings": {"manifest_digest": manifest_digest, "effective_task_hash": effective_task_hash},
        **{name: without_secrets(sections.get(name)) for name in SECTIONS},
        "compliance_context": {name: (known_context or {}).get(name) for name in wanted},
    }


def without_secrets(value: Any) -> Any:
    """Members with the name of a secret become the hash of their value."""
    if isinstance(value, Mapping):
        return {
            name: {"redacted": True, "value_hash": canonical_digest(item)}
            if _SENSITIVE.search(name.lower()) and item is not None and not _is_hidden(item)
            else without_secrets(item)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(item) for item in value]
    return value


def _is_hidden(item: Any) -> bool:
    return isinstance(item, Mapping) and set(item) == {"redacted", "value_hash"}


def make_evidence(
    provider: str, payload: Mapping[str, Any], config: Mapping[str, Any] | None, surroundings: Surroundings
) -> Json:
    """The envelope of a provider. FlowError(evidence_failed)."""
    return _provider(provider).attest(payload, config or {}, surroundings)


def verify_evidence(
    provider: str, envelope: Mapping[str, Any], config: Mapping[str, Any] | None, surroundings: Surroundings
) -> Json:
    """`verified`, `reason`, and the `payload` that was signed (None unless verified)."""
    return _provider(provider).verify(envelope, config or {}, surroundings)


def _provider(name: str) -> Evidence:
    if name not in known("evidences"):
        raise FlowError("evidence_failed", f"Unknown evidence provider: {name}")
    found: Evidence = entry("evidences", name)
    return found


def record_mismatches(payload: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """Members in which a signed payload and an audit record differ; empty when one is about the other."""
    bindings = payload.get("bindings")
    bindings = bindings if isinstance(bindings, Mapping) else {}
    pairs = [(name, payload.get(name), record.get(name)) for name in ("execution_id", "source")]
    pairs += [
        (name, bindings.get(name), record.get(name)) for name in ("manifest_digest", "effective_task_hash")
    ]
    pairs += [
        (name, payload.get(name), without_secrets(record.get(name)))
        for name in SECTIONS
        if name in record or name in _ALWAYS_RECORDED
    ]
    return [
        name for name, signed, recorded in pairs if canonical_digest(signed) != canonical_digest(recorded)
    ]
