"""The shape of a compiled scheduler job: what each of its fields may contain. The published schema of a job is made of it.

Words that a manifest chooses from are the manifest's own (`blocks.PLAIN`, `keys`), so that a field cannot know fewer of
them than the member it comes from.
"""

from operable.flow.compile.job.fields import BY_VERSION
from operable.flow.manifest import vocabulary
from operable.flow.manifest.blocks import PLAIN
from operable.flow.manifest.shape import BOOLEAN, MAP, NUMBER, TEXT, Node

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
