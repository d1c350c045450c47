"""The shape of a manifest as one tree, from which the published JSON Schema and the older descriptor form are made.

The validator has messages and an order of its own and does not read this; a test holds the two to the same answer on
generated manifests. What a schema cannot say (references, uniqueness, trust) is only the validator's.
"""

from dataclasses import field
from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.blocks import PLAIN
from operable.kernel.data_class import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """One value. `kind` is string, text (may be empty), identifier, token, env_name, file_prefix, integer, number, boolean,
    enum, object, map, env, array or any.
    """

    kind: str
    required: tuple[str, ...] = ()
    fields: dict[str, "Node"] = field(default_factory=dict)
    item: "Node | None" = None
    enum: tuple[str, ...] = ()
    minimum: int | None = None
    unique: bool = False
    non_empty: bool = False
    name: str = ""  # of the definition that this is, where it is one


STRING, TEXT, IDENTIFIER, TOKEN = Node("string"), Node("text"), Node("identifier"), Node("token")
BOOLEAN, NUMBER, ANY, MAP = Node("boolean"), Node("number"), Node("any"), Node("map")


def _enum(*words: str) -> Node:
    return Node("enum", enum=words)


def _integer(minimum: int) -> Node:
    return Node("integer", minimum=minimum)


def _object(name: str, fields: dict[str, Node], *required: str) -> Node:
    return Node("object", required=required, fields=fields, name=name)


def _array(item: Node, *, unique: bool = False, non_empty: bool = False) -> Node:
    return Node("array", item=item, unique=unique, non_empty=non_empty)


def _plain(kind: str, argument: Any) -> Node:
    match kind:
        case "enum":
            return _enum(*argument)
        case "integer":
            return _integer(argument)
        case "strings":
            return _array(STRING)
        case "number":
            return NUMBER
        case "boolean":
            return BOOLEAN
    return {"string": STRING, "token": TOKEN, "identifier": IDENTIFIER}[kind]


_REQUIRED = _object("verify_required", {"required": BOOLEAN})
_PAYLOAD = _object("payload", {"bind": _array(STRING, unique=True), "context": MAP, "format": STRING})
_REQUEST = _object("request", {"include": _array(STRING)})
_DECISION = _object("decision", {name: _array(STRING) for name in vocabulary.DECISION})
_SUBJECT = _object(
    "subject",
    {
        "kind": _enum(*vocabulary.SUBJECT_KINDS),
        "principal": STRING,
        "display_name": STRING,
        "run_as": TOKEN,
        "issuer": STRING,
        "delegation_mode": _enum(*vocabulary.DELEGATION_MODES),
        "attributes": MAP,
    },
)
_AUTH = _object(
    "auth",
    {
        "mode": _enum(*vocabulary.AUTH_MODES),
        "scopes": _array(ANY),
        "audience": STRING,
        "resource": STRING,
        "cache": _enum("none", "memory", "state"),
        "refresh": _enum("never", "manual", "auto"),
        "required": BOOLEAN,
        "delegation_policy": _object(
            "delegation_policy",
            {"max_depth": _integer(1), "allowed_delegators": _array(ANY), "require_grant_per_hop": BOOLEAN},
        ),
        "provider_config": MAP,
        "inputs": MAP,
    },
)
_TRUST = _object(
    "trust",
    {
        "level": _enum(*vocabulary.TRUST_LEVELS),
        "constraints": _object(
            "constraints",
            {
                "escalation": _enum("fail", "human-approval", "log-and-proceed"),
                "max_autonomy": _enum(*vocabulary.TRUST_LEVELS),
                "escalation_timeout": STRING,
                "require_justification": BOOLEAN,
            },
        ),
    },
)
_BINDING = _object(
    "binding",
    {
        "source": STRING,
        "target": _object(
            "binding_target",
            {
                "kind": _enum("env", "file", "stdin", "none"),
                "name": STRING,
                "prefix": Node("file_prefix"),
                "expose_as": Node("env_name"),
            },
        ),
        "required": BOOLEAN,
        "redact": BOOLEAN,
        "format": _enum("raw", "json", "base64"),
    },
    "source",
)
_PRESENTATION = _object(
    "presentation",
    {
        "bindings": _array(_BINDING),
        "handoff": _enum("none", "downscope", "transaction-token"),
        "cleanup": _enum("always", "on-success", "on-failure", "never"),
        "default_redaction": BOOLEAN,
    },
)
_IDENTITY_PARTS = {"subject": _SUBJECT, "auth": _AUTH, "trust": _TRUST, "presentation": _PRESENTATION}
FLAT_IDENTITY = _object("flat_identity", {"principal": TOKEN, "run_as": TOKEN, "attestation": STRING})
IDENTITY = _object("identity", {"ref": STRING, "scope": STRING, **_IDENTITY_PARTS})
_VALUE_FROM = _object("value_from", dict.fromkeys(("env", "file", "command"), STRING))
_ANY_VALUE_FROM = _object("any_value_from", dict.fromkeys(vocabulary.VALUE_FROM, STRING))
_AUTHORIZATION_PARTS = {
    "provider_config": MAP,
    "on_error": _enum("deny", "warn"),
    "request": _REQUEST,
    "decision": _DECISION,
}

BLOCKS = {
    name: _object(name, {member: _plain(kind, argument) for member, (kind, argument) in table.items()})
    for name, table in PLAIN.items()
}
_VERIFY = _object(
    "verify",
    {"shell": STRING, "timeout_seconds": _integer(1), "on_failure": _enum("error", "warn")},
    "shell",
)
_REFERENCES = {
    "authorization_proof": _object(
        "authorization_proof", {"ref": STRING, "claims": MAP, "verify": _REQUIRED}, "ref"
    ),
    "authorization": _object("authorization", {"ref": STRING, **_AUTHORIZATION_PARTS}, "ref"),
    "evidence": _object("evidence", {"ref": STRING, "payload": _PAYLOAD, "verify": _REQUIRED}),
}
_TARGET = _object(
    "target",
    {
        "session_target": _enum(*vocabulary.SESSION_TARGETS),
        "agent_id": TOKEN,
        "payload_kind": _enum(*vocabulary.PAYLOAD_KINDS),
    },
    "session_target",
)
_SHELL = _object(
    "shell",
    {"program": TOKEN, "args": _array(STRING), "env": Node("env"), "cwd": STRING, "stdin": TEXT},
    "program",
)
_SURFACE = {"prompt": STRING, "shell": _SHELL, "target": _TARGET}
_EXECUTION = {**BLOCKS, "identity": IDENTITY, **_REFERENCES}
ON_FAILURE = _object(
    "on_failure",
    {
        "id": IDENTIFIER,
        "name": STRING,
        "enabled": BOOLEAN,
        **_SURFACE,
        "delay_s": _integer(0),
        "condition": STRING,
        **_EXECUTION,
        "delete_after_run": BOOLEAN,
    },
)
TASK = _object(
    "task",
    {
        "id": IDENTIFIER,
        "name": STRING,
        "enabled": BOOLEAN,
        **_SURFACE,
        "schedule": _object("schedule", {"cron": STRING, "tz": STRING}, "cron"),
        "trigger": _object(
            "trigger",
            {
                "parent": STRING,
                "on": _enum(*vocabulary.TRIGGERS),
                "delay_s": _integer(0),
                "condition": STRING,
            },
            "parent",
            "on",
        ),
        **_EXECUTION,
        "on_failure": ON_FAILURE,
        "auth_profile": STRING,
        "delete_after_run": BOOLEAN,
        "child_credential_policy": _enum(*vocabulary.CHILD_POLICIES),
        "verify": _VERIFY,
    },
    "id",
    "name",
    "target",
)
WORKFLOW = _object(
    "workflow",
    {
        "id": IDENTIFIER,
        "name": STRING,
        "model_policy": BLOCKS["model_policy"],
        "identity": IDENTITY,
        "contract": BLOCKS["contract"],
        **_REFERENCES,
        "child_credential_policy": _enum(*vocabulary.CHILD_POLICIES),
        "verify": _VERIFY,
        "tasks": _array(TASK, non_empty=True),
    },
    "id",
    "name",
    "tasks",
)
MANIFEST = _object(
    "manifest",
    {
        "version": _enum(*vocabulary.VERSIONS),
        "workflows": _array(WORKFLOW, non_empty=True),
        "identity_profiles": _array(
            _object(
                "identity_profile",
                {"id": IDENTIFIER, "provider": STRING, **_IDENTITY_PARTS, "provider_config": MAP},
                "id",
                "provider",
            )
        ),
        "authorization_proof_profiles": _array(
            _object(
                "proof_profile",
                {
                    "id": IDENTIFIER,
                    "method": _enum(*vocabulary.PROOF_METHODS),
                    **dict.fromkeys(
                        "issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate".split(),
                        STRING,
                    ),
                    "ca_certificate_from": _ANY_VALUE_FROM,
                    "proof": _object("proof", {"value_from": _VALUE_FROM}),
                    "claims": MAP,
                    "verify": _REQUIRED,
                },
                "id",
                "method",
            )
        ),
        "authorization_profiles": _array(
            _object(
                "authorization_profile",
                {"id": IDENTIFIER, "provider": STRING, **_AUTHORIZATION_PARTS},
                "id",
                "provider",
            )
        ),
        "evidence_profiles": _array(
            _object(
                "evidence_profile",
                {
                    "id": IDENTIFIER,
                    "provider": STRING,
                    "methods": _array(STRING, unique=True),
                    "provider_config": MAP,
                    "payload": _PAYLOAD,
                    "verify": _REQUIRED,
                },
                "id",
                "provider",
            )
        ),
    },
    "version",
    "workflows",
)
