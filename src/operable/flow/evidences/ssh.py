"""Evidence signed with an SSH key, in this process.

`provider_config`: `key_path` (else the places of `operable.flow.trust.keys.signers`), `principal` (default `agentcli`),
`allowed_signers` or `allowed_signers_path` for verification. The envelope contains the payload as canonical text and its
digest; the signature covers the whole envelope, so that principal, namespace and key cannot be exchanged.
"""

from collections.abc import Mapping
from typing import Any

from operable.flow.audit.attestation import PAYLOAD_MEMBERS, PAYLOAD_SCHEMA, check_ssh
from operable.flow.canonical import canonical_text, hash_text, parse
from operable.flow.contracts import Evidence, Surroundings
from operable.flow.errors import FlowError
from operable.flow.manifest.findings import js_trim
from operable.flow.trust.keys.signers import NAMESPACE, PRINCIPAL, signing_key
from operable.gate.signatures import ssh_signatures

_SCHEMA = "agentcli.evidence.envelope"
_TEXTS = ("key_path", "principal", "allowed_signers", "allowed_signers_path")


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    config = profile.get("provider_config")
    found = [
        (f"provider_config.{name}", "must be a non-empty string")
        for name in _TEXTS
        if isinstance(config, Mapping)
        and config.get(name) is not None
        and not (isinstance(config[name], str) and js_trim(config[name]))
    ]
    methods = profile.get("methods")
    if isinstance(methods, list) and any(method != "ssh-signature" for method in methods):
        found.append(("methods", "must contain only: ssh-signature"))
    return found


def _attest(
    payload: Mapping[str, Any], config: Mapping[str, Any], surroundings: Surroundings
) -> dict[str, Any]:
    key = signing_key(config.get("key_path"), surroundings)
    if key is None:
        raise FlowError("evidence_failed", "no SSH signing key was found")
    text = canonical_text(dict(payload))
    envelope = {
        "schema": _SCHEMA,
        "version": 1,
        "method": "ssh-signature",
        "key_fingerprint": ssh_signatures.fingerprint(ssh_signatures.public_blob(key.public_key())),
        "principal": config.get("principal") or PRINCIPAL,
        "namespace": NAMESPACE,
        "payload_format": "canonical-json",
        "payload_digest": hash_text(text),
        "signed_payload": text,
    }
    signature = ssh_signatures.sign(key, canonical_text(envelope).encode(), NAMESPACE)
    return {**envelope, "signature": signature}


def _verify(
    envelope: Mapping[str, Any], config: Mapping[str, Any], surroundings: Surroundings
) -> dict[str, Any]:
    result = {
        "verified": False,
        "principal": envelope.get("principal"),
        "method": envelope.get("method"),
        "key_fingerprint": envelope.get("key_fingerprint"),
        "payload_digest": envelope.get("payload_digest"),
        "envelope_version": envelope.get("version"),
        "payload": None,
    }
    try:
        payload = _checked_payload(envelope)
        unsigned = {name: value for name, value in envelope.items() if name != "signature"}
        principal = config.get("principal") or PRINCIPAL
        if envelope.get("principal") != principal:
            raise ValueError("the envelope's principal is another one")
        source = check_ssh(
            str(envelope.get("signature")),
            canonical_text(unsigned).encode("utf-8", "surrogatepass"),
            fingerprint=envelope.get("key_fingerprint"),
            principal=principal,
            allowed_signers=config.get("allowed_signers") or config.get("allowed_signers_path"),
            surroundings=surroundings,
        )
    except (ValueError, TypeError) as error:
        return {**result, "reason": str(error)}
    return {**result, "verified": True, "payload": payload, "trust_source": source}


def _checked_payload(envelope: Mapping[str, Any]) -> dict[str, Any]:
    expected = {
        "schema": _SCHEMA,
        "version": 1,
        "method": "ssh-signature",
        "namespace": NAMESPACE,
        "payload_format": "canonical-json",
    }
    for name, value in expected.items():
        if envelope.get(name) != value:
            raise ValueError(f"the envelope's {name} is not {value}")
    text = envelope.get("signed_payload")
    if not isinstance(text, str) or envelope.get("payload_digest") != hash_text(text):
        raise ValueError("the payload does not have the stated digest")
    payload = parse(text)
    if not isinstance(payload, dict) or canonical_text(payload) != text:
        raise ValueError("the payload is not canonical JSON")
    missing = [name for name in PAYLOAD_MEMBERS if name not in payload]
    if missing or payload["schema"] != PAYLOAD_SCHEMA:
        raise ValueError(f"the payload is not complete: {', '.join(missing) or 'schema'}")
    return payload


EVIDENCE = Evidence(
    name="ssh", order=2, methods=("ssh-signature",), check=_check, attest=_attest, verify=_verify
)
