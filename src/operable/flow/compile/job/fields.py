"""The fields of a scheduler job: the version of the handoff that first had each, what it may contain, and its limits."""

from operable.flow.manifest import vocabulary
from operable.flow.manifest.blocks import PLAIN
from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.shape import BOOLEAN, MAP, NUMBER, TEXT, Node

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
# Field -> the member of a manifest whose words it takes over.
_OF_BLOCKS = {
    "execution_intent": ("intent", "mode"),
    "overlap_policy": ("reliability", "overlap_policy"),
    "delivery_guarantee": ("reliability", "guarantee"),
    "delivery_mode": ("delivery", "mode"),
    "approval_auto": ("approval", "auto"),
    "approval_risk_level": ("approval", "risk_level"),
    "context_retrieval": ("context", "retrieval"),
    "output_format": ("output", "format"),
    "contract_sandbox": ("contract", "sandbox"),
    "contract_network": ("contract", "network"),
    "contract_audit": ("contract", "audit"),
    "contract_required_trust_level": ("contract", "required_trust_level"),
    "contract_trust_enforcement": ("contract", "trust_enforcement"),
}
_CHOICES = {
    "session_target": vocabulary.SESSION_TARGETS,
    "payload_kind": vocabulary.PAYLOAD_KINDS,
    "trigger_on": vocabulary.TRIGGERS,
    "identity_subject_kind": vocabulary.SUBJECT_KINDS,
    "identity_trust_level": vocabulary.TRUST_LEVELS,
    "identity_delegation_mode": vocabulary.DELEGATION_MODES,
    "child_credential_policy": vocabulary.CHILD_POLICIES,
    "verify_on_failure": ["error", "warn"],
    **{name: PLAIN[block][member][1] for name, (block, member) in _OF_BLOCKS.items()},
}
_SMALLEST = {
    **dict.fromkeys("enabled execution_read_only approval_required delete_after_run".split(), 0),
    **dict.fromkeys("max_retries trigger_delay_s payload_timeout_seconds watchdog_timeout_min".split(), 0),
    **dict.fromkeys(
        "max_queued_dispatches max_pending_approvals max_trigger_fanout run_timeout_ms".split(), 1
    ),
    **dict.fromkeys("approval_timeout_s context_retrieval_limit verify_timeout_s".split(), 1),
    **{
        f"output_{name}_bytes": 1
        for name in "store_limit excerpt_limit summary_limit offload_threshold".split()
    },
    "handoff_version": 4,
}
_OTHERS = {
    **dict.fromkeys(
        "identity authorization_proof authorization evidence handoff_artifact_payload".split(), MAP
    ),
    "contract_max_cost_usd": NUMBER,
    "watchdog_self_destruct": BOOLEAN,
}
_SOURCE = Node(
    "object",
    name="source",
    fields={"workflow_id": TEXT, "task_id": TEXT},
    required=("workflow_id", "task_id"),
)


def needed_version(job: Json) -> int:
    """The lowest handoff version that keeps every field that this job sets."""
    for version, fields in ((4, V4), (3, V3), (2, V2)):
        if any(job.get(name) is not None for name in fields):
            return version
    return 1


# The shape of a compiled scheduler job: what each of its fields may contain. The published schema of a job is made of
# it.
# Words that a manifest chooses from are the manifest's own (`blocks.PLAIN`, `keys`), so that a field cannot know fewer
# of them than the member it comes from.
def _field(name: str) -> Node:
    if name in _CHOICES:
        return Node("enum", enum=tuple(_CHOICES[name]))
    if name in _SMALLEST:
        return Node("integer", minimum=_SMALLEST[name])
    return _OTHERS.get(name, TEXT)


JOB = Node(
    "object",
    name="scheduler_job",
    required=("id", "name", "enabled"),
    fields={**{name: _field(name) for name in BY_VERSION["4"]}, "source": _SOURCE},
)
