"""What a scheduler job must still be when it runs: the projection of its fields that a handoff artifact is bound to.

Every field that changes what runs, when it runs, or who is informed is in it; commands only as hashes. The fields that
may be given to a job after it was compiled (`job_fields.REBINDABLE`) have their defaults here until a caller gives them.
"""

import json
from collections.abc import Mapping
from typing import Any

from operable.flow.canonical import canonical_digest, hash_optional_text
from operable.flow.compile.job.fields import REBINDABLE
from operable.flow.errors import FlowError
from operable.flow.manifest.inheritance import Json

BINDING_VERSION = 1
_DEFAULTS: Json = {
    "payload_scope": "own",
    "resource_pool": None,
    "job_class": "standard",
    "payload_timeout_seconds": 120,
    "payload_model_fallback": None,
    "auth_profile_fallback": None,
    "shell_env_policy": "minimal",
    "job_type": "standard",
    "watchdog_target_label": None,
    "watchdog_check_cmd": None,
    "watchdog_timeout_min": None,
    "watchdog_alert_channel": None,
    "watchdog_alert_target": None,
    "watchdog_self_destruct": True,
    "watchdog_started_at": None,
}


def rebound(job: Json, overrides: Mapping[str, Any] | None = None) -> Json:
    """The job with its defaults, and with what may be given to it later; FlowError for anything else."""
    for name in overrides or {}:
        if name not in REBINDABLE:
            raise FlowError("HANDOFF_REBIND_OVERRIDE_INVALID", f"{name} cannot be changed after compilation")
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    return {**_DEFAULTS, **job, **given}


def job_binding_digest(job: Json) -> str:
    return canonical_digest(job_binding(job))


def job_binding(job: Json) -> Json:
    """The projection. `job` has its defaults already (`rebound`)."""
    paths = job["contract_allowed_paths"]
    return {
        "invocation": {
            "name": job["name"],
            "schedule_kind": "cron",
            "schedule_at": None,
            **_members(
                job, "schedule_cron schedule_tz parent_id trigger_on trigger_delay_s trigger_condition origin"
            ),
        },
        "reliability": _members(
            job,
            "overlap_policy resource_pool job_class max_retries max_queued_dispatches max_pending_approvals "
            "max_trigger_fanout delivery_guarantee",
        ),
        "delivery": _section(job, "delivery", "mode channel to opt_out_reason"),
        "context": _section(job, "context", "retrieval retrieval_limit"),
        "lifecycle": {"enabled": bool(job["enabled"]), "delete_after_run": bool(job["delete_after_run"])},
        "target": _members(job, "session_target agent_id payload_kind payload_scope"),
        "command": {"payload_message_sha256": hash_optional_text(job["payload_message"])},
        "watchdog": {
            "job_type": job["job_type"],
            "target_label": job["watchdog_target_label"],
            "check_cmd_sha256": hash_optional_text(job["watchdog_check_cmd"]),
            **_section(job, "watchdog", "timeout_min alert_channel alert_target"),
            "self_destruct": bool(job["watchdog_self_destruct"]),
            "started_at": job["watchdog_started_at"],
        },
        "runtime": _members(
            job,
            "run_timeout_ms payload_timeout_seconds payload_model payload_model_fallback payload_thinking "
            "preferred_session_key auth_profile auth_profile_fallback shell_env_policy",
        ),
        "approval": {
            "required": bool(job["approval_required"]),
            **_section(job, "approval", "timeout_s auto risk_level approver_scope"),
        },
        "output": _section(
            job,
            "output",
            "store_limit_bytes excerpt_limit_bytes summary_limit_bytes offload_threshold_bytes format",
        ),
        "identity": {
            **_section(
                job,
                "identity",
                "principal run_as attestation ref subject_kind subject_principal trust_level delegation_mode",
            ),
            "declaration": job["identity"],
        },
        **{
            name: {"ref": job[f"{name}_ref"], "declaration": job[name]}
            for name in ("authorization_proof", "authorization", "evidence")
        },
        "contract": {
            **_section(
                job, "contract", "sandbox network max_cost_usd audit required_trust_level trust_enforcement"
            ),
            # The only field that travels as JSON text already; it is bound as what that spells.
            "allowed_paths": paths if paths is None else json.loads(paths),
        },
        "verification": {
            "shell_sha256": hash_optional_text(job["verify_shell"]),
            "timeout_s": job["verify_timeout_s"],
            "on_failure": job["verify_on_failure"],
        },
        "child_credential_policy": job["child_credential_policy"],
        "intent": {"mode": job["execution_intent"], "read_only": bool(job["execution_read_only"])},
    }


def _members(job: Json, names: str) -> Json:
    return {name: job[name] for name in names.split()}


def _section(job: Json, prefix: str, names: str) -> Json:
    return {name: job[f"{prefix}_{name}"] for name in names.split()}
