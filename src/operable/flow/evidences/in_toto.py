"""Evidence as an in-toto statement in a DSSE envelope, for supply-chain tools that read these.

The statement's subject is the task, by the hash of what exactly ran; its predicate is the evidence payload. The envelope
is plain DSSE (payloadType, payload, signatures) with a few more members that other readers ignore. `provider_config`:
`key_path` to sign, `public_key` (PEM text) or `public_key_path` to verify. Ed25519, ECDSA and RSA keys, with SHA-256.
"""

import base64
import os
from collections.abc import Mapping
from typing import Any

from operable.flow.canonical import canonical_text, hash_text, parse
from operable.flow.contracts import Evidence, Surroundings
from operable.flow.errors import FlowError
from operable.flow.trust.keys.signatures import is_signed, key_id, public_key, signature_bytes
from operable.flow.trust.keys.signers import signing_key
from operable.flow.trust.value_sources import read_text

_TYPE = "application/vnd.in-toto+json"
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "urn:operable:evidence:execution:v1"
_METHOD = "in-toto-dsse"


def _check(profile: Mapping[str, Any]) -> list[tuple[str, str]]:
    config = profile.get("provider_config")
    text = config.get("public_key") if isinstance(config, Mapping) else None
    methods = profile.get("methods")
    found = []
    if isinstance(methods, list) and any(method != _METHOD for method in methods):
        found.append(("methods", f"must contain only: {_METHOD}"))
    if text is not None:
        try:
            public_key(str(text))
        except ValueError as error:
            found.append(("provider_config.public_key", str(error)))
    return found


def _attest(
    payload: Mapping[str, Any], config: Mapping[str, Any], surroundings: Surroundings
) -> dict[str, Any]:
    key = signing_key(config.get("key_path"), surroundings)
    if key is None:
        raise FlowError("evidence_failed", "no signing key was found")
    source, bindings = payload["source"], payload["bindings"]
    statement = {
        "_type": _STATEMENT,
        "subject": [
            {
                "name": f"{source['workflow_id']}/{source['task_id']}",
                "digest": {"sha256": bindings["effective_task_hash"].removeprefix("sha256:")},
            }
        ],
        "predicateType": _PREDICATE,
        "predicate": dict(payload),
    }
    text = canonical_text(statement)
    identifier = key_id(key.public_key())
    signature = base64.b64encode(_signed(key, _encoded(text.encode()))).decode()
    return {
        "payloadType": _TYPE,
        "payload": base64.b64encode(text.encode()).decode(),
        "signatures": [{"keyid": identifier, "sig": signature}],
        "method": _METHOD,
        "version": 1,
        "key_fingerprint": identifier,
        "payload_digest": hash_text(text),
    }


def _encoded(body: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the type is signed with the body."""
    kind = _TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(body), body)


def _signed(key: Any, data: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256

    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(data)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(data, ec.ECDSA(SHA256()))
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), SHA256())
    raise FlowError("evidence_failed", "keys of this kind cannot sign")


def _verify(
    envelope: Mapping[str, Any], config: Mapping[str, Any], surroundings: Surroundings
) -> dict[str, Any]:
    result = {
        "verified": False,
        "method": _METHOD,
        "key_fingerprint": envelope.get("key_fingerprint"),
        "payload_digest": envelope.get("payload_digest"),
        "envelope_version": envelope.get("version"),
        "payload": None,
    }
    try:
        payload = _checked(envelope, _trusted_key(config, surroundings))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return {**result, "reason": str(error)}
    except FlowError as error:
        return {**result, "reason": error.message}
    return {**result, "verified": True, "payload": payload}


def _trusted_key(config: Mapping[str, Any], surroundings: Surroundings) -> Any:
    text = config.get("public_key")
    if text is None and isinstance(path := config.get("public_key_path"), str):
        place = os.path.join(surroundings.cwd, path)
        text = read_text(place, code="evidence_failed", what="public key")
    if not isinstance(text, str):
        raise ValueError("public_key or public_key_path is needed to verify")  # noqa: TRY004 - a manifest's content
    return public_key(text)


def _checked(envelope: Mapping[str, Any], key: Any) -> dict[str, Any]:
    if envelope.get("payloadType") != _TYPE:
        raise ValueError("the envelope contains no in-toto statement")
    body = signature_bytes(envelope["payload"])
    wanted = key_id(key)
    own = [one for one in envelope["signatures"] if one.get("keyid") in (None, "", wanted)]
    if not any(is_signed(key, signature_bytes(one["sig"]), _encoded(body)) for one in own):
        raise ValueError("no signature of the trusted key matches")
    statement = parse(body)
    if statement.get("_type") != _STATEMENT or statement.get("predicateType") != _PREDICATE:
        raise ValueError("the statement is of another kind")
    payload: dict[str, Any] = statement["predicate"]
    bound = payload["bindings"]["effective_task_hash"].removeprefix("sha256:")
    if statement["subject"][0]["digest"]["sha256"] != bound:
        raise ValueError("the statement's subject is another task")
    return payload


EVIDENCE = Evidence(name="in-toto", order=3, methods=(_METHOD,), check=_check, attest=_attest, verify=_verify)
