"""The fields of a scheduler job, by the version of the handoff that first had them; and the limits of their values."""

from operable.flow.manifest.inheritance import Json

V1 = (
    "id name enabled schedule_cron schedule_tz session_target agent_id payload_kind payload_message payload_model "
    "payload_thinking execution_intent execution_read_only run_timeout_ms overlap_policy max_retries "
    "max_queued_dispatches max_pending_approvals max_trigger_fanout delivery_mode delivery_channel delivery_to "
    "delivery_opt_out_reason delivery_guarantee origin parent_id trigger_on trigger_delay_s trigger_condition "
    "approval_required approval_timeout_s approval_auto context_retrieval context_retrieval_limit "
    "output_store_limit_bytes output_excerpt_limit_bytes output_summary_limit_bytes output_offload_threshold_bytes "
    "preferred_session_key auth_profile delete_after_run"
).split()
V2 = (
    "identity_principal identity_run_as identity_attestation identity_ref identity_subject_kind "
    "identity_subject_principal identity_trust_level identity_delegation_mode identity authorization_proof_ref "
    "authorization_proof authorization_ref authorization evidence_ref evidence contract_required_trust_level "
    "contract_trust_enforcement contract_sandbox contract_allowed_paths contract_network contract_max_cost_usd "
    "contract_audit child_credential_policy verify_shell verify_timeout_s verify_on_failure"
).split()
V3 = "approval_risk_level approval_approver_scope output_format".split()
V4 = (
    "handoff_version handoff_artifact_digest handoff_artifact_payload effective_task_hash payload_scope resource_pool "
    "job_class payload_timeout_seconds payload_model_fallback auth_profile_fallback shell_env_policy job_type "
    "watchdog_target_label watchdog_check_cmd watchdog_timeout_min watchdog_alert_channel watchdog_alert_target "
    "watchdog_self_destruct watchdog_started_at"
).split()
BY_VERSION = {"1": V1, "2": [*V1, *V2], "3": [*V1, *V2, *V3], "4": [*V1, *V2, *V3, *V4]}
# Values that travel as JSON text.
BLOBS = ("identity", "authorization_proof", "authorization", "evidence", "handoff_artifact_payload")
# What may be given to a job after it was compiled, without breaking what its artifact promises.
REBINDABLE = (
    "auth_profile_fallback job_class job_type origin payload_model_fallback payload_scope payload_timeout_seconds "
    "resource_pool shell_env_policy watchdog_target_label watchdog_check_cmd watchdog_timeout_min "
    "watchdog_alert_channel watchdog_alert_target watchdog_self_destruct watchdog_started_at"
).split()
MAX_LENGTHS = {
    "name": 200,
    "payload_message": 100_000,
    "verify_shell": 100_000,
    "agent_id": 128,
    "schedule_cron": 128,
    "schedule_tz": 128,
    "delivery_channel": 64,
    "delivery_to": 256,
    "trigger_condition": 1024,
    "payload_model": 256,
    "payload_thinking": 64,
    "preferred_session_key": 512,
}


def needed_version(job: Json) -> int:
    """The lowest handoff version that keeps every field that this job sets."""
    for version, fields in ((4, V4), (3, V3), (2, V2)):
        if any(job.get(name) is not None for name in fields):
            return version
    return 1
