"""The handoff artifact: the digests that other implementations publish for the same manifest."""

from typing import Any

import pytest

from operable.flow.canonical import canonical_digest, hash_text
from operable.flow.compile.binding import child_environment, execution_binding, task_hash
from operable.flow.compile.handoff.artifact import handoff_fields
from operable.flow.compile.job.binding import job_binding, job_binding_digest, rebound
from operable.flow.compile.plan import plans
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.manifest.failure_handlers import expand
from operable.flow.scheduler.specs import Handoffs
from tests.flow.manifests import manifest, prompt_task, shell_task
from tests.flow.proofs.tokens import RSA, pem
from tests.requirement import requirement

ENVIRONMENT = {
    "HOME": "/home/fixture", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "LC_CTYPE": "C.UTF-8", "LOGNAME": "fixture",
    "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "TERM": "dumb", "TMPDIR": "/tmp", "USER": "fixture",
}  # fmt: skip
TASK = {
    "id": "positive", "name": "Positive artifact fixture", "target": {"session_target": "shell"},
    "shell": {"program": "/usr/bin/printf", "args": ["%s\\n", "handoff-v4"]}, "schedule": {"cron": "17 3 * * *"},
    "runtime": {"timeout_ms": 30000}, "delivery": {"mode": "none"}, "output": {"format": "text"}, "contract": {"audit": "always"},
    "approval": {"required": True, "policy": "manual", "risk_level": "medium", "timeout_s": 300},
}  # fmt: skip
MANIFEST: dict[str, Any] = {
    "version": "0.1",
    "workflows": [{"id": "fixture", "name": "Handoff v4 fixture", "tasks": [TASK]}],
}


def fields(manifest, **overrides):
    workflow = manifest["workflows"][0]
    job = rebound(compile_manifest(manifest, "openclaw-scheduler")["jobs"][0], overrides)
    plan = plans(manifest)[0][1][0]
    return handoff_fields(
        expand(manifest), workflow, workflow["tasks"][0], plan, job, ambient=ENVIRONMENT, base="/workspace"
    )


@requirement("agentcli:handoff:published-digests")
def test_the_published_digests_of_the_fixture_come_out():
    workflow = MANIFEST["workflows"][0]
    binding = execution_binding(
        expand(MANIFEST),
        workflow,
        TASK,
        environment=child_environment(ENVIRONMENT, None),
        base="/workspace",
        version=2,
    )
    job = rebound(compile_manifest(MANIFEST, "openclaw-scheduler")["jobs"][0])

    assert (
        canonical_digest(MANIFEST)
        == "sha256:03afcc6f88e60a7e3358578425ee79ff91d31b855e5ae97a8dc20495ef9f2dc4"
    )
    assert task_hash(binding) == "sha256:0d6b7a63ba7ff75811e5db236b84648dc9547d2ce3d22cdc42eec621c9ff98e4"
    assert (
        job_binding_digest(job) == "sha256:daac076adbaaac470e748f94d66297b3b018910867d817b78c3bc24768ffa2e6"
    )
    assert fields(MANIFEST)["handoff_artifact_digest"] == (
        "sha256:ffc67fa20585fd9e6b94f8a12f3be45c6a826f948b577aeb2e28d82fdef5c9d4"
    )


@requirement("agentcli:handoff:rebinding")
def test_what_may_be_given_later_changes_the_digest_and_nothing_else_may_be():
    plain, later = fields(MANIFEST), fields(MANIFEST, job_class="batch")

    assert plain["handoff_artifact_digest"] != later["handoff_artifact_digest"]
    assert plain["effective_task_hash"] == later["effective_task_hash"]
    with pytest.raises(FlowError, match="name cannot be changed") as refused:
        fields(MANIFEST, name="other")
    assert refused.value.flow_code == "HANDOFF_REBIND_OVERRIDE_INVALID"


@requirement("agentcli:handoff:media")
def test_credentials_of_one_task_travel_by_one_medium():
    def with_bindings(*kinds):
        bindings = [
            {"source": f"credentials.{kind}", "target": {"kind": kind, "name": kind.upper()}}
            for kind in kinds
        ]
        task = shell_task(identity={"scope": "s", "presentation": {"bindings": bindings}})
        return {"version": "0.1", "workflows": [{"id": "w", "name": "W", "tasks": [task]}]}

    presentation = fields(with_bindings("env"))["handoff_artifact_payload"]["identity"]["presentation"]
    assert presentation["handoff"] == "env"
    assert presentation["bindings"][0]["env_key"] == "ENV"
    with pytest.raises(FlowError) as mixed:
        fields(with_bindings("env", "file"))
    assert mixed.value.flow_code == "HANDOFF_PRESENTATION_MIXED_MEDIA"


@requirement("agentcli:handoff:secrets-hashed")
def test_neither_arguments_nor_environment_are_in_the_artifact():
    task = shell_task(shell={"program": "x", "args": ["--token=hush"]})
    payload = fields({"version": "0.1", "workflows": [{"id": "w", "name": "W", "tasks": [task]}]})

    assert "hush" not in str(payload["handoff_artifact_payload"])
    assert "/home/fixture" not in str(payload["handoff_artifact_payload"])


@requirement("agentcli:handoff:media")
@pytest.mark.parametrize(
    "target, medium, env_key, file_name",
    [
        ({"kind": "env", "name": "TOKEN"}, "env", "TOKEN", None),
        ({"kind": "file", "name": "key.pem", "expose_as": "KEY_FILE"}, "temp-file", "KEY_FILE", "key.pem"),
        ({"kind": "file", "prefix": "key-"}, "temp-file", None, "key-"),
        ({"kind": "stdin", "expose_as": "IGNORED"}, "stdin", None, None),
    ],
)
def test_a_credential_is_presented_under_the_names_of_its_medium(target, medium, env_key, file_name):
    bindings = [{"source": "access_token", "target": target}]
    task = shell_task(identity={"scope": "s", "presentation": {"bindings": bindings}})
    [binding] = made(task)["identity"]["presentation"]["bindings"]

    assert [binding[name] for name in ("medium", "env_key", "file_name")] == [medium, env_key, file_name]


@requirement("agentcli:handoff:published-digests")
@pytest.mark.parametrize(
    "task, kind", [(prompt_task(), "prompt"), (prompt_task(target={"session_target": "main"}), "system")]
)
def test_a_prompt_has_the_digest_of_no_program_and_no_arguments(task, kind):
    command = made(task)["command"]

    assert (command["kind"], command["program"], command["args_sha256"]) == (kind, None, [])
    assert command["argv_sha256"] == canonical_digest([None])


def test_allowed_paths_are_bound_as_the_list_that_they_are():
    job = rebound(
        compile_manifest(
            manifest(shell_task(contract={"allowed_paths": ["/b", "/a"]})), "openclaw-scheduler"
        )["jobs"][0]
    )

    assert job["contract_allowed_paths"] == '["/b","/a"]'
    assert job_binding(job)["contract"]["allowed_paths"] == ["/b", "/a"]
    assert job_binding({**job, "contract_allowed_paths": None})["contract"]["allowed_paths"] is None


def with_evidence(**profile):
    return manifest(
        shell_task(evidence={"ref": "e"}), evidence_profiles=[{"id": "e", "provider": "ssh", **profile}]
    )


@requirement("agentcli:handoff:secrets-hashed")
def test_evidence_is_declared_by_hashes_with_the_methods_of_its_provider_and_always_signed():
    value = with_evidence(
        provider_config={"key_path": "/hush"}, payload={"bind": ["command"]}, verify={"required": False}
    )
    [job] = compile_manifest(value, "openclaw-scheduler")["jobs"]

    bound = Handoffs(value, ambient={}, base="/").bound(job)
    declared, artifact = bound["evidence"], bound["handoff_artifact_payload"]["evidence"]

    assert declared["methods"] == artifact["methods"] == ["ssh-signature"]
    assert declared["provider_config"] is None
    assert declared["provider_config_hash"] == canonical_digest({"key_path": "/hush"})
    assert declared["payload_hash"] == canonical_digest(declared["payload"])
    assert [artifact[name] for name in ("payload_hash", "provider_config_hash")] == [
        declared["payload_hash"],
        declared["provider_config_hash"],
    ]
    assert (artifact["verify_required"], artifact["signed_or_provider_verified_required"]) == (False, True)
    assert job_binding(bound)["evidence"]["declaration"] == declared
    assert "hush" not in str(bound)


def test_without_evidence_nothing_is_declared_and_nothing_need_be_signed():
    evidence = made(shell_task())["evidence"]

    assert evidence["signed_or_provider_verified_required"] is False
    assert evidence["payload_hash"] is evidence["provider_config_hash"] is None


def test_how_a_proof_is_verified_is_bound_by_one_hash_in_which_keys_are_hashes():
    profile = {
        "id": "p", "method": "jwt", "issuer": "i", "public_key": pem(RSA), "proof": {"value_from": {"env": "P"}},
        "verify": {"required": True},
    }  # fmt: skip
    value = manifest(shell_task(authorization_proof={"ref": "p"}), authorization_proof_profiles=[profile])
    context = {
        "jwks_uri": None, "public_key_hash": hash_text(pem(RSA)), "allowed_signers": None, "principal": None, "namespace": None,
        "ca_certificate_hash": None, "ca_certificate_from_hash": None, "verify": {"required": True},
    }  # fmt: skip

    proof = fields(value)["handoff_artifact_payload"]["authorization_proof"]

    assert proof["verification_context_hash"] == canonical_digest(context)


def made(*tasks, **members):
    return fields(manifest(*tasks, version="0.1", **members))["handoff_artifact_payload"]


@requirement("agentcli:handoff:published-digests")
def test_constants_and_sections_of_an_artifact():
    payload = fields(MANIFEST)["handoff_artifact_payload"]

    assert (
        list(payload)
        == (
            "schema artifact_schema_version handoff_version scheduler_schema_min canonicalization execution_binding_version "
            "scheduler_job_binding manifest compiled lifecycle command runtime approval identity contract authorization_proof "
            "authorization evidence verification output child_credential_policy intent delegation"
        ).split()
    )
    assert [payload[name] for name in list(payload)[:6]] == [
        "openclaw.scheduler.handoff-artifact", 1, 4, 29,
        {"name": "json-sort-v1", "version": 1, "digest": "sha256", "undefined": "null"}, 2,
    ]  # fmt: skip
    assert payload["scheduler_job_binding"]["version"] == 1
    assert fields(MANIFEST)["handoff_version"] == 4
    assert list(fields(MANIFEST)) == (
        "handoff_version handoff_artifact_digest handoff_artifact_payload effective_task_hash".split()
    )


@requirement("agentcli:handoff:published-digests")
def test_what_a_task_says_is_in_its_sections():
    task = shell_task(
        enabled=False, delete_after_run=True, child_credential_policy="inherit", intent={"mode": "plan", "read_only": True},
        approval={"policy": "manual", "timeout_s": 9, "auto": "approve", "risk_level": "high", "approver_scope": "user:a"},
        contract={
            "sandbox": "strict", "allowed_paths": ["/a"], "network": "none", "max_cost_usd": 2.5, "audit": "always",
            "required_trust_level": "restricted", "trust_enforcement": "strict",
        },
        output={"format": "json", "preview_bytes": 64}, verify={"shell": "v", "timeout_seconds": 3, "on_failure": "warn"},
        authorization={"ref": "z"}, runtime={"timeout_ms": 7}, target={"session_target": "shell", "agent_id": "ops"},
        shell={"program": "x", "args": ["a", "b"], "cwd": "/nowhere"},
    )  # fmt: skip
    policy = {"id": "z", "provider": "opa", "provider_config": {"endpoint": "e"}, "on_error": "deny", "request": {"include": ["identity"]}, "decision": {"allow_values": ["y"]}}  # fmt: skip
    found = made(task, authorization_profiles=[policy])

    assert found["lifecycle"] == {
        "enabled": False, "delete_after_run": True,
        "target": {"session_target": "shell", "agent_id": "ops", "payload_kind": "shellCommand"},
    }  # fmt: skip
    assert found["runtime"] == {"timeout_ms": 7, "instance_id": {"kind": "deferred", "source": "run.id"}}
    assert found["approval"] == {
        "required": True, "timeout_s": 9, "auto": "approve", "risk_level": "high", "approver_scope": "user:a",
    }  # fmt: skip
    verified = hash_text("cd '/nowhere' && 'sh' '-c' 'v'")
    assert found["contract"] == {
        "required_trust_level": "restricted", "trust_enforcement": "strict", "sandbox": "strict",
        "allowed_paths_sha256": canonical_digest(["/a"]), "network": "none", "max_cost_usd": 2.5, "audit": "always",
        "postcondition": {
            "output_format": "json", "verify_shell_sha256": verified, "verify_timeout_s": 3, "verify_on_failure": "warn",
        },
    }  # fmt: skip
    assert found["authorization"] == {
        "ref": "z", "provider": "opa", "policy_digest": canonical_digest({"endpoint": "e"}), "on_error": "deny",
        "request_hash": canonical_digest({"include": ["identity"]}), "decision_hash": canonical_digest({"allow_values": ["y"]}),
    }  # fmt: skip
    assert found["verification"] == {"shell_sha256": verified, "timeout_s": 3, "on_failure": "warn"}
    assert found["output"] == {
        "format": "json", "store_limit_bytes": 65536, "excerpt_limit_bytes": 64, "summary_limit_bytes": 5000,
        "offload_threshold_bytes": 65536,
    }  # fmt: skip
    assert found["child_credential_policy"] == "inherit"
    assert found["intent"] == {"mode": "plan", "read_only": True}
    arguments = [hash_text("a"), hash_text("b")]
    assert found["command"] == {
        "kind": "shell", "program": "x", "args_count": 2, "args_sha256": arguments, "argv_sha256": canonical_digest(["x", *arguments]),
        "cwd": "/nowhere", "stdin_sha256": None, "prompt_sha256": None, "input_sha256": None,
        "payload_message_sha256": hash_text("cd '/nowhere' && 'x' 'a' 'b'"),
        "env": {
            "declared_env_sha256": None, "effective_env_keys": sorted(ENVIRONMENT),
            "effective_env_value_sha256": {name: hash_text(value) for name, value in ENVIRONMENT.items()},
        },
    }  # fmt: skip


@requirement("agentcli:handoff:published-digests")
def test_a_prompt_is_bound_as_its_hash_and_has_no_environment():
    command = made(prompt_task())["command"]

    assert (command["kind"], command["program"], command["args_count"], command["args_sha256"]) == ("prompt", None, 0, [])  # fmt: skip
    assert command["prompt_sha256"] == command["payload_message_sha256"] == hash_text("do it")
    assert command["env"]["effective_env_keys"] == []
    assert (command["cwd"], command["stdin_sha256"]) == (None, None)


@requirement("agentcli:handoff:defaults")
@pytest.mark.parametrize(
    "policy, iterations, mode, depth, per_hop",
    [
        (None, None, None, 16, False),
        (None, 3, None, 3, False),
        ({"max_depth": 2}, 3, None, 2, False),
        (None, None, "none", 16, False),
        (None, None, "on-behalf-of", 16, True),
        (None, None, "impersonation", 16, True),
        ({"require_grant_per_hop": False}, None, "impersonation", 16, False),
        ({"require_grant_per_hop": True}, None, None, 16, True),
    ],
)
def test_defaults_of_delegation(policy, iterations, mode, depth, per_hop):
    identity = {"scope": "s", "subject": {"delegation_mode": mode}, "auth": {"delegation_policy": policy}}
    found = made(shell_task(identity=identity, budgets={"max_iterations": iterations}))["delegation"]

    assert found == {
        "mode": mode, "source_binding": "source_run_id", "max_depth": depth, "target_scope": "s", "allowed_delegators": [],
        "allowed_delegators_hash": canonical_digest([]), "require_grant_per_hop": per_hop,
    }  # fmt: skip


@requirement("agentcli:handoff:defaults")
def test_delegators_are_sorted_as_javascript_sorts_unique_and_names():
    def delegation(delegators):
        policy = {"allowed_delegators": delegators}
        return made(shell_task(identity={"scope": "s", "auth": {"delegation_policy": policy}}))["delegation"]

    found = delegation(["b", "\uff21", "a", "\U0001f600", "b"])
    assert found["allowed_delegators"] == ["a", "b", "\U0001f600", "\uff21"]
    assert found["allowed_delegators_hash"] == canonical_digest(["a", "b", "\U0001f600", "\uff21"])
    for wrong in (["a", 5], ["a", {"b": 1}], ["a", None]):
        with pytest.raises(
            FlowError, match=r"artifact\.delegation\.allowed_delegators\[1\] must be string"
        ) as refused:
            delegation(wrong)
        assert refused.value.flow_code == "HANDOFF_ARTIFACT_INVALID"


@requirement("agentcli:handoff:defaults")
@pytest.mark.parametrize("method", ["jwt", "detached-signature", "certificate", "none"])
def test_a_proof_that_can_be_verified_is_bound_to_the_artifact_used_once_and_not_revoked(method):
    profile = {"id": "p", "method": method, "issuer": "i", "audience": "a", "claims": {"x": 1}, "proof": {"value_from": {"env": "E"}}}  # fmt: skip
    found = made(shell_task(authorization_proof={"ref": "p"}), authorization_proof_profiles=[profile])["authorization_proof"]  # fmt: skip
    nothing = made(shell_task())["authorization_proof"]

    for name in ("artifact_binding_required", "replay_protection_required", "revocation_check_required"):
        assert found[name] is (method != "none")
        assert nothing[name] is False
    assert [found[name] for name in ("ref", "method", "issuer", "audience")] == ["p", method, "i", "a"]
    assert found["claims_hash"] == canonical_digest({"x": 1})
    assert found["proof_source_hash"] == canonical_digest({"value_from": {"env": "E"}})
    assert [nothing[name] for name in nothing if name.endswith("_hash")] == [None] * 3


@requirement("agentcli:handoff:defaults")
def test_evidence_is_bound_by_hashes_of_its_payload_and_configuration():
    profile = {"id": "e", "provider": "ssh", "methods": ["ssh-signature"], "provider_config": {"key_path": "k"}, "payload": {"bind": ["result"]}}  # fmt: skip
    found = made(shell_task(evidence={"ref": "e", "verify": {"required": True}}), evidence_profiles=[profile])["evidence"]  # fmt: skip
    nothing = made(shell_task())["evidence"]

    assert [found[name] for name in ("ref", "provider", "methods", "payload_bind", "verify_required", "retention")] == [
        "e", "ssh", ["ssh-signature"], ["result"], True, None,
    ]  # fmt: skip
    assert found["payload_hash"] == canonical_digest({"bind": ["result"], "context": None, "format": None})
    assert found["provider_config_hash"] == canonical_digest({"key_path": "k"})
    assert found["signed_or_provider_verified_required"] is True
    assert nothing == {
        "ref": None, "provider": None, "methods": [], "payload_bind": [], "payload_hash": None, "provider_config_hash": None,
        "verify_required": False, "retention": None, "signed_or_provider_verified_required": False,
    }  # fmt: skip


@requirement("agentcli:handoff:media")
@pytest.mark.parametrize(
    "kind, task, medium",
    [
        ("env", shell_task, "env"),
        ("env", prompt_task, "gateway-env-header"),
        ("file", shell_task, "temp-file"),
        ("file", prompt_task, "temp-file"),
        ("stdin", shell_task, "stdin"),
        ("none", shell_task, "none"),
    ],
)
def test_the_medium_of_each_kind_of_target(kind, task, medium):
    binding = {"source": "credentials.x", "target": {"kind": kind, "name": "N"}}
    identity = {"scope": "s", "presentation": {"bindings": [binding, binding]}}
    found = made(task(identity=identity))["identity"]["presentation"]

    assert found["handoff"] == medium
    assert [each["medium"] for each in found["bindings"]] == [medium] * 2
    main = made(prompt_task(target={"session_target": "main"}, identity=identity))["identity"]["presentation"]
    assert main["handoff"] == ("env" if kind == "env" else medium)


@requirement("agentcli:handoff:media")
@pytest.mark.parametrize(
    "binding, presentation, expected",
    [
        ({}, {}, {"required": True, "redact": True, "format": "raw"}),
        ({}, {"default_redaction": False}, {"required": True, "redact": False, "format": "raw"}),
        ({"redact": True}, {"default_redaction": False}, {"required": True, "redact": True, "format": "raw"}),
        ({"required": False, "redact": False, "format": "json"}, {}, {"required": False, "redact": False, "format": "json"}),
    ],
)  # fmt: skip
def test_defaults_of_a_binding(binding, presentation, expected):
    whole = {"source": "credentials.x", "target": {"kind": "env", "name": "N"}, **binding}
    found = made(shell_task(identity={"presentation": {"bindings": [whole], **presentation}}))

    assert found["identity"]["presentation"] == {
        "mode": "none",
        "handoff": "env",
        "bindings": [
            {
                "name": "credentials.x", "medium": "env", "env_key": "N", "file_name": None,
                "source_hash": hash_text("credentials.x"), **expected,
            }
        ],
        "default_redaction": presentation.get("default_redaction"),
        "cleanup": "always",
    }  # fmt: skip


@requirement("agentcli:handoff:media")
def test_a_binding_may_have_a_name_and_without_a_target_it_travels_by_no_medium():
    bindings = [
        {"source": "credentials.x", "name": "token", "target": {"kind": "env", "name": "N"}},
        {"source": "credentials.y"},
    ]
    found = made(
        shell_task(
            identity={"presentation": {"bindings": bindings, "handoff": "downscope", "cleanup": "never"}}
        )
    )
    presentation = found["identity"]["presentation"]

    assert [(each["name"], each["medium"]) for each in presentation["bindings"]] == [
        ("token", "env"),
        ("credentials.y", "none"),
    ]
    assert (presentation["handoff"], presentation["mode"], presentation["cleanup"]) == (
        "env",
        "downscope",
        "never",
    )


@requirement("agentcli:handoff:defaults")
def test_an_identity_is_bound_by_hashes_of_its_subject_and_its_auth():
    profile = {"id": "i", "provider": "env-bearer", "subject": {"kind": "agent", "principal": "p", "attributes": {"k": 1}}, "auth": {"mode": "service", "inputs": {"t": 1}}, "trust": {"level": "restricted"}}  # fmt: skip
    found = made(shell_task(identity={"ref": "i", "scope": "s"}), identity_profiles=[profile])["identity"]
    subject = {"kind": "agent", "principal": "p", "display_name": None, "run_as": None, "issuer": None, "delegation_mode": None, "attributes_hash": canonical_digest({"k": 1})}  # fmt: skip
    auth = {
        **dict.fromkeys("scopes audience resource cache refresh required delegation_policy provider_config_hash".split()),
        "mode": "service", "inputs_hash": canonical_digest({"t": 1}),
    }  # fmt: skip

    assert {name: value for name, value in found.items() if name != "presentation"} == {
        "ref": "i", "provider": "env-bearer", "scope": "s", "subject_kind": "agent", "subject_principal": "p",
        "subject_hash": canonical_digest(subject), "auth_hash": canonical_digest(auth), "trust_level": "restricted",
        "delegation_mode": None,
    }  # fmt: skip
