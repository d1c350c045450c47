"""The normalised plan of one task: every default filled in, every inheritance resolved, in the order of the contract.

Targets are made from plans; nothing in a plan depends on a target.

`shown_…` give the parts of a plan that compiled output may show: values that are or may contain secrets are replaced by
their digests, or left out.
"""

from typing import Any

from operable.flow.canonical import canonical_digest, hash_object, hash_optional_text, stable_id
from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import Json, first

_PAYLOAD_KINDS = {"shell": "shellCommand", "main": "systemEvent", "isolated": "agentTurn"}


def plans(manifest: Json) -> list[tuple[Json, list[Json]]]:
    """(workflow, plans of its tasks) for each workflow of an expanded manifest."""
    several = len(manifest["workflows"]) > 1
    return [
        (workflow, [task_plan(workflow, task, several=several) for task in workflow["tasks"]])
        for workflow in manifest["workflows"]
    ]


def task_plan(workflow: Json, task: Json, *, several: bool) -> Json:
    """One task; `several` workflows in a manifest make their names part of the tasks' names."""
    trigger = task.get("trigger")
    return {
        "id": stable_id(workflow["id"], task["id"]),
        "source": {"workflow_id": workflow["id"], "task_id": task["id"]},
        "name": f"{workflow['name']}: {task['name']}" if several else task["name"],
        "enabled": first(task.get("enabled"), True),
        "invocation": _invocation(task),
        "execution": _execution(workflow, task),
        **_blocks(task),
        "identity": inheritance.declared_identity(workflow, task),
        "contract": inheritance.merged_contract(workflow, task),
        "authorization_proof": inheritance.declared_proof(workflow, task),
        "authorization": inheritance.declared_authorization(workflow, task),
        "evidence": inheritance.declared_evidence(workflow, task),
        "child_credential_policy": inheritance.child_policy(workflow, task),
        "verify": inheritance.merged_verify(workflow, task),
        "auth_profile": task.get("auth_profile"),
        "delete_after_run": task.get("delete_after_run"),
        "parent_compiled_id": None if trigger is None else stable_id(workflow["id"], trigger["parent"]),
    }


def _invocation(task: Json) -> Json:
    trigger = task.get("trigger")
    if trigger is None:
        schedule = task["schedule"]
        return {"mode": "schedule", "cron": schedule["cron"], "tz": first(schedule.get("tz"), "UTC")}
    return {
        "mode": "trigger",
        "parent": trigger["parent"],
        "on": trigger["on"],
        "delay_s": first(trigger.get("delay_s"), 0),
        "condition": trigger.get("condition"),
    }


def _execution(workflow: Json, task: Json) -> Json:
    target = task["target"]
    session = target["session_target"]
    policy = inheritance.merged_model_policy(workflow, task)
    provider, model = policy["provider"], policy["model"]
    return {
        "session_target": session,
        "agent_id": first(target.get("agent_id"), "main"),
        "payload_kind": first(target.get("payload_kind"), _PAYLOAD_KINDS[session]),
        "payload": normal_shell(task["shell"]) if session == "shell" else {"prompt": task["prompt"]},
        "model_policy": {**policy, "scheduler_model": f"{provider}/{model}" if provider and model else model},
    }


def normal_shell(shell: Json) -> Json:
    return {
        "program": shell["program"],
        "args": first(shell.get("args"), []),
        "env": first(shell.get("env"), {}),
        "cwd": shell.get("cwd"),
        "stdin": shell.get("stdin"),
    }


def _blocks(task: Json) -> Json:
    budgets, context = task.get("budgets") or {}, task.get("context") or {}
    items = first(budgets.get("max_context_items"), context.get("limit"), 5)
    delivery, reliability = task.get("delivery") or {}, task.get("reliability") or {}
    return {
        "intent": normal_intent(task),
        "output": normal_output(task),
        "budgets": {
            "max_iterations": budgets.get("max_iterations"),
            "max_fanout": first(budgets.get("max_fanout"), 25),
            "max_context_items": items,
            "max_pending_approvals": first(budgets.get("max_pending_approvals"), 10),
            "max_queued_dispatches": first(budgets.get("max_queued_dispatches"), 25),
        },
        "delivery": {
            "mode": first(delivery.get("mode"), "none"),
            "channel": delivery.get("channel"),
            "to": delivery.get("to"),
        },
        "reliability": {
            "guarantee": first(reliability.get("guarantee"), "at-most-once"),
            "overlap_policy": first(reliability.get("overlap_policy"), "skip"),
            "max_retries": first(reliability.get("max_retries"), 0),
        },
        "runtime": {"timeout_ms": (task.get("runtime") or {}).get("timeout_ms")},
        "approval": normal_approval(task.get("approval")),
        "context": {
            "retrieval": first(context.get("retrieval"), "none"),
            "limit": first(context.get("limit"), items),
        },
        "session": {"preferred_key": (task.get("session") or {}).get("preferred_key")},
    }


def normal_intent(task: Json) -> Json:
    intent = task.get("intent") or {}
    return {"mode": first(intent.get("mode"), "execute"), "read_only": intent.get("read_only")}


def normal_output(task: Json) -> Json:
    output = task.get("output") or {}
    return {
        "format": output.get("format"),
        "preview_bytes": first(output.get("preview_bytes"), 2000),
        "offload": first(output.get("offload"), "auto"),
        "retrieve": first(output.get("retrieve"), "on-demand"),
    }


def approval_policy(approval: Json | None) -> str | None:
    """What decides: the policy, else `manual` when approval is required, else nothing."""
    if approval is None:
        return None
    found: str | None = first(approval.get("policy"), "manual" if approval.get("required") else None)
    return found


def normal_approval(approval: Json | None) -> Json:
    if approval is None:
        return {
            "required": 0,
            "timeout_s": None,
            "auto": None,
            "policy": "none",
            "risk_level": None,
            "approver_scope": None,
        }
    policy = approval_policy(approval)
    auto: Any = approval.get("auto")
    match policy:
        case "auto-approve":
            auto = "approve"
        case "auto-reject":
            auto = "reject"
        case "manual":
            auto = first(auto, "reject")
    return {
        "required": 1 if policy == "manual" or approval.get("required") else 0,
        "timeout_s": first(approval.get("timeout_s"), 3600),
        "auto": auto,
        "policy": policy or "none",
        "risk_level": first(approval.get("risk_level"), "medium"),
        "approver_scope": approval.get("approver_scope"),
    }


def shown_shell(payload: Json) -> Json:
    """A shell payload without its environment and its standard input."""
    return {
        "program": payload["program"],
        "args": payload["args"],
        "cwd": payload["cwd"],
        "env": None,
        "env_keys": sorted(payload["env"], key=lambda name: name.encode("utf-16-be", "surrogatepass")),
        "env_hash": canonical_digest(payload["env"]),
        "stdin": None,
        "stdin_hash": hash_optional_text(payload["stdin"]),
    }


def shown_identity(identity: Json) -> Json:
    """A declaration (or profile) without the subject's attributes and the provider's inputs."""
    return {
        **identity,
        "subject": _shown_subject(identity.get("subject")),
        "auth": _shown_auth(identity.get("auth")),
    }


def _shown_subject(subject: Json | None) -> Json | None:
    if subject is None:
        return None
    return {**subject, "attributes": None, "attributes_hash": hash_object(subject.get("attributes"))}


def _shown_auth(auth: Json | None) -> Json | None:
    return None if auth is None else {**auth, "provider_config": None, "inputs": None}


def shown_plan(plan: Json) -> Json:
    """A plan for the standalone target."""
    shown = {**plan, "identity": shown_identity(plan["identity"])}
    execution = plan["execution"]
    if execution["session_target"] == "shell":
        shown["execution"] = {**execution, "payload": shown_shell(execution["payload"])}
    if plan["authorization_proof"] is not None:
        shown["authorization_proof"] = {**plan["authorization_proof"], "proof": None}
    if plan["authorization"] is not None:
        shown["authorization"] = {**plan["authorization"], "provider_config": None}
    if plan["evidence"] is not None:
        shown["evidence"] = {**plan["evidence"], "provider_config": None}
    return shown


def shown_profiles(manifest: Json) -> Json:
    """The four arrays of profiles, those that are not empty."""
    shown: Json = {}
    if profiles := manifest.get("identity_profiles"):
        shown["identity_profiles"] = [
            {**shown_identity(profile), "provider_config": None} for profile in profiles
        ]
    if profiles := manifest.get("authorization_proof_profiles"):
        shown["authorization_proof_profiles"] = [
            {**profile, "proof": shown_proof_source(profile.get("proof"), both=False)} for profile in profiles
        ]
    for name in ("authorization_profiles", "evidence_profiles"):
        if profiles := manifest.get(name):
            shown[name] = [{**profile, "provider_config": None} for profile in profiles]
    return shown


def shown_proof_source(proof: Json | None, *, both: bool) -> Json | None:
    """Where a proof comes from, never what it is: the name of a variable or a file; `both` keeps both."""
    if proof is None:
        return None
    source = proof.get("value_from") or {}
    kept = {name: source[name] for name in ("env", "file") if source.get(name) is not None}
    if not both and len(kept) > 1:
        kept = {"env": kept["env"]}
    return {"value_from": kept or None}
