"""The job of a task for openclaw-scheduler: every field in its order, with its defaults, numbers and limits."""

import json
from typing import Any

import jsonschema_rs
import pytest

from operable.flow.canonical import canonical_digest, stable_id
from operable.flow.compile.job.fields import REBINDABLE, V1, V2, V3, V4
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from operable.flow.manifest.json_schema import schema
from operable.flow.scheduler.specs import Handoffs
from tests.flow.manifests import Json, manifest, prompt_task, shell_task, triggered
from tests.requirement import requirement


def jobs_of(*tasks: Json, **members: Any) -> list[Json]:
    found: list[Json] = compile_manifest(manifest(*tasks, **members), "openclaw-scheduler")["jobs"]
    return found


def job_of(*tasks: Json, **members: Any) -> Json:
    return jobs_of(*tasks, **members)[0]


NOTHING: Json = {
    "id": stable_id("w", "a"),
    "source": {"workflow_id": "w", "task_id": "a"},
    "name": "A",
    "enabled": 1,
    "schedule_cron": "0 9 * * *",
    "schedule_tz": "UTC",
    "session_target": "shell",
    "agent_id": "main",
    "payload_kind": "shellCommand",
    "payload_message": "'echo' 'hi'",
    "payload_model": None,
    "payload_thinking": None,
    "execution_intent": "execute",
    "execution_read_only": 0,
    "run_timeout_ms": 300000,
    "overlap_policy": "skip",
    "max_retries": 0,
    "max_queued_dispatches": 25,
    "max_pending_approvals": 10,
    "max_trigger_fanout": 25,
    "delivery_mode": "none",
    "delivery_channel": None,
    "delivery_to": None,
    "delivery_opt_out_reason": None,
    "delivery_guarantee": "at-most-once",
    "origin": "system",
    "parent_id": None,
    "trigger_on": None,
    "trigger_delay_s": 0,
    "trigger_condition": None,
    "approval_required": 0,
    "approval_timeout_s": 3600,
    "approval_auto": "reject",
    "approval_risk_level": None,
    "approval_approver_scope": None,
    "context_retrieval": "none",
    "context_retrieval_limit": 5,
    "output_store_limit_bytes": 65536,
    "output_excerpt_limit_bytes": 2000,
    "output_summary_limit_bytes": 5000,
    "output_offload_threshold_bytes": 65536,
    "output_format": None,
    "preferred_session_key": None,
    "auth_profile": None,
    "identity_principal": None,
    "identity_run_as": None,
    "identity_attestation": None,
    "contract_sandbox": None,
    "contract_allowed_paths": None,
    "contract_network": None,
    "contract_max_cost_usd": None,
    "contract_audit": None,
    "identity_ref": None,
    "identity_subject_kind": None,
    "identity_subject_principal": None,
    "identity_trust_level": None,
    "identity_delegation_mode": None,
    "identity": None,
    "authorization_proof_ref": None,
    "authorization_proof": None,
    "authorization_ref": None,
    "authorization": None,
    "evidence_ref": None,
    "evidence": None,
    "contract_required_trust_level": None,
    "contract_trust_enforcement": None,
    "child_credential_policy": None,
    "verify_shell": None,
    "verify_timeout_s": None,
    "verify_on_failure": None,
    "delete_after_run": 0,
}


@requirement("agentcli:compile:scheduler", "agentcli:compile:scheduler-governance")
def test_a_task_that_says_nothing_has_every_default_in_the_documented_order():
    assert json.dumps(job_of(shell_task())) == json.dumps(NOTHING)


@requirement("agentcli:compile:scheduler")
@pytest.mark.parametrize(
    "said, expected",
    [
        ({"enabled": False}, {"enabled": 0}),
        ({"approval": {"policy": "auto-reject"}}, {"enabled": 0, "approval_auto": "reject"}),
        ({"approval": {"policy": "auto-approve"}}, {"approval_auto": "approve"}),
        ({"approval": {"required": False}}, {}),
        ({"approval": {"required": True}}, {"approval_required": 1}),
        (
            {"approval": {"policy": "manual", "timeout_s": 5, "auto": "approve", "risk_level": "low", "approver_scope": "user:a"}},
            {
                "approval_required": 1, "approval_timeout_s": 5, "approval_auto": "approve", "approval_risk_level": "low",
                "approval_approver_scope": "user:a",
            },
        ),
        ({"schedule": {"cron": "1 2 * * *", "tz": "Asia/Tokyo"}}, {"schedule_cron": "1 2 * * *", "schedule_tz": "Asia/Tokyo"}),
        ({"target": {"session_target": "shell", "agent_id": "ops"}}, {"agent_id": "ops"}),
        ({"model_policy": {"provider": "p", "model": "m", "thinking": "t"}}, {"payload_model": "p/m", "payload_thinking": "t"}),
        ({"intent": {"mode": "plan", "read_only": True}}, {"execution_intent": "plan", "execution_read_only": 1}),
        ({"intent": {"read_only": False}}, {}),
        ({"runtime": {"timeout_ms": 7}}, {"run_timeout_ms": 7}),
        (
            {"reliability": {"guarantee": "at-least-once", "overlap_policy": "queue", "max_retries": 2}},
            {"delivery_guarantee": "at-least-once", "overlap_policy": "queue", "max_retries": 2},
        ),
        (
            {"budgets": {"max_fanout": 2, "max_pending_approvals": 3, "max_queued_dispatches": 4, "max_context_items": 6}},
            {"max_trigger_fanout": 2, "max_pending_approvals": 3, "max_queued_dispatches": 4, "context_retrieval_limit": 6},
        ),
        (
            {"delivery": {"mode": "announce", "channel": "c", "to": "t"}},
            {"delivery_mode": "announce", "delivery_channel": "c", "delivery_to": "t"},
        ),
        ({"context": {"retrieval": "recent", "limit": 8}}, {"context_retrieval": "recent", "context_retrieval_limit": 8}),
        ({"output": {"format": "ndjson"}}, {"output_format": "ndjson"}),
        ({"session": {"preferred_key": "k"}, "auth_profile": "p"}, {"preferred_session_key": "k", "auth_profile": "p"}),
        (
            {"contract": {
                "sandbox": "strict", "allowed_paths": ["/a", "b c", "é"], "network": "none", "max_cost_usd": 2.5, "audit": "always",
                "required_trust_level": "restricted", "trust_enforcement": "advisory",
            }},
            {
                "contract_sandbox": "strict", "contract_allowed_paths": '["/a","b c","é"]', "contract_network": "none",
                "contract_max_cost_usd": 2.5, "contract_audit": "always", "contract_required_trust_level": "restricted",
                "contract_trust_enforcement": "advisory",
            },
        ),
        ({"contract": {"allowed_paths": []}}, {"contract_allowed_paths": "[]"}),
        ({"child_credential_policy": "inherit"}, {"child_credential_policy": "inherit"}),
        ({"verify": {"shell": "x"}}, {"verify_shell": "x", "verify_timeout_s": 30, "verify_on_failure": "error"}),
        (
            {"verify": {"shell": "it's", "timeout_seconds": 2, "on_failure": "warn"}, "shell": {"program": "x", "cwd": "/d"}},
            {
                "payload_message": "cd '/d' && 'x'", "verify_shell": "cd '/d' && 'sh' '-c' 'it'\"'\"'s'", "verify_timeout_s": 2,
                "verify_on_failure": "warn",
            },
        ),
        ({"delete_after_run": True}, {"delete_after_run": 1}),
        ({"delete_after_run": False}, {}),
    ],
)  # fmt: skip
def test_what_a_task_says_is_in_its_fields_and_changes_no_others(said, expected):
    assert json.dumps(job_of(shell_task(**said))) == json.dumps({**NOTHING, **expected})


@requirement("agentcli:compile:scheduler")
def test_a_triggered_job_has_the_cron_of_a_day_that_never_comes_and_points_to_its_parent():
    _, job = jobs_of(
        shell_task(), shell_task("b", **triggered("a", on="complete", delay_s=4, condition="contains:x"))
    )

    assert {name: value for name, value in job.items() if NOTHING[name] != value} == {
        "id": stable_id("w", "b"),
        "source": {"workflow_id": "w", "task_id": "b"},
        "name": "B",
        "schedule_cron": "0 0 31 2 *",
        "parent_id": stable_id("w", "a"),
        "trigger_on": "complete",
        "trigger_delay_s": 4,
        "trigger_condition": "contains:x",
    }


@requirement("agentcli:compile:scheduler")
@pytest.mark.parametrize(
    "task, silent",
    [
        (prompt_task(), True),
        (prompt_task(delivery={"mode": "none"}), True),
        (prompt_task(target={"session_target": "main", "payload_kind": "agentTurn"}), True),
        (prompt_task(delivery={"mode": "announce-always", "to": "x"}), False),
        (prompt_task(target={"session_target": "main"}), False),
        (prompt_task(**triggered("z")), False),
        (shell_task(), False),
    ],
)
def test_a_root_turn_that_tells_nobody_says_why(task, silent):
    said = "delivery intentionally disabled by the agentcli manifest" if silent else None

    assert job_of(task, shell_task("z"))["delivery_opt_out_reason"] == said


@requirement("agentcli:compile:scheduler")
@pytest.mark.parametrize(
    "output, numbers",
    [
        ({"preview_bytes": 64}, (65_536, 64, 5000, 65_536)),
        ({"preview_bytes": 20_000}, (65_536, 20_000, 20_000, 160_000)),
        ({"preview_bytes": 70_000}, (70_000, 70_000, 70_000, 560_000)),
        ({"preview_bytes": 16_385, "retrieve": "inline"}, (65_540, 16_385, 16_385, 131_080)),
        ({"preview_bytes": 16_384, "retrieve": "inline"}, (65_536, 16_384, 16_384, 131_072)),
        ({"preview_bytes": 70_000, "offload": "always"}, (70_000, 70_000, 70_000, 128)),
        ({"preview_bytes": 70_000, "offload": "never"}, (70_000, 70_000, 70_000, 1_048_576)),
        ({"preview_bytes": 300_000, "offload": "never", "retrieve": "inline"}, (1_200_000, 300_000, 300_000, 1_200_000)),
    ],
)  # fmt: skip
def test_numbers_of_an_output_policy(output, numbers):
    job = job_of(shell_task(output=output))
    names = "store_limit excerpt_limit summary_limit offload_threshold".split()

    assert tuple(job[f"output_{name}_bytes"] for name in names) == numbers


def too_long(field: str, length: int) -> list[Json]:
    text = "x" * length
    tasks: Json = {
        "name": [shell_task(name=text)],
        "payload_message": [prompt_task(prompt=text)],
        "verify_shell": [shell_task(verify={"shell": text})],
        "agent_id": [shell_task(target={"session_target": "shell", "agent_id": text})],
        "schedule_cron": [shell_task(schedule={"cron": text})],
        "schedule_tz": [shell_task(schedule={"cron": "* * * * *", "tz": text})],
        "delivery_channel": [shell_task(delivery={"channel": text})],
        "delivery_to": [shell_task(delivery={"to": text})],
        "trigger_condition": [
            shell_task(**triggered("z", condition="contains:" + text[9:])),
            shell_task("z"),
        ],
        "payload_model": [shell_task(model_policy={"model": text})],
        "payload_thinking": [shell_task(model_policy={"thinking": text})],
        "preferred_session_key": [shell_task(session={"preferred_key": text})],
    }
    found: list[Json] = tasks[field]
    return found


LIMITS = {
    "name": 200, "payload_message": 100_000, "verify_shell": 100_000, "agent_id": 128, "schedule_cron": 128, "schedule_tz": 128,
    "delivery_channel": 64, "delivery_to": 256, "trigger_condition": 1024, "payload_model": 256, "payload_thinking": 64,
    "preferred_session_key": 512,
}  # fmt: skip


def refused(*tasks: Json, **members: Any) -> list[tuple[str, str]]:
    with pytest.raises(FlowError) as caught:
        jobs_of(*tasks, **members)
    assert (caught.value.flow_code, caught.value.message) == (
        "validation_error",
        "Manifest validation failed",
    )
    found = caught.value.details["validation"]
    assert list(found) == ["ok", "errors", "warnings"]
    assert found["ok"] is False
    return [(each["path"], each["message"]) for each in found["errors"]]


@requirement("agentcli:compile:scheduler")
@pytest.mark.parametrize("field", LIMITS)
def test_a_text_that_does_not_fit_its_column_is_refused(field):
    limit = LIMITS[field]

    assert len(job_of(*too_long(field, limit))[field]) == limit
    assert refused(*too_long(field, limit + 1)) == [
        (
            f"$.workflows[0].tasks[0].{field}",
            f"compiled openclaw-scheduler {field} exceeds max length of {limit}",
        )
    ]


@requirement("agentcli:compile:scheduler")
def test_refusals_of_all_tasks_come_together_with_the_places_of_the_expanded_list():
    found = refused(
        shell_task(on_failure={"shell": {"program": "x", "env": {"A": "b"}}}),
        shell_task("b", schedule={"cron": "0 0 31 2 *"}),
        shell_task("c", shell={"program": "x", "stdin": "y", "env": {}}),
        shell_task("d", **triggered("c")),
    )

    assert [path for path, _ in found] == [
        "$.workflows[0].tasks[1].shell.env",
        "$.workflows[0].tasks[2].schedule.cron",
        "$.workflows[0].tasks[3].shell.stdin",
    ]
    assert "reserved at-job sentinel" in found[1][1]
    assert job_of(shell_task(shell={"program": "x", "env": {}}))["payload_message"] == "'x'"


@requirement("agentcli:compile:scheduler")
@pytest.mark.parametrize(
    "workflow, parent, child, allowed",
    [
        ("downscope", None, None, False),
        (None, "downscope", None, False),
        (None, None, "downscope", False),
        ("downscope", "inherit", None, True),
        ("downscope", "downscope", "independent", True),
        ("independent", None, "downscope", False),
        ("inherit", "downscope", "none", True),
        (None, None, None, True),
    ],
)
def test_whose_child_policy_counts_for_a_triggered_task(workflow, parent, child, allowed):
    policy = "child_credential_policy"
    tasks = [shell_task(**{policy: parent}), shell_task("b", **triggered("a"), **{policy: child})]
    value: Json = {"workflow": {policy: workflow}}

    if allowed:
        assert len(jobs_of(*tasks, **value)) == 2
    else:
        [(path, message)] = refused(*tasks, **value)
        assert path == "$.workflows[0].tasks[1].identity.scope"
        assert "declares no identity scope" in message


@requirement("agentcli:compile:scheduler")
def test_a_scope_from_anywhere_satisfies_the_rule_and_roots_need_none():
    policy = {"child_credential_policy": "downscope"}
    child = shell_task("b", **triggered("a"))

    assert len(jobs_of(shell_task(), workflow=policy)) == 1
    assert len(jobs_of(shell_task(), child, workflow={**policy, "identity": {"scope": "read"}})) == 2
    [(path, _)] = refused(shell_task(on_failure={"prompt": "x"}), workflow=policy)
    assert path == "$.workflows[0].tasks[1].identity.scope"


@requirement("agentcli:compile:scheduler")
def test_the_fields_of_each_version_are_the_documented_ones():
    assert [len(fields) for fields in (V1, V2, V3, V4, REBINDABLE)] == [41, 26, 3, 19, 16]
    of_v2 = [name for name in NOTHING if name in V2]
    assert set(V2) == set(of_v2)
    assert {"identity_principal", "contract_audit", "child_credential_policy", "verify_shell"} < set(V2)
    assert V3 == ["approval_risk_level", "approval_approver_scope", "output_format"]
    assert V4[:4] == "handoff_version handoff_artifact_digest handoff_artifact_payload effective_task_hash".split()  # fmt: skip
    assert set(REBINDABLE) == {*V4[4:], "origin"}
    assert set(NOTHING) == {*V1, *V2, *V3, "source"}
    assert not set(V1) & set(V2)
    assert not set(V3) & {*V1, *V2}


@requirement("agentcli:compile:scheduler", "agentcli:compile:version")
def test_the_output_has_its_members_in_order_and_profiles_only_when_there_are_some():
    names = "identity_profiles authorization_proof_profiles authorization_profiles evidence_profiles".split()
    some: Json = {name: [{"id": "x", **({"method": "none"} if "proof" in name else {"provider": "none"})}] for name in names}  # fmt: skip

    none: Json = {name: [] for name in names}
    plain = compile_manifest(manifest(**none), "openclaw-scheduler")
    full = compile_manifest(manifest(**some), "openclaw-scheduler", explain=True, field_version="4")

    assert list(plain) == ["target", "version", "handoff", "jobs"]
    assert list(full) == ["target", "version", "handoff", "jobs", *names, "explain"]
    assert json.dumps(plain["handoff"]) == json.dumps(
        {"field_version": "3", "v1_field_count": 41, "v2_field_count": 67, "v3_field_count": 70, "v4_field_count": 89}
    )  # fmt: skip
    assert full["handoff"]["field_version"] == "4"
    assert (full["target"], full["version"]) == ("openclaw-scheduler", "0.2")


@requirement("agentcli:compile:plans")
def test_an_explanation_has_its_members_in_order():
    output = compile_manifest(
        manifest(shell_task(), shell_task("b", **triggered("a"))), "openclaw-scheduler", explain=True
    )
    root, child = output["explain"]

    assert list(root) == (
        "workflow_id task_id compiled_id target invocation_mode notes model_policy intent output budgets".split()
    )
    assert [root[name] for name in list(root)[:6]] == [
        "w", "a", stable_id("w", "a"), "openclaw-scheduler", "schedule", ["Scheduled roots map directly to scheduler cron fields."],
    ]  # fmt: skip
    assert (child["invocation_mode"], len(child["notes"])) == ("trigger", 2)
    assert "sentinel cron" in child["notes"][0]
    assert root["model_policy"] == dict.fromkeys("provider model thinking scheduler_model".split())
    assert root["budgets"]["max_fanout"] == 25
    assert root["intent"] == {"mode": "execute", "read_only": None}
    assert root["output"]["preview_bytes"] == 2000


GOVERNED: Json = {
    "identity_profiles": [
        {
            "id": "i", "provider": "env-bearer", "provider_config": {"a": "canary"},
            "subject": {"kind": "service", "principal": "agent://x", "delegation_mode": "none", "attributes": {"k": "canary"}},
            "auth": {"mode": "service", "scopes": ["read"], "provider_config": {"token_env": "canary"}, "inputs": {"token": "canary"}},
            "trust": {"level": "restricted"}, "presentation": {"handoff": "none"},
        }
    ],
    "authorization_proof_profiles": [
        {"id": "p", "method": "jwt", "issuer": "i", "audience": "a", "proof": {"value_from": {"env": "E", "file": "f", "command": "canary"}}}
    ],
    "authorization_profiles": [{"id": "z", "provider": "opa", "provider_config": {"endpoint": "canary"}, "request": {"include": ["identity"]}}],
    "evidence_profiles": [{"id": "e", "provider": "ssh", "methods": ["ssh-signature"], "provider_config": {"key_path": "canary"}}],
}  # fmt: skip
REFERENCES: Json = {"identity": {"ref": "i", "scope": "s"}, "authorization_proof": {"ref": "p"}, "authorization": {"ref": "z"}, "evidence": {"ref": "e"}}  # fmt: skip


@requirement("agentcli:compile:scheduler-governance")
def test_blocks_of_a_governed_job_are_merged_whole_and_without_secrets():
    job = job_of(shell_task(**REFERENCES), version="0.1", **GOVERNED)

    assert [job[f"identity_{name}"] for name in ("ref", "subject_kind", "subject_principal", "trust_level", "delegation_mode")] == [
        "i", "service", "agent://x", "restricted", "none",
    ]  # fmt: skip
    assert [job[f"{name}_ref"] for name in ("authorization_proof", "authorization", "evidence")] == ["p", "z", "e"]  # fmt: skip
    assert job["identity"] == {
        "ref": "i",
        "scope": "s",
        "provider": "env-bearer",
        "subject": {
            "kind": "service", "principal": "agent://x", "display_name": None, "run_as": None, "issuer": None,
            "delegation_mode": "none", "attributes": None, "attributes_hash": canonical_digest({"k": "canary"}),
        },
        "auth": {
            "mode": "service", "scopes": ["read"], "audience": None, "resource": None, "cache": None, "refresh": None,
            "required": None, "delegation_policy": None, "provider_config": None, "inputs": None,
        },
        "trust": {
            "level": "restricted",
            "constraints": dict.fromkeys("escalation max_autonomy escalation_timeout require_justification".split()),
        },
        "presentation": {"bindings": None, "handoff": "none", "cleanup": None, "default_redaction": None},
    }  # fmt: skip
    assert job["authorization_proof"] == {
        "ref": "p", "method": "jwt", "issuer": "i", "audience": "a",
        **dict.fromkeys("jwks_uri public_key allowed_signers principal namespace ca_certificate ca_certificate_from".split()),
        "proof": {"value_from": {"env": "E", "file": "f"}}, "claims": None, "verify": {"required": None},
    }  # fmt: skip
    assert json.dumps(job["authorization"]) == json.dumps(
        {"ref": "z", "provider": "opa", "provider_config": None, "on_error": None, "request": {"include": ["identity"]}, "decision": None}
    )  # fmt: skip
    assert job["evidence"] == {
        "ref": "e", "provider": "ssh", "methods": ["ssh-signature"], "provider_config": None,
        "payload": {"bind": None, "context": None, "format": None}, "verify": {"required": None},
    }  # fmt: skip
    assert "canary" not in json.dumps(job)


@requirement("agentcli:compile:scheduler-governance")
@pytest.mark.parametrize(
    "source, shown",
    [
        ({"command": "canary"}, {"value_from": None}), ({"env": "E"}, {"value_from": {"env": "E"}}),
        ({"file": "f"}, {"value_from": {"file": "f"}}), (None, None),
    ],
)  # fmt: skip
def test_of_a_proofs_source_only_names_of_variables_and_files_are_kept(source, shown):
    proof = None if source is None else {"value_from": source}
    profiles = [{"id": "p", "method": "jwt", "proof": proof}]
    job = job_of(
        shell_task(authorization_proof={"ref": "p"}), version="0.1", authorization_proof_profiles=profiles
    )

    assert job["authorization_proof"]["proof"] == shown


@requirement("agentcli:compile:scheduler-governance")
def test_a_flat_identity_is_three_fields_and_a_structured_one_none_of_them():
    flat = {"principal": "me", "run_as": "root", "attestation": "seen"}
    job = job_of(shell_task(identity={"run_as": "bin"}), version="0.1", workflow={"identity": flat})
    expected = {"identity_principal": "me", "identity_run_as": "bin", "identity_attestation": "seen"}

    assert json.dumps(job) == json.dumps({**NOTHING, **expected})
    both = job_of(shell_task(identity={"scope": "s"}), version="0.1", workflow={"identity": flat})
    assert [both[name] for name in expected] == [None] * 3
    assert (both["identity"]["scope"], both["identity"]["provider"], both["identity_ref"]) == ("s", None, None)  # fmt: skip
    assert both["identity"]["presentation"] is None


@requirement("agentcli:compile:scheduler", "agentcli:rpc:schema")
def test_the_published_schema_describes_every_field_of_every_version_and_no_other():
    _, document = schema("schedulerJob")
    checker = jsonschema_rs.Draft202012Validator(document)
    governed = manifest(shell_task(**REFERENCES), version="0.1", **GOVERNED)
    rich = job_of(shell_task(**REFERENCES), version="0.1", **GOVERNED)
    bound = Handoffs(governed, ambient={"PATH": "/bin"}, base="/").bound(rich)

    assert document["additionalProperties"] is False
    assert set(document["properties"]) == {*V1, *V2, *V3, *V4, "source"}
    assert set(schema("schedulerJob", legacy=True)[1]["fields"]) == {*V1, *V2, *V3, *V4, "source"}
    for job in (NOTHING, rich, bound, *jobs_of(prompt_task(), shell_task(**triggered("p")))):
        checker.validate(job)
    assert set(bound) == {*V1, *V2, *V3, *V4, "source"}
    assert not checker.is_valid({**NOTHING, "zzz": None})
    for name in document["properties"]:
        assert not checker.is_valid({**NOTHING, name: ["no field is a list"]}), name
        assert not checker.is_valid({**NOTHING, name: -1}), name
