"""The shape of the four kinds of profiles, in both versions."""

from typing import Any

import pytest

from operable.flow.contracts import known, listed
from operable.flow.manifest.validation import validate
from tests.flow.manifests import NO_LISTS, NO_OBJECTS, Json, changed, errors, manifest, shell_task
from tests.flow.proofs.tokens import RSA, pem
from tests.requirement import requirement

PROFILES: Json = {
    "identity_profiles": {"id": "i", "provider": "none"},
    "authorization_proof_profiles": {"id": "p", "method": "none"},
    "authorization_profiles": {"id": "z", "provider": "none"},
    "evidence_profiles": {"id": "e", "provider": "none"},
}
NOTHING = "must include at least one of: env, file, or command"


def with_profiles(array: str, profiles: Any, version: str) -> Json:
    return {**manifest(version=version), array: profiles}


def judged(array, member, value, version="0.1"):
    base = with_profiles(array, [PROFILES[array]], version)
    return errors(changed(base, f"{array}.0.{member}", value))


@requirement("agentcli:validation:references")
@pytest.mark.parametrize("version", ["0.1", "0.2"])
@pytest.mark.parametrize("array", PROFILES)
def test_profiles_are_a_list_of_objects_with_ids_of_their_own(array, version):
    profile = PROFILES[array]
    for no_list in NO_LISTS:
        assert errors(with_profiles(array, no_list, version)) == [(f"$.{array}", "must be an array")]
    assert errors(with_profiles(array, None, version)) == errors(with_profiles(array, [], version)) == []
    assert errors(with_profiles(array, [profile, 5, profile], version)) == [
        (f"$.{array}[1]", "must be an object"),
        (f"$.{array}[2].id", "must be unique"),
    ]
    for wrong, message in (
        (None, "is required"),
        ("", "cannot be empty"),
        (5, "must be a string"),
        ("a b", "must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"),
    ):
        assert judged(array, "id", wrong, version) == [(f"$.{array}[0].id", message)]


@requirement("agentcli:validation:references")
def test_the_same_id_may_be_of_two_kinds():
    same: Json = {array: [{**profile, "id": "x"}] for array, profile in PROFILES.items()}

    assert errors(manifest(**same)) == []


@requirement("agentcli:validation:references")
@pytest.mark.parametrize("array", [name for name in PROFILES if name != "authorization_proof_profiles"])
def test_a_profile_names_its_provider(array):
    for wrong, message in ((None, "is required"), ("", "cannot be empty"), (5, "must be a string")):
        assert judged(array, "provider", wrong) == [(f"$.{array}[0].provider", message)]


@requirement("agentcli:validation:profile-sources")
def test_a_proof_profile_may_lack_a_method_but_not_have_another_one():
    assert judged("authorization_proof_profiles", "method", None) == []
    for method in ("jwt", "detached-signature", "certificate", "none"):
        assert judged("authorization_proof_profiles", "method", method) == []
    for version in ("0.1", "0.2"):
        assert judged("authorization_proof_profiles", "method", "totp", version) == [
            (
                "$.authorization_proof_profiles[0].method",
                "must be one of: jwt, detached-signature, certificate, none",
            )
        ]


@requirement("agentcli:validation:profile-sources")
@pytest.mark.parametrize("name", "issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate".split())  # fmt: skip
def test_texts_of_a_proof_profile_are_not_blank(name):
    assert judged("authorization_proof_profiles", name, "x") == []
    for wrong, message in (("", "cannot be empty"), (5, "must be a string")):
        assert judged("authorization_proof_profiles", name, wrong) == [
            (f"$.authorization_proof_profiles[0].{name}", message)
        ]


@requirement("agentcli:validation:profile-sources")
@pytest.mark.parametrize(
    "member, wrong, found",
    [
        ("claims", [], [("claims", "must be an object")]),
        ("verify", True, [("verify", "must be an object")]),
        ("verify.required", "yes", [("verify.required", "must be a boolean")]),
        ("proof", "x", [("proof", "must be an object")]),
        ("proof", {}, []),
        ("proof.value_from", "env:X", [("proof.value_from", "must be an object")]),
        ("proof.value_from", {}, [("proof.value_from", NOTHING)]),
        ("proof.value_from", {"env": None, "file": None}, [("proof.value_from", NOTHING)]),
        ("proof.value_from", {"env": ""}, [("proof.value_from.env", "cannot be empty")]),
        ("proof.value_from", {"file": 5}, [("proof.value_from.file", "must be a string")]),
        ("proof.value_from", {"command": " "}, [("proof.value_from.command", "cannot be empty")]),
        ("proof.value_from", {"env": "X", "literal": "y"}, [("proof.value_from.literal", "is not supported here")]),
        ("proof.value_from", {"literal": "y"}, [("proof.value_from.literal", "is not supported here"), ("proof.value_from", NOTHING)]),
        ("proof.value_from", {"env": "X"}, []),
        ("proof.value_from", {"file": "x"}, []),
        ("proof.value_from", {"command": "x"}, []),
        ("ca_certificate_from", [], [("ca_certificate_from", "must be an object")]),
        ("ca_certificate_from", {"literal": "x"}, []),
        ("ca_certificate_from", {"literal": 5}, [("ca_certificate_from.literal", "must be a string")]),
        ("ca_certificate_from", {"env": ""}, [("ca_certificate_from.env", "cannot be empty")]),
    ],
)  # fmt: skip
def test_where_proofs_and_authorities_come_from(member, wrong, found):
    assert judged("authorization_proof_profiles", member, wrong) == [
        (f"$.authorization_proof_profiles[0].{place}", message) for place, message in found
    ]


@requirement("agentcli:validation:profile-sources")
def test_an_authority_may_come_from_one_source_more():
    [(path, message)] = judged("authorization_proof_profiles", "ca_certificate_from", {})

    assert path == "$.authorization_proof_profiles[0].ca_certificate_from"
    assert message.startswith("must include at least one of: ")


@requirement("agentcli:validation:profile-sources", "agentcli:validation:overlays")
@pytest.mark.parametrize(
    "array, member, wrong, found",
    [
        ("identity_profiles", "provider_config", [], [("provider_config", "must be an object")]),
        ("authorization_profiles", "provider_config", [], [("provider_config", "must be an object")]),
        ("authorization_profiles", "on_error", "allow", [("on_error", "must be one of: deny, warn")]),
        ("authorization_profiles", "request", "x", [("request", "must be an object")]),
        ("authorization_profiles", "request.include", "x", [("request.include", "must be an array")]),
        ("authorization_profiles", "decision", [], [("decision", "must be an object")]),
        ("evidence_profiles", "provider_config", "x", [("provider_config", "must be an object")]),
        ("evidence_profiles", "methods", "x", [("methods", "must be an array")]),
        ("evidence_profiles", "methods", ["a", "", "a", None, 5], [
            ("methods[1]", "cannot be empty"), ("methods[2]", "must be unique"), ("methods[3]", "is required"), ("methods[4]", "must be a string"),
        ]),
        ("evidence_profiles", "payload", [], [("payload", "must be an object")]),
        ("evidence_profiles", "payload.bind", "x", [("payload.bind", "must be an array")]),
        ("evidence_profiles", "payload.bind", ["a", "b", " ", "b"], [("payload.bind[2]", "cannot be empty"), ("payload.bind[3]", "must be unique")]),
        ("evidence_profiles", "payload.context", [], [("payload.context", "must be an object")]),
        ("evidence_profiles", "payload.format", "", [("payload.format", "cannot be empty")]),
        ("evidence_profiles", "verify", [], [("verify", "must be an object")]),
        ("evidence_profiles", "verify.required", 1, [("verify.required", "must be a boolean")]),
    ],
)  # fmt: skip
def test_members_of_the_other_profiles(array, member, wrong, found):
    for version in ("0.1", "0.2"):
        assert judged(array, member, wrong, version) == [
            (f"$.{array}[0].{place}", message) for place, message in found
        ]


@requirement("agentcli:validation:profile-sources")
@pytest.mark.parametrize("place", ["workflows.0", "workflows.0.tasks.0"])
def test_what_a_reference_binds_is_unique_too(place):
    value = changed(manifest(evidence_profiles=[PROFILES["evidence_profiles"]]), f"{place}.evidence", {"ref": "e", "payload": {"bind": ["a", "", "a"]}})  # fmt: skip
    path = "$." + place.replace(".0", "[0]")

    assert errors(value) == [
        (f"{path}.evidence.payload.bind[1]", "cannot be empty"),
        (f"{path}.evidence.payload.bind[2]", "must be unique"),
    ]


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


def identity_rules_judged(place, member, value):
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
        assert identity_rules_judged(place, member, wrong) == [(f"{path}.{member}", message)]
        for value in (*right, None):
            assert identity_rules_judged(place, member, value) == [], value


@requirement("agentcli:validation:identity-known")
@pytest.mark.parametrize("place", PLACES)
def test_every_member_of_a_binding_has_its_values_and_its_words(place):
    for member, (wrong, message, *right) in BINDING.items():
        for value, found in ((wrong, [message]), *((value, []) for value in right)):
            binding = changed({"source": "credentials.x"}, member, value)
            assert identity_rules_judged(place, "presentation.bindings", [{"source": "a"}, binding]) == [
                (f"{PLACES[place]}.presentation.bindings[1].{member}", message) for message in found
            ]


@requirement("agentcli:validation:identity-known")
def test_bindings_are_objects_and_prefixes_and_names_are_safe():
    place = "$.workflows[0].identity.presentation.bindings[0]"
    assert identity_rules_judged("workflows.0.identity", "presentation.bindings", [5]) == [
        (place, "must be an object")
    ]
    for prefix in (*("", ".a", "-a", "a/b", "a b", "é"), *NO_TEXTS):
        binding = [{"source": "x", "target": {"prefix": prefix}}]
        assert identity_rules_judged("workflows.0.identity", "presentation.bindings", binding) == [
            (f"{place}.target.prefix", "must be a safe file prefix of at most 80 characters")
        ]
    for name in (*("", "a-b", "A B", "É"), *NO_TEXTS):
        binding = [{"source": "x", "target": {"expose_as": name}}]
        assert identity_rules_judged("workflows.0.identity", "presentation.bindings", binding) == [
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


BEARER = {
    "id": "bot",
    "provider": "env-bearer",
    "subject": {"kind": "service", "principal": "agent://acme/bot", "delegation_mode": "none"},
    "auth": {
        "mode": "service",
        "required": True,
        "scopes": ["read"],
        "provider_config": {"token_env": "BOT_TOKEN"},
    },
    "trust": {"level": "restricted", "constraints": {"max_autonomy": "supervised", "escalation": "fail"}},
    "presentation": {
        "bindings": [
            {
                "source": "credentials.access_token.value",
                "target": {"kind": "env", "name": "API_TOKEN"},
                "required": True,
                "redact": True,
            }
        ],
        "handoff": "none",
        "cleanup": "always",
    },
}
PROOF = {
    "id": "step-up",
    "method": "jwt",
    "issuer": "https://auth.example.com",
    "audience": "agentcli",
    "jwks_uri": "https://auth.example.com/jwks.json",
    "proof": {"value_from": {"env": "STEP_UP"}},
    "verify": {"required": True},
}
POLICY = {
    "id": "policy",
    "provider": "opa",
    "provider_config": {"endpoint": "http://127.0.0.1:8181/v1/data/agentcli/authz/allow"},
    "request": {"include": ["actor", "step_up", "identity", "command", "trust"]},
}
EVIDENCE = {
    "id": "signed",
    "provider": "ssh",
    "payload": {"bind": ["execution_id", "result"]},
    "methods": ["ssh-signature"],
}


def provider_rules_judged(identity=BEARER, proof=PROOF, policy=POLICY, evidence=EVIDENCE, version="0.2"):
    task = shell_task(
        identity={"ref": identity.get("id")},
        authorization_proof={"ref": proof.get("id")},
        authorization={"ref": policy.get("id")},
        evidence={"ref": evidence.get("id")},
    )
    return validate(
        manifest(
            task,
            version=version,
            identity_profiles=[identity],
            authorization_proof_profiles=[proof],
            authorization_profiles=[policy],
            evidence_profiles=[evidence],
        )
    )


def test_a_manifest_with_profiles_of_every_kind_is_valid():
    assert provider_rules_judged() == {"ok": True, "errors": [], "warnings": []}


IDENTITY, P, A, E = (
    f"$.{name}[0]"
    for name in (
        "identity_profiles",
        "authorization_proof_profiles",
        "authorization_profiles",
        "evidence_profiles",
    )
)


@requirement("agentcli:validation:providers")
@pytest.mark.parametrize(
    "profiles, path, message",
    [
        ({"identity": {**BEARER, "provider": "x"}}, f"{IDENTITY}.provider", 'unknown identity provider "x"'),
        ({"policy": {**POLICY, "provider": "x"}}, f"{A}.provider", 'unknown authorization provider "x"'),
        ({"evidence": {**EVIDENCE, "provider": "x"}}, f"{E}.provider", 'unknown evidence provider "x"'),
        ({"proof": {**PROOF, "jwks_uri": None}}, f"{P}.verify", "jwt proof verification requires public_key or jwks_uri"),
        ({"proof": {**PROOF, "jwks_uri": "http://a.example"}}, f"{P}.jwks_uri", "must be an https URL"),
        ({"proof": {"id": "n", "method": "none", "verify": {"required": True}}}, f"{P}.verify.required",
         'method "none" cannot satisfy verify.required: true'),
        ({"policy": {**POLICY, "provider_config": {}}}, f"{A}.provider_config.endpoint",
         "is required and must be a non-empty string"),
        ({"evidence": {**EVIDENCE, "provider_config": {"key_path": ""}}}, f"{E}.provider_config.key_path",
         "must be a non-empty string"),
        ({"identity": {**BEARER, "auth": {"mode": "exchange", "provider_config": {"token_env": "T"}}}}, IDENTITY,
         'auth.mode "exchange" is not supported by provider "env-bearer"'),
    ],
)  # fmt: skip
def test_structural_checks_have_their_paths_and_messages(profiles, path, message):
    assert {"path": path, "message": message} in provider_rules_judged(**profiles)["errors"]


def binding(source="credentials.access_token.value", **target):
    return {
        "presentation": {"bindings": [{"source": source, "target": {"kind": "env", "name": "T"} | target}]}
    }


CONFIG = {"provider_config": {"token_env": "T"}}
POLICIES: list[Any] = [{"max_depth": 1}, {"allowed_delegators": []}, {"require_grant_per_hop": False}]


@requirement("agentcli:validation:providers")
@pytest.mark.parametrize(
    "changed, message",
    [
        ({"auth": {"mode": "service", "cache": "memory", **CONFIG}}, 'auth.cache "memory" is not supported by provider "env-bearer"'),
        ({"auth": {"mode": "service", "refresh": "auto", **CONFIG}}, 'auth.refresh "auto" is not supported by provider "env-bearer"'),
        ({"auth": {"mode": "service", "delegation_policy": {"max_depth": 2}, **CONFIG}}, 'delegation is not supported by provider "env-bearer"'),
        ({"subject": {"delegation_mode": "on-behalf-of"}}, 'delegation is not supported by provider "env-bearer"'),
        ({"presentation": {"handoff": "downscope"}}, 'presentation.handoff "downscope" is not supported by provider "env-bearer"'),
        (binding("provider_assertions.sub"), "presentation.bindings[0].source must not read provider_assertions"),
        (binding("delegation_chain.0"), "presentation.bindings[0].source must not read delegation_chain"),
        (binding(name="not a name"), "presentation.bindings[0].target.name must be a valid environment variable name"),
        (binding(kind="file", name="../x"), "presentation.bindings[0].target.name must be a file name without path components"),
        ({"presentation": {"bindings": [{"source": "a"}]}}, "presentation.bindings[0].target is required"),
        ({"presentation": {"bindings": [{"source": "a", "target": {"kind": "stdin"}}] * 2}}, "presentation.bindings may contain at most one stdin target"),
        ({"provider_config": {"token_endpoint": "http://a.example/t"}}, "token_endpoint must be an https URL (http only for loopback) without credentials"),
        ({"provider_config": {"api_base": "https://u:p@a.example"}}, "api_base must be an https URL (http only for loopback) without credentials"),
    ],
)  # fmt: skip
def test_what_a_provider_cannot_do_is_said_on_the_profile(changed, message):
    assert {"path": IDENTITY, "message": message} in provider_rules_judged(identity={**BEARER, **changed})[
        "errors"
    ]


@requirement("agentcli:validation:providers")
@pytest.mark.parametrize(
    "changed, message",
    [
        ({"auth": {"mode": "service", "scopes": ["read", "\ufeff"], **CONFIG}}, "auth.scopes must contain only non-empty strings"),
        ({"auth": {"mode": "service", "scopes": [5], **CONFIG}}, "auth.scopes must contain only non-empty strings"),
        ({"auth": {"mode": "service", "cache": "state", **CONFIG}}, 'auth.cache "state" is not supported by provider "env-bearer"'),
        ({"auth": {"mode": "service", "refresh": "manual", **CONFIG}}, 'auth.refresh "manual" is not supported by provider "env-bearer"'),
        *(
            ({"auth": {"mode": mode, **CONFIG}}, 'delegation is not supported by provider "env-bearer"')
            for mode in ("delegated", "on-behalf-of", "impersonation", "exchange")
        ),
        *(
            ({"auth": {"mode": "service", "delegation_policy": policy, **CONFIG}}, 'delegation is not supported by provider "env-bearer"')
            for policy in POLICIES
        ),
        ({"subject": {"delegation_mode": "impersonation"}}, 'delegation is not supported by provider "env-bearer"'),
        ({"presentation": {"handoff": "transaction-token"}}, 'presentation.handoff "transaction-token" is not supported by provider "env-bearer"'),
        (binding("provider_assertions"), "presentation.bindings[0].source must not read provider_assertions"),
        (binding(name=None), "presentation.bindings[0].target.name must be a valid environment variable name"),
        (binding(name="1A"), "presentation.bindings[0].target.name must be a valid environment variable name"),
        (binding(kind="file", name="a/b"), "presentation.bindings[0].target.name must be a file name without path components"),
        (binding(kind="file", name="."), "presentation.bindings[0].target.name must be a file name without path components"),
        (binding(kind="file", name=".."), "presentation.bindings[0].target.name must be a file name without path components"),
        (binding(kind="file", name="a\\b"), "presentation.bindings[0].target.name must be a file name without path components"),
        *(
            ({place: {name: url, **more}} if place == "provider_config" else {"auth": {"mode": "service", "provider_config": {name: url, **more}}},
             f"{name} must be an https URL (http only for loopback) without credentials")
            for place, more in (("provider_config", {}), ("auth", {"token_env": "T"}))
            for name in ("token_endpoint", "api_base", "authority")
            for url in ("http://a.example/t", "https://u@a.example", "https://u:p@a.example", "ftp://a.example", "https://", "x", 5, "http://127.0.0.1.a.example/", "https://[::1")
        ),
    ],
)  # fmt: skip
def test_every_rule_for_identity_profiles_has_its_words(changed, message):
    assert {"path": IDENTITY, "message": message} in provider_rules_judged(identity={**BEARER, **changed})[
        "errors"
    ]


@requirement("agentcli:validation:providers")
@pytest.mark.parametrize(
    "changed",
    [
        {"auth": {"mode": "service", "cache": "none", "refresh": "never", "scopes": [], **CONFIG}},
        {"auth": {"mode": "service", "delegation_policy": {"max_depth": None}, **CONFIG}},
        {"subject": {"delegation_mode": "none"}},
        {"presentation": {"handoff": "none"}},
        binding(kind="file", name="token"),
        binding(kind="file", name=None),
        binding(kind="none", name=None),
        {"presentation": {"bindings": [{"source": "a", "target": {"kind": "stdin"}}]}},
        *(
            {"provider_config": {name: url}}
            for name in ("token_endpoint", "api_base", "authority")
            for url in ("https://a.example/t?x=1", "http://127.0.0.1:8080/t", "http://localhost/t", "http://[::1]:9/t", None)
        ),
        *({"trust": {"level": level}} for level in ("untrusted", "restricted", "supervised", "autonomous")),
    ],
)  # fmt: skip
def test_what_a_provider_can_do_is_accepted(changed):
    assert provider_rules_judged(identity={**BEARER, **changed})["errors"] == []


@requirement("agentcli:validation:providers")
def test_what_another_provider_can_do_is_accepted_there():
    azure = {"id": "bot", "provider": "azure-managed-identity", "auth": {"mode": "service", "refresh": "auto", "resource": "r"}}  # fmt: skip
    stripe = {"id": "bot", "provider": "stripe-api-key", **binding(kind="file", name="x")}
    spiffe = {"id": "bot", "provider": "spiffe-jwt-svid", "trust": {"level": "untrusted"}}

    assert provider_rules_judged(identity=azure)["errors"] == []
    words = 'presentation.bindings[0].target.kind "file" is not supported by provider "stripe-api-key"'
    assert {"path": IDENTITY, "message": words} in provider_rules_judged(identity=stripe)["errors"]
    words = 'trust.level "untrusted" is not supported by provider "spiffe-jwt-svid"'
    assert {"path": IDENTITY, "message": words} in provider_rules_judged(identity=spiffe)["errors"]
    exchange = {"id": "bot", "provider": "oidc-token-exchange", "auth": {"mode": "exchange"}, "presentation": {"handoff": "downscope"}}  # fmt: skip
    said = " ".join(found["message"] for found in provider_rules_judged(identity=exchange)["errors"])
    assert "delegation" not in said
    assert "handoff" not in said


KEY = pem(RSA)
PRIVATE = "-----BEGIN PRIVATE KEY-----"
WITHOUT_A_KEY = {
    "jwt": "jwt proof verification requires public_key or jwks_uri",
    "detached-signature": "detached-signature proof verification requires public_key or allowed_signers",
    "certificate": "certificate proof verification requires ca_certificate, ca_certificate_from or public_key",
}


def proof_errors(**members):
    profile = {"id": "p", "issuer": "i", "public_key": KEY, "proof": {"value_from": {"env": "X"}}, **members}
    found = provider_rules_judged(proof=profile)["errors"]
    assert {each["path"].partition("]")[0] for each in found} <= {P[:-1]}
    return [(each["path"].removeprefix(f"{P}."), each["message"]) for each in found]


@requirement("agentcli:validation:providers", "agentcli:validation:profile-sources")
@pytest.mark.parametrize("method", WITHOUT_A_KEY)
def test_a_proof_has_one_source_and_something_to_verify_it_with(method):
    one = "must include exactly one of: env, file, or command"

    assert proof_errors(method=method) == []
    assert proof_errors(method=method, proof=None) == [("proof", "is required")]
    assert proof_errors(method=method, proof={}) == [("proof.value_from", one)]
    for source in ({"env": "X", "file": "y"}, {"env": "X", "file": None}, {"env": "X", "command": None}):
        assert proof_errors(method=method, proof={"value_from": source}) == [("proof.value_from", one)]
    literal = proof_errors(method=method, proof={"value_from": {"literal": "x"}})
    assert ("proof.value_from.literal", "is not supported here") in literal
    assert ("proof.value_from", "must include at least one of: env, file, or command") in literal
    assert proof_errors(method=method, public_key=None) == [("verify", WITHOUT_A_KEY[method])]
    for key in (PRIVATE, "x"):
        assert [place for place, _ in proof_errors(method=method, public_key=key)] == ["public_key"]


@requirement("agentcli:validation:providers")
def test_what_only_one_method_of_proof_asks():
    assert proof_errors(method="jwt", issuer=None) == [("issuer", "must be a non-empty string")]
    for uri in ("http://a.example/k", "http://127.0.0.1/k", "a.example", "https://"):
        assert proof_errors(method="jwt", jwks_uri=uri) == [("jwks_uri", "must be an https URL")]
    assert proof_errors(method="jwt", public_key=None, jwks_uri="https://a.example/k") == []
    assert proof_errors(method="detached-signature", public_key=None, allowed_signers="s") == []
    assert proof_errors(method="detached-signature", issuer=None) == []
    for name in ("ca_certificate", "ca_certificate_from"):
        text = "x" if name == "ca_certificate" else {"literal": "x"}
        assert proof_errors(method="certificate", public_key=None, **{name: text}) == [
            (name, "is not an X.509 certificate in PEM format")
        ]
    assert proof_errors(method="certificate", public_key=None, ca_certificate_from={"file": "ca"}) == []
    for name in ("subject", "issuer"):
        assert proof_errors(method="certificate", claims={name: 5}) == [
            (f"claims.{name}", "must be a string")
        ]
    assert proof_errors(method="jwt", claims={"subject": 5}) == []
    for required in (False, None):
        assert proof_errors(method="none", verify={"required": required}) == []


def test_structural_checks_belong_to_0_2():
    profiles = {"identity": {**BEARER, "provider": "x"}, "proof": {**PROOF, "jwks_uri": None}}

    assert provider_rules_judged(**profiles, version="0.1")["ok"] is True


HOSTILE = [5, "x", [], {"a": {}}, None, True]


@pytest.mark.parametrize("folder", ["identities", "authorizers", "proofs", "evidences"])
@pytest.mark.parametrize("value", HOSTILE)
def test_no_profile_makes_a_check_fail(folder, value):
    names = (
        "provider_config auth subject trust presentation proof claims verify methods public_key jwks_uri issuer "
        "ca_certificate ca_certificate_from allowed_signers"
    ).split()
    for found in listed(folder):
        for name in names:
            found.check({"id": "p", name: value})
        if isinstance(value, dict | None):
            continue
        config = dict.fromkeys(CONFIG_NAMES, value)
        found.check(
            {"id": "p", "provider_config": config, "auth": {"provider_config": config, "inputs": config}}
        )


CONFIG_NAMES = (
    "token_env token_file token_endpoint client_id client_secret subject_token resource endpoint role_arn region "
    "session_name duration_seconds scopes audience svid_file public_key_pem jwks jwks_file tenant_id blueprint_app_id "
    "agent_identity_id key_strategy account_mode permission_sets scope_hierarchy master_key_source scope_permissions "
    "rego bundle policies entities policy_path api_key public_key key_path"
).split()


@requirement("agentcli:providers:bearers")
def test_every_kind_has_the_documented_entries():
    assert set(known("identities")) == set(
        (
            "none env-bearer file-bearer oidc-client-credentials oidc-token-exchange azure-managed-identity "
            "aws-sts-assume-role gcp-workload-identity spiffe-jwt-svid entra-agent-id stripe-api-key"
        ).split()
    )
    assert {"none", "opa", "cedar", "topaz"} == set(known("authorizers"))
    assert {"none", "jwt", "detached-signature", "certificate"} == set(known("proofs"))
    assert {"none", "ssh", "in-toto"} == set(known("evidences"))
