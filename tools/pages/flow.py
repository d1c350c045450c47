"""docs/reference/flow.md: workflow manifests from Python, from the signatures and docstrings of operable.flow."""

from tools.api import gaps, page

PATH = "docs/reference/flow.md"

# In the order in which a caller meets them. A public name that is missing here fails the generator.
PARTS = {
    "Reading manifests": ("validate", "lint", "convert", "canonical_text", "canonical_digest"),
    "Compiling them": ("compile_manifest", "task_digests", "Target"),
    "Running tasks": (
        "execute",
        "preview",
        "ExecOptions",
        "WorkflowRun",
        "RunOptions",
        "Caller",
        "Allowance",
    ),
    "Failures": ("FlowError", "NotAllowed"),
    "Writing an operation": ("Operation", "Parameter", "Defaults"),
    "Writing an identity, an authorizer, a proof or evidence": (
        *("Identity", "IdentityRequest", "Authorizer", "Proof", "ProofRequest", "HandoffContext", "Evidence"),
        "Surroundings",
    ),
}
# Words for parameters and members that have none in the source (tools.api).
_NAME, _ORDER = "Its name in manifests; that of its file.", "Its place in listings."
_AROUND = "What it may use of the world."
TEXTS: dict[str, dict[str, str]] = {
    "Target": {
        "name": "Its name in requests; that of its file.",
        "order": _ORDER,
        "description": "What it is, in one line.",
        "capabilities": "What it can do: words of the contract.",
        "features": "What it enforces, as far as that is known without asking it.",
        "compile": "The document of a manifest.",
    },
    "ExecOptions": {
        "workflow_id": "The workflow, where the manifest has several.",
        "timeout_ms": "A shorter limit than the task's own.",
        "signer": "`ssh` or `none`; AGENTCLI_SIGNER, else `ssh`.",
        "signing_key": "The private key to sign with.",
        "evidence_provider": "Who signs evidence, instead of the profile's provider.",
        "instance_id": "The instance that the approval and the identity are bound to.",
        "require_evidence": "Fail if there is no evidence that verifies.",
        "require_authorization": "Fail if no policy permits the task.",
        "identity_debug": "Show how the identity was resolved, without its credentials.",
        "presentation_debug": "Show how credentials were presented, without them.",
        "approval_id": "Use this approval only.",
        "on_ask": "Called with each question of an agent that no rule answers, and its masked text; returns a decision.",
        "on_turn": "Called with the name of the agent when a turn begins; what it returns gets each event of the turn.",
        "answered": "`WORKFLOW/TASK` and the person who said yes to exactly this execution, at the gate of their request.",
    },
    "WorkflowRun": {
        "result": "The whole run: records, counts, `ok`.",
        "roots": "The tasks that it begins with.",
        "selected": "The tasks that it can reach.",
        "warnings": "What the manifest declares and a run here does not do.",
        "records": "The records so far.",
    },
    "RunOptions": {
        "workflow_id": "The workflow, where the manifest has several.",
        "root": "The root to begin with, where there are several.",
        "all_roots": "Begin with all roots.",
        "each": "How each task is executed.",
    },
    "Caller": {
        "cwd": "The folder that relative paths mean.",
        "environment": "The variables of the caller; a task gets an allow-list of them.",
        "home": "Where approvals and the audit are kept; None for the user's own home.",
        "approvals": "The file of local approvals.",
        "side": "The kind of caller that calls of its tasks have: flow, or rpc for a client of JSON-RPC.",
    },
    "Allowance": {"network": "Ask servers that the manifest names."},
    "FlowError": {
        "flow_code": "The word of the agentcli contract: see [errors](errors.md#codes-of-workflows).",
        "answer": "What a task has left that ran before it failed, as `execute` returns it; else None.",
        "message": "The failure as a sentence.",
        "reported_as": "Another code for the report; None: that of the contract's word.",
        "details": "Further members of every report of the failure.",
    },
    "Operation": {
        "summary": "What it does, in one line.",
        "run": "(params, defaults) -> the answer. It checks its own values and loads what it needs.",
        "params": "Its parameters.",
        "order": "Its place in listings of methods.",
        "place": "Its place in usage lines.",
        "slow": "Whether it waits for the world, so that the server runs it beside others.",
        "changes": "Whether it changes something.",
        "printed": "(answer, params, defaults) -> what `operable-agentcli` prints, if that is not the answer.",
    },
    "Parameter": {
        "name": "Its name over JSON-RPC.",
        "kind": "What it is on command lines.",
        "choices": "The values that it may have.",
        "refusal": "The message of `operable-agentcli` for another value.",
        "rpc": "Whether JSON-RPC has it.",
        "agentcli": "Whether `operable-agentcli` has it.",
        "flag": "Its name on command lines.",
        "in_place": "Whether it is a word instead of a flag.",
    },
    "Defaults": {
        "cwd": "The folder that relative paths mean.",
        "environment": "The variables of the caller.",
        "home": "Where manifests, approvals and the audit are kept.",
        "db_path": "The scheduler's database.",
        "target": "What manifests are compiled to.",
        "scheduler_prefix": "The npm prefix that has openclaw-scheduler.",
        "scheduler_bin": "The scheduler's program.",
    },
    "Identity": {
        "name": _NAME,
        "order": _ORDER,
        "capabilities": "What it can do: the members that `operable flow identity` lists.",
        "check": "What is wrong with a profile, without I/O.",
        "resolve": "The session of a request, with its credentials.",
        "check_delegation": "What is wrong with a delegation chain, besides the rules for every chain.",
        "release": "Give back what was made for one session; called once, after the task.",
        "default_bindings": "How credentials are presented if the identity declares no bindings.",
    },
    "IdentityRequest": {
        "surroundings": _AROUND,
        "workflow_id": "The workflow of the task.",
        "task_id": "The task.",
        "instance_id": "The instance, if the caller named one.",
    },
    "Authorizer": {"name": _NAME, "order": _ORDER, "evaluate": "The raw answer of the policy."},
    "Proof": {"name": _NAME, "order": _ORDER},
    "ProofRequest": {
        "value": "The proof itself.",
        "manifest": "The manifest that it must be bound to.",
        "manifest_digest": "The digest of that manifest.",
        "surroundings": _AROUND,
        "now": "Seconds since 1970.",
        "handoff": "What version 4 binds the proof to, in that mode.",
    },
    "HandoffContext": {
        "artifact_digest": "The digest of the handoff artifact.",
        "revoked": "Whether a key or a proof is revoked; None: it does not know.",
        "claim_once": "Whether this nonce was unused until now.",
    },
    "Evidence": {
        "name": _NAME,
        "order": _ORDER,
        "methods": "How it signs.",
        "check": "What is wrong with a profile, as (field, message).",
        "attest": "The envelope of a payload.",
        "verify": "Whether an envelope verifies, and why not.",
    },
    "Surroundings": {
        "cwd": "The folder that relative paths mean.",
        "environment": "The variables of the caller.",
        "network": "Whether servers may be asked.",
        "timeout": "Seconds for one question.",
    },
}


def render() -> str:
    return page("operable.flow", PARTS, TEXTS, "[run a workflow](../guides/run-a-workflow.md)")


def missing() -> list[str]:
    """What this page does not explain."""
    return gaps("operable.flow", PARTS, TEXTS)
