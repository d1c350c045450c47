"""Which members each level of a manifest may have: the vocabulary, as data.

Used for the unknown-key rules of the validator (errors in 0.2, warnings at four levels in 0.1), for "did you mean" in
the linter, and by the JSON Schema. `command` is listed where it once was allowed, because its presence has a message
of its own.
"""

MANIFEST = (
    "version workflows identity_profiles authorization_proof_profiles authorization_profiles evidence_profiles"
).split()
WORKFLOW = (
    "id name model_policy identity contract tasks authorization_proof authorization evidence child_credential_policy verify"
).split()
TASK = (
    "id name enabled prompt command shell target model_policy intent output budgets schedule trigger delivery reliability "
    "runtime approval context session identity contract on_failure auth_profile delete_after_run authorization_proof "
    "authorization evidence child_credential_policy verify"
).split()
ON_FAILURE = (
    "id name enabled prompt command shell target delay_s condition model_policy intent output budgets delivery reliability "
    "runtime approval context session identity contract delete_after_run authorization_proof authorization evidence"
).split()

# Blocks of a task (and of a workflow or handler, where it has them): member -> the keys inside.
BLOCKS = {
    "target": "session_target agent_id payload_kind".split(),
    "shell": "program args env cwd stdin".split(),
    "model_policy": "provider model thinking".split(),
    "intent": "mode read_only".split(),
    "output": "preview_bytes offload retrieve format".split(),
    "budgets": "max_iterations max_fanout max_context_items max_pending_approvals max_queued_dispatches".split(),
    "schedule": "cron tz".split(),
    "trigger": "parent on delay_s condition".split(),
    "delivery": "mode channel to".split(),
    "reliability": "guarantee max_retries overlap_policy".split(),
    "runtime": "timeout_ms".split(),
    "approval": "required policy risk_level approver_scope timeout_s auto".split(),
    "context": "retrieval limit".split(),
    "session": "preferred_key".split(),
    "contract": "sandbox allowed_paths network max_cost_usd audit required_trust_level trust_enforcement".split(),
    "verify": "shell timeout_seconds on_failure".split(),
    "authorization_proof": "ref claims verify".split(),
    "authorization": "ref provider_config on_error request decision".split(),
    "evidence": "ref payload verify".split(),
}

IDENTITY = "ref scope subject auth trust presentation".split()
FLAT_IDENTITY = "principal run_as attestation".split()
SUBJECT = "kind principal display_name run_as issuer delegation_mode attributes".split()
AUTH = "mode scopes audience resource cache refresh required delegation_policy provider_config inputs".split()
DELEGATION_POLICY = "max_depth allowed_delegators require_grant_per_hop".split()
TRUST = "level constraints".split()
CONSTRAINTS = "escalation max_autonomy escalation_timeout require_justification".split()
PRESENTATION = "bindings handoff cleanup default_redaction".split()
BINDING = "source target required redact format".split()
BINDING_TARGET = "kind name prefix expose_as".split()
VERIFY_REQUIRED = ["required"]
REQUEST = ["include"]
DECISION = "allow_values deny_values escalate_values".split()
PAYLOAD = "bind context format".split()
VALUE_FROM = "env file literal command".split()

IDENTITY_PROFILE = "id provider subject auth trust presentation provider_config".split()
PROOF_PROFILE = (
    "id method issuer audience jwks_uri public_key allowed_signers principal namespace ca_certificate ca_certificate_from "
    "proof claims verify"
).split()
AUTHORIZATION_PROFILE = "id provider provider_config on_error request decision".split()
EVIDENCE_PROFILE = "id provider methods provider_config payload verify".split()
PROFILES = {
    "identity_profiles": IDENTITY_PROFILE,
    "authorization_proof_profiles": PROOF_PROFILE,
    "authorization_profiles": AUTHORIZATION_PROFILE,
    "evidence_profiles": EVIDENCE_PROFILE,
}

# Enumerations, in the order in which messages list them.
VERSIONS = ["0.1", "0.2"]
SESSION_TARGETS = ["main", "isolated", "shell"]
PAYLOAD_KINDS = ["systemEvent", "agentTurn", "shellCommand"]
TRIGGERS = ["success", "failure", "complete"]
TRUST_LEVELS = ["untrusted", "restricted", "supervised", "autonomous"]
CHILD_POLICIES = ["none", "inherit", "downscope", "independent"]
PROOF_METHODS = ["jwt", "detached-signature", "certificate", "none"]
SUBJECT_KINDS = ["agent", "service", "workload", "user", "composite", "delegated-agent", "unknown"]
DELEGATION_MODES = ["none", "on-behalf-of", "impersonation"]
AUTH_MODES = ["none", "service", "delegated", "on-behalf-of", "impersonation", "exchange"]
