"""One scheduler job from one plan: the flat record that openclaw-scheduler stores, field by field."""

from operable.flow.canonical import canonical_text
from operable.flow.compile.plan import shown_identity, shown_proof_source
from operable.flow.manifest import inheritance
from operable.flow.manifest.inheritance import Json, first

SENTINEL_CRON = "0 0 31 2 *"  # the 31st of February: triggered jobs have no schedule of their own
_OPT_OUT = "delivery intentionally disabled by the agentcli manifest"


def scheduler_job(manifest: Json, workflow: Json, task: Json, plan: Json) -> Json:
    """The job of one task of an expanded manifest, with the fields of versions 1 to 3."""
    return {
        "id": plan["id"],
        "source": plan["source"],
        "name": plan["name"],
        "enabled": 1 if plan["enabled"] and plan["approval"]["policy"] != "auto-reject" else 0,
        **_invocation_fields(plan),
        **_approval_fields(plan, task),
        "context_retrieval": plan["context"]["retrieval"],
        "context_retrieval_limit": plan["context"]["limit"],
        **_output_fields(plan["output"]),
        "preferred_session_key": plan["session"]["preferred_key"],
        "auth_profile": plan["auth_profile"],
        **_governance_fields(manifest, workflow, task, plan),
        "child_credential_policy": plan["child_credential_policy"],
        **_verify_fields(plan),
        "delete_after_run": 1 if plan["delete_after_run"] else 0,
    }


def _invocation_fields(plan: Json) -> Json:
    invocation, execution, delivery = plan["invocation"], plan["execution"], plan["delivery"]
    scheduled = invocation["mode"] == "schedule"
    silent_root = scheduled and execution["payload_kind"] == "agentTurn" and delivery["mode"] == "none"
    payload = execution["payload"]
    return {
        "schedule_cron": invocation["cron"] if scheduled else SENTINEL_CRON,
        "schedule_tz": invocation["tz"] if scheduled else "UTC",
        "session_target": execution["session_target"],
        "agent_id": execution["agent_id"],
        "payload_kind": execution["payload_kind"],
        "payload_message": payload["prompt"] if "prompt" in payload else shell_line(payload),
        "payload_model": execution["model_policy"]["scheduler_model"],
        "payload_thinking": execution["model_policy"]["thinking"],
        "execution_intent": plan["intent"]["mode"],
        "execution_read_only": 1 if plan["intent"]["read_only"] else 0,
        "run_timeout_ms": first(plan["runtime"]["timeout_ms"], 300_000),
        "overlap_policy": plan["reliability"]["overlap_policy"],
        "max_retries": plan["reliability"]["max_retries"],
        "max_queued_dispatches": plan["budgets"]["max_queued_dispatches"],
        "max_pending_approvals": plan["budgets"]["max_pending_approvals"],
        "max_trigger_fanout": plan["budgets"]["max_fanout"],
        "delivery_mode": delivery["mode"],
        "delivery_channel": delivery["channel"],
        "delivery_to": delivery["to"],
        "delivery_opt_out_reason": _OPT_OUT if silent_root else None,
        "delivery_guarantee": plan["reliability"]["guarantee"],
        "origin": "system",
        "parent_id": plan["parent_compiled_id"],
        "trigger_on": None if scheduled else invocation["on"],
        "trigger_delay_s": 0 if scheduled else invocation["delay_s"],
        "trigger_condition": None if scheduled else invocation["condition"],
    }


def _approval_fields(plan: Json, task: Json) -> Json:
    approval, raw = plan["approval"], task.get("approval") or {}
    return {
        "approval_required": approval["required"],
        "approval_timeout_s": first(approval["timeout_s"], 3600),
        "approval_auto": first(approval["auto"], "reject"),
        "approval_risk_level": raw.get("risk_level"),
        "approval_approver_scope": raw.get("approver_scope"),
    }


def _output_fields(output: Json) -> Json:
    preview = output["preview_bytes"]
    store = max(4 * preview, 65_536) if output["retrieve"] == "inline" else max(preview, 65_536)
    thresholds = {"always": 128, "never": max(store, 1_048_576), "auto": max(store, 8 * preview, 65_536)}
    return {
        "output_store_limit_bytes": store,
        "output_excerpt_limit_bytes": preview,
        "output_summary_limit_bytes": max(5000, preview),
        "output_offload_threshold_bytes": thresholds[output["offload"]],
        "output_format": output["format"],
    }


def _governance_fields(manifest: Json, workflow: Json, task: Json, plan: Json) -> Json:
    flat = plan["identity"] if "ref" not in plan["identity"] else {}
    identity = inheritance.effective_identity(manifest, workflow, task)
    proof = inheritance.effective_proof(manifest, workflow, task)
    authorization = inheritance.effective_authorization(manifest, workflow, task)
    evidence = inheritance.effective_evidence(manifest, workflow, task)
    contract = plan["contract"]
    paths = contract["allowed_paths"]
    subject, trust = (identity or {}).get("subject") or {}, (identity or {}).get("trust") or {}
    return {
        "identity_principal": flat.get("principal"),
        "identity_run_as": flat.get("run_as"),
        "identity_attestation": flat.get("attestation"),
        "contract_sandbox": contract["sandbox"],
        "contract_allowed_paths": None if paths is None else canonical_text(paths),
        "contract_network": contract["network"],
        "contract_max_cost_usd": contract["max_cost_usd"],
        "contract_audit": contract["audit"],
        "identity_ref": (identity or {}).get("ref"),
        "identity_subject_kind": subject.get("kind"),
        "identity_subject_principal": subject.get("principal"),
        "identity_trust_level": trust.get("level"),
        "identity_delegation_mode": subject.get("delegation_mode"),
        "identity": None if identity is None else _job_identity(identity),
        "authorization_proof_ref": proof and proof["ref"],
        "authorization_proof": proof and {**proof, "proof": shown_proof_source(proof["proof"], both=True)},
        "authorization_ref": authorization and authorization["ref"],
        "authorization": authorization and {**authorization, "provider_config": None},
        "evidence_ref": evidence and evidence["ref"],
        "evidence": evidence and {**evidence, "provider_config": None},
        "contract_required_trust_level": contract["required_trust_level"],
        "contract_trust_enforcement": contract["trust_enforcement"],
    }


def _job_identity(identity: Json) -> Json:
    shown = shown_identity({name: value for name, value in identity.items() if name != "provider_config"})
    if all(value is None for value in identity["presentation"].values()):
        shown["presentation"] = None
    return shown


def _verify_fields(plan: Json) -> Json:
    verify = plan["verify"]
    if verify is None:
        return {"verify_shell": None, "verify_timeout_s": None, "verify_on_failure": None}
    cwd = plan["execution"]["payload"].get("cwd")
    line = verify["shell"]
    if cwd is not None:
        line = in_folder(cwd, f"'sh' '-c' {quote(line)}")
    return {
        "verify_shell": line,
        "verify_timeout_s": verify["timeout_seconds"],
        "verify_on_failure": verify["on_failure"],
    }


# A command as one line for `sh`: everything quoted, nothing left for the shell to interpret.


def quote(word: str) -> str:
    """In single quotes; a single quote inside is closed, quoted with double quotes, and opened again."""
    return "'" + word.replace("'", "'\"'\"'") + "'"


def shell_line(payload: Json) -> str:
    """The line for a normalised shell payload."""
    line = " ".join(map(quote, [payload["program"], *payload["args"]]))
    if payload["env"]:
        line = (
            " ".join(f"{name}={quote(value)}" for name, value in sorted(payload["env"].items())) + " " + line
        )
    if payload["stdin"] is not None:
        line = f"printf %s {quote(payload['stdin'])} | {line}"
    return in_folder(payload["cwd"], line)


def in_folder(cwd: str | None, line: str) -> str:
    return line if cwd is None else f"cd {quote(cwd)} && {line}"
