"""What a job is bound to, and what may still be given to it."""

import pytest

from operable.flow.canonical import canonical_digest, hash_text
from operable.flow.compile.job.binding import job_binding, job_binding_digest, rebound
from operable.flow.compile.target import compile_manifest
from operable.flow.errors import FlowError
from tests.flow.manifests import manifest, shell_task, triggered
from tests.requirement import requirement

DEFAULTS = {
    "payload_scope": "own", "resource_pool": None, "job_class": "standard", "payload_timeout_seconds": 120,
    "payload_model_fallback": None, "auth_profile_fallback": None, "shell_env_policy": "minimal", "job_type": "standard",
    "watchdog_target_label": None, "watchdog_check_cmd": None, "watchdog_timeout_min": None, "watchdog_alert_channel": None,
    "watchdog_alert_target": None, "watchdog_self_destruct": True, "watchdog_started_at": None,
}  # fmt: skip
LATER = {
    "auth_profile_fallback": "a", "job_class": "batch", "job_type": "watchdog", "origin": "telegram:7", "payload_model_fallback": "m",
    "payload_scope": "all", "payload_timeout_seconds": 5, "resource_pool": "r", "shell_env_policy": "inherit",
    "watchdog_target_label": "l", "watchdog_check_cmd": "c", "watchdog_timeout_min": 1, "watchdog_alert_channel": "x",
    "watchdog_alert_target": "y", "watchdog_self_destruct": False, "watchdog_started_at": "z",
}  # fmt: skip


def compiled(*tasks):
    return compile_manifest(manifest(*tasks), "openclaw-scheduler")["jobs"][-1]


@requirement("agentcli:handoff:rebinding")
def test_a_job_has_its_defaults_until_somebody_gives_it_something():
    job = compiled()
    full = rebound(job)

    assert {name: full[name] for name in DEFAULTS} == DEFAULTS
    assert {name: full[name] for name in job} == job
    assert rebound(job, dict.fromkeys(LATER)) == full  # null gives nothing


@requirement("agentcli:handoff:rebinding")
@pytest.mark.parametrize("name", LATER)
def test_each_of_sixteen_fields_may_be_given_later_and_changes_what_is_bound(name):
    assert len(LATER) == 16
    job = compiled()
    later = rebound(job, {name: LATER[name]})

    assert later == {**rebound(job), name: LATER[name]}
    assert job_binding_digest(later) != job_binding_digest(rebound(job))


@requirement("agentcli:handoff:rebinding")
def test_no_other_field_may_be_given_later():
    job = compiled()
    for name in [*(set(job) - {"origin"}), "handoff_version", "anything"]:
        with pytest.raises(FlowError) as refused:
            rebound(job, {name: "x"})
        assert refused.value.flow_code == "HANDOFF_REBIND_OVERRIDE_INVALID", name


@requirement("agentcli:handoff:published-digests")
def test_the_projection_of_a_job_has_every_section_of_the_contract():
    job = rebound(
        compiled(
            shell_task(),
            shell_task("b", **triggered("a", delay_s=2, condition="contains:x"), verify={"shell": "v"}),
        ),
        {"watchdog_check_cmd": "check"},
    )
    names = "invocation reliability delivery context lifecycle target command watchdog runtime approval output identity authorization_proof authorization evidence contract verification child_credential_policy intent"
    found = job_binding(job)

    assert sorted(found) == sorted(names.split())
    assert found["invocation"] == {
        "name": "B", "schedule_kind": "cron", "schedule_at": None, "schedule_cron": "0 0 31 2 *", "schedule_tz": "UTC",
        "parent_id": job["parent_id"], "trigger_on": "success", "trigger_delay_s": 2, "trigger_condition": "contains:x",
        "origin": "system",
    }  # fmt: skip
    assert found["reliability"] == {
        "overlap_policy": "skip", "resource_pool": None, "job_class": "standard", "max_retries": 0, "max_queued_dispatches": 25,
        "max_pending_approvals": 10, "max_trigger_fanout": 25, "delivery_guarantee": "at-most-once",
    }  # fmt: skip
    assert found["delivery"] == {"mode": "none", "channel": None, "to": None, "opt_out_reason": None}
    assert found["context"] == {"retrieval": "none", "retrieval_limit": 5}
    assert found["lifecycle"] == {"enabled": True, "delete_after_run": False}
    assert found["target"] == {
        "session_target": "shell", "agent_id": "main", "payload_kind": "shellCommand", "payload_scope": "own",
    }  # fmt: skip
    assert found["command"] == {"payload_message_sha256": hash_text("'echo' 'hi'")}
    assert found["watchdog"] == {
        "job_type": "standard", "target_label": None, "check_cmd_sha256": hash_text("check"), "timeout_min": None,
        "alert_channel": None, "alert_target": None, "self_destruct": True, "started_at": None,
    }  # fmt: skip
    assert found["runtime"] == {
        "run_timeout_ms": 300000, "payload_timeout_seconds": 120, "payload_model": None, "payload_model_fallback": None,
        "payload_thinking": None, "preferred_session_key": None, "auth_profile": None, "auth_profile_fallback": None,
        "shell_env_policy": "minimal",
    }  # fmt: skip
    assert found["approval"] == {
        "required": False, "timeout_s": 3600, "auto": "reject", "risk_level": None, "approver_scope": None,
    }  # fmt: skip
    assert found["output"] == {
        "store_limit_bytes": 65536, "excerpt_limit_bytes": 2000, "summary_limit_bytes": 5000,
        "offload_threshold_bytes": 65536, "format": None,
    }  # fmt: skip
    assert found["identity"] == dict.fromkeys(
        "principal run_as attestation ref subject_kind subject_principal trust_level delegation_mode declaration".split()
    )
    for name in ("authorization_proof", "authorization", "evidence"):
        assert found[name] == {"ref": None, "declaration": None}
    assert found["contract"] == dict.fromkeys(
        "sandbox allowed_paths network max_cost_usd audit required_trust_level trust_enforcement".split()
    )
    assert found["verification"] == {"shell_sha256": hash_text("v"), "timeout_s": 30, "on_failure": "error"}
    assert found["child_credential_policy"] is None
    assert found["intent"] == {"mode": "execute", "read_only": False}
    assert job_binding_digest(job) == canonical_digest(found)
