"""Profiles of every kind in whole manifests: what the validator says about them, and where."""

from typing import Any

import pytest

from operable.flow.contracts import known, listed
from operable.flow.manifest.validation import validate
from tests.flow.manifests import manifest, shell_task
from tests.flow.proofs.tokens import RSA, pem
from tests.requirement import requirement

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


def judged(identity=BEARER, proof=PROOF, policy=POLICY, evidence=EVIDENCE, version="0.2"):
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
    assert judged() == {"ok": True, "errors": [], "warnings": []}


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
    assert {"path": path, "message": message} in judged(**profiles)["errors"]


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
    assert {"path": IDENTITY, "message": message} in judged(identity={**BEARER, **changed})["errors"]


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
    assert {"path": IDENTITY, "message": message} in judged(identity={**BEARER, **changed})["errors"]


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
    assert judged(identity={**BEARER, **changed})["errors"] == []


@requirement("agentcli:validation:providers")
def test_what_another_provider_can_do_is_accepted_there():
    azure = {"id": "bot", "provider": "azure-managed-identity", "auth": {"mode": "service", "refresh": "auto", "resource": "r"}}  # fmt: skip
    stripe = {"id": "bot", "provider": "stripe-api-key", **binding(kind="file", name="x")}
    spiffe = {"id": "bot", "provider": "spiffe-jwt-svid", "trust": {"level": "untrusted"}}

    assert judged(identity=azure)["errors"] == []
    words = 'presentation.bindings[0].target.kind "file" is not supported by provider "stripe-api-key"'
    assert {"path": IDENTITY, "message": words} in judged(identity=stripe)["errors"]
    words = 'trust.level "untrusted" is not supported by provider "spiffe-jwt-svid"'
    assert {"path": IDENTITY, "message": words} in judged(identity=spiffe)["errors"]
    exchange = {"id": "bot", "provider": "oidc-token-exchange", "auth": {"mode": "exchange"}, "presentation": {"handoff": "downscope"}}  # fmt: skip
    said = " ".join(found["message"] for found in judged(identity=exchange)["errors"])
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
    found = judged(proof=profile)["errors"]
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

    assert judged(**profiles, version="0.1")["ok"] is True


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
