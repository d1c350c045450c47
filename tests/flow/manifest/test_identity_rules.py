"""The shape of identities: both forms of a declaration, and what they share with identity profiles."""

from typing import Any

import pytest

from tests.flow.manifests import NO_OBJECTS, changed, errors, manifest, shell_task
from tests.requirement import requirement

TOKEN = "contains unsupported path or token characters"
LEVELS = "must be one of: untrusted, restricted, supervised, autonomous"
# Member -> (a wrong value, its message), then every value that is right.
MEMBERS = {
    "subject": ([], "must be an object", {}),
    "subject.kind": (
        "robot", "must be one of: agent, service, workload, user, composite, delegated-agent, unknown",
        "agent", "service", "workload", "user", "composite", "delegated-agent", "unknown",
    ),
    "subject.principal": ("", "cannot be empty", "agent://acme/bot one"),
    "subject.display_name": (5, "must be a string", "A bot"),
    "subject.run_as": ("a b", TOKEN, "root"),
    "subject.issuer": (" ", "cannot be empty", "https://i"),
    "subject.delegation_mode": ("x", "must be one of: none, on-behalf-of, impersonation", "none", "on-behalf-of", "impersonation"),
    "subject.attributes": ([], "must be an object", {"any": 1}),
    "auth": ("x", "must be an object", {}),
    "auth.mode": (
        "basic", "must be one of: none, service, delegated, on-behalf-of, impersonation, exchange",
        "none", "service", "delegated", "on-behalf-of", "impersonation", "exchange",
    ),
    "auth.scopes": ("read", "must be an array", [], ["read"]),
    "auth.audience": ("", "cannot be empty", "a"),
    "auth.resource": (5, "must be a string", "r"),
    "auth.cache": ("disk", "must be one of: none, memory, state", "none", "memory", "state"),
    "auth.refresh": ("now", "must be one of: never, manual, auto", "never", "manual", "auto"),
    "auth.required": (1, "must be a boolean", True, False),
    "auth.delegation_policy": ([], "must be an object", {}),
    "auth.delegation_policy.max_depth": (0, "must be an integer >= 1", 1),
    "auth.delegation_policy.allowed_delegators": ("a", "must be an array", [], ["a"]),
    "auth.delegation_policy.require_grant_per_hop": ("no", "must be a boolean", True, False),
    "auth.provider_config": ([], "must be an object", {"any": 1}),
    "auth.inputs": ("x", "must be an object", {"any": 1}),
    "trust": ("x", "must be an object", {}),
    "trust.level": ("full", LEVELS, "untrusted", "restricted", "supervised", "autonomous"),
    "trust.constraints": ([], "must be an object", {}),
    "trust.constraints.escalation": ("ask", "must be one of: fail, human-approval, log-and-proceed", "fail", "human-approval", "log-and-proceed"),
    "trust.constraints.max_autonomy": ("full", LEVELS, "untrusted", "restricted", "supervised", "autonomous"),
    "trust.constraints.escalation_timeout": (30, "must be a string", "30s"),
    "trust.constraints.require_justification": (0, "must be a boolean", True, False),
    "presentation": ([], "must be an object", {}),
    "presentation.bindings": ({}, "must be an array", []),
    "presentation.handoff": ("all", "must be one of: none, downscope, transaction-token", "none", "downscope", "transaction-token"),
    "presentation.cleanup": ("later", "must be one of: always, on-success, on-failure, never", "always", "on-success", "on-failure", "never"),
    "presentation.default_redaction": ("yes", "must be a boolean", True, False),
}  # fmt: skip
BINDING = {
    "source": (None, "is required", "credentials.x"),
    "target": ([], "must be an object", {}),
    "target.kind": ("pipe", "must be one of: env, file, stdin, none", "env", "file", "stdin", "none"),
    "target.name": ("", "cannot be empty", "NAME"),
    "target.prefix": ("a" * 81, "must be a safe file prefix of at most 80 characters", "a", "0._-", "a" * 80),
    "target.expose_as": ("1A", "must be a valid environment variable name", "_A1"),
    "required": (1, "must be a boolean", True, False),
    "redact": ("no", "must be a boolean", True, False),
    "format": ("xml", "must be one of: raw, json, base64", "raw", "json", "base64"),
}
NO_TEXTS: list[Any] = [5, []]
PLACES = {
    "workflows.0.identity": "$.workflows[0].identity",
    "workflows.0.tasks.0.identity": "$.workflows[0].tasks[0].identity",
    "workflows.0.tasks.0.on_failure.identity": "$.workflows[0].tasks[0].on_failure.identity",
    "identity_profiles.0": "$.identity_profiles[0]",
}


def judged(place, member, value):
    """In 0.1, where no provider has a say; with a scope, so that a declaration has the form of 0.2 whatever else it has."""
    base = manifest(
        shell_task(on_failure={"prompt": "x"}),
        version="0.1",
        identity_profiles=[{"id": "i", "provider": "none"}],
    )
    if not place.startswith("identity_profiles"):
        base = changed(base, f"{place}.scope", "s")
    return errors(changed(base, f"{place}.{member}", value))


@requirement("agentcli:validation:identity-known")
@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_has_its_values_and_its_words_in_declarations_and_profiles(member):
    wrong, message, *right = MEMBERS[member]
    for place, path in PLACES.items():
        assert judged(place, member, wrong) == [(f"{path}.{member}", message)]
        for value in (*right, None):
            assert judged(place, member, value) == [], value


@requirement("agentcli:validation:identity-known")
@pytest.mark.parametrize("place", PLACES)
def test_every_member_of_a_binding_has_its_values_and_its_words(place):
    for member, (wrong, message, *right) in BINDING.items():
        for value, found in ((wrong, [message]), *((value, []) for value in right)):
            binding = changed({"source": "credentials.x"}, member, value)
            assert judged(place, "presentation.bindings", [{"source": "a"}, binding]) == [
                (f"{PLACES[place]}.presentation.bindings[1].{member}", message) for message in found
            ]


@requirement("agentcli:validation:identity-known")
def test_bindings_are_objects_and_prefixes_and_names_are_safe():
    place = "$.workflows[0].identity.presentation.bindings[0]"
    assert judged("workflows.0.identity", "presentation.bindings", [5]) == [(place, "must be an object")]
    for prefix in (*("", ".a", "-a", "a/b", "a b", "é"), *NO_TEXTS):
        binding = [{"source": "x", "target": {"prefix": prefix}}]
        assert judged("workflows.0.identity", "presentation.bindings", binding) == [
            (f"{place}.target.prefix", "must be a safe file prefix of at most 80 characters")
        ]
    for name in (*("", "a-b", "A B", "É"), *NO_TEXTS):
        binding = [{"source": "x", "target": {"expose_as": name}}]
        assert judged("workflows.0.identity", "presentation.bindings", binding) == [
            (f"{place}.target.expose_as", "must be a valid environment variable name")
        ]


@requirement("agentcli:validation:identity-known")
@pytest.mark.parametrize("place", list(PLACES)[:3])
def test_an_identity_is_an_object_in_one_of_two_forms(place):
    base = manifest(shell_task(on_failure={"prompt": "x"}), version="0.1")
    for wrong in NO_OBJECTS:
        assert errors(changed(base, place, wrong)) == [(PLACES[place], "must be an object")]
    flat = {"principal": "a b", "run_as": "c d", "attestation": ""}
    assert errors(changed(base, place, flat)) == [
        (f"{PLACES[place]}.principal", TOKEN),
        (f"{PLACES[place]}.run_as", TOKEN),
        (f"{PLACES[place]}.attestation", "cannot be empty"),
    ]
    assert errors(changed(base, place, {**flat, "scope": ""})) == [
        (f"{PLACES[place]}.scope", "cannot be empty")
    ]
    assert errors(changed(base, place, {"ref": 5})) == [(f"{PLACES[place]}.ref", "must be a string")]
    for name in ("ref", "scope", "subject", "auth", "trust", "presentation"):
        found = errors(changed(base, place, {**flat, name: None}))
        assert len(found) == 3, name  # null does not make it the other form
    for name in ("subject", "auth", "trust", "presentation"):
        assert errors(changed(base, place, {**flat, name: {}})) == [], name
