"""The jobs of the stand-in scheduler: the rows that the real one keeps, and the refusals of it that clients meet.

What is here was seen on the real one (0.5.1): the columns and their defaults, that a list is ordered by name, that
artifacts are kept apart and for ever, the words for what went wrong, and which jobs it does not take. The sentences
are ours. It judges far less than the real one; what it refuses, the real one refuses too.
"""

import hashlib
import json
import sqlite3
import sys
from typing import Any

Row = dict[str, Any]
# As in the real table, except for what only its own loop writes.
DEFAULTS: Row = {
    "id": None, "name": None, "enabled": 1, "schedule_kind": "cron", "schedule_at": None, "schedule_cron": None,
    "schedule_tz": "UTC", "session_target": "isolated", "agent_id": "main", "payload_kind": None, "payload_message": None,
    "payload_model": None, "payload_model_fallback": None, "payload_thinking": None, "payload_timeout_seconds": 120,
    "execution_intent": "execute", "execution_read_only": 0, "shell_env_policy": "minimal", "overlap_policy": "skip",
    "run_timeout_ms": 300000, "max_queued_dispatches": 25, "max_pending_approvals": 10, "max_trigger_fanout": 25,
    "delivery_mode": "announce", "delivery_channel": None, "delivery_to": None, "delete_after_run": 0, "ttl_hours": None,
    "parent_id": None, "trigger_on": None, "trigger_delay_s": 0, "trigger_condition": None, "max_retries": 0,
    "payload_scope": "own", "resource_pool": None, "delivery_guarantee": "at-most-once", "job_class": "standard",
    "approval_required": 0, "approval_timeout_s": 3600, "approval_auto": "reject", "approval_risk_level": None,
    "approval_approver_scope": None, "context_retrieval": "none", "context_retrieval_limit": 5,
    "output_store_limit_bytes": 65536, "output_excerpt_limit_bytes": 65536, "output_summary_limit_bytes": 65536,
    "output_offload_threshold_bytes": 65536, "output_format": None, "verify_shell": None, "verify_timeout_s": None,
    "verify_on_failure": None, "preferred_session_key": None, "auth_profile": None, "auth_profile_fallback": None,
    "delivery_opt_out_reason": None, "origin": None, "identity_principal": None, "identity_run_as": None,
    "identity_attestation": None, "identity_ref": None, "identity_subject_kind": None, "identity_subject_principal": None,
    "identity_trust_level": None, "identity_delegation_mode": None, "identity": None, "authorization_proof_ref": None,
    "authorization_proof": None, "authorization_ref": None, "authorization": None, "evidence_ref": None, "evidence": None,
    "contract_required_trust_level": None, "contract_trust_enforcement": None, "contract_sandbox": None,
    "contract_allowed_paths": None, "contract_network": None, "contract_max_cost_usd": None, "contract_audit": None,
    "child_credential_policy": None, "handoff_version": None, "handoff_artifact_digest": None, "effective_task_hash": None,
    "job_type": "standard", "watchdog_target_label": None, "watchdog_check_cmd": None, "watchdog_timeout_min": None,
    "watchdog_alert_channel": None, "watchdog_alert_target": None, "watchdog_self_destruct": 1, "watchdog_started_at": None,
    "next_run_at": None,
}  # fmt: skip
# The tables that can be inspected, with the column by which they are ordered.
OTHERS = {
    "runs": "started_at", "job_dispatch_queue": "created_at", "approvals": "requested_at",
    "evidence_records": "created_at", "runtime_events": "created_at", "provider_sessions": "updated_at",
    "credential_presentations": "created_at",
}  # fmt: skip
LONGEST_CHAIN = 10


class Refused(Exception):  # noqa: N818 - what happens to a job
    def __init__(self, message: str, code: str = "COMMAND_FAILED") -> None:
        super().__init__(message)
        self.code = code


def answer(database: str, words: list[str], patience: float) -> Any:
    """What a command says; Refused when it does not do it. `patience`: seconds that it waits for a locked database."""
    if words[0] != "jobs":
        raise Refused(f"Unknown command: {words[0]}", "CLI_ERROR")
    connection = sqlite3.connect(database, timeout=patience)
    connection.row_factory = sqlite3.Row
    try:
        with connection:
            _prepare(connection)
            return _jobs(connection, words[1], words[2:])
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    columns = ", ".join(DEFAULTS)
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS jobs ({columns}, created_at TEXT DEFAULT (datetime('now')), PRIMARY KEY (id))"
    )
    connection.execute(
        "CREATE TABLE IF NOT EXISTS handoff_artifacts "
        "(digest TEXT PRIMARY KEY, job_id, workflow_id, task_id, payload, created_at TEXT DEFAULT (datetime('now')))"
    )
    for table, newest in OTHERS.items():
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (id PRIMARY KEY, {newest})")


def _jobs(connection: sqlite3.Connection, verb: str, rest: list[str]) -> Any:
    if verb == "list":
        rows = [dict(row) for row in connection.execute("SELECT * FROM jobs ORDER BY name")]
        return (
            [_with_artifact(connection, row) for row in rows]
            if "--include-handoff-artifacts" in rest
            else rows
        )
    if verb == "add":
        spec = _document(rest)
        row = _judged(spec, None)
        if "--dry-run" in rest:
            return {"ok": True, "dry_run": True, "valid": True, "normalized": spec}
        return {"ok": True, "job": _insert(connection, row, spec)}
    current = connection.execute("SELECT * FROM jobs WHERE id = ?", rest[:1]).fetchone()
    if current is None:
        raise Refused(f"There is no job {rest[0]}", "NOT_FOUND")
    if verb == "delete":
        connection.execute("DELETE FROM jobs WHERE id = ?", rest[:1])
        return {"ok": True, "job_id": rest[0], "deleted": True}
    if verb != "update":
        raise Refused(f"Unknown command: jobs {verb}", "CLI_ERROR")
    spec = _document(rest[1:])
    row = _judged(spec, dict(current))
    if "--dry-run" in rest:
        return {"ok": True, "dry_run": True, "valid": True, "normalized": spec}
    return {"ok": True, "job": _replace(connection, row, dict(current), spec)}


def _document(rest: list[str]) -> Row:
    given = [word for word in rest if not word.startswith("--")]
    if len(given) + ("--stdin" in rest) != 1:
        raise Refused("One JSON document is needed, as a word or on standard input", "INVALID_ARGUMENT")
    try:
        found = json.loads(given[0] if given else sys.stdin.read())
    except ValueError as problem:
        raise Refused(f"That is not JSON: {problem}", "INVALID_JSON") from None
    if not isinstance(found, dict):
        raise Refused("That is not an object", "INVALID_JSON")
    return found


def _judged(spec: Row, current: Row | None) -> Row:
    """The row that the job would be; Refused when it is not taken."""
    spec = {name: int(value) if isinstance(value, bool) else value for name, value in spec.items()}
    row = {**(current or DEFAULTS), **{name: value for name, value in spec.items() if name in DEFAULTS}}
    if current is not None and current["handoff_version"] == 4 and row["handoff_version"] != 4:
        raise Refused("A v4 job stays one", "HANDOFF_ARTIFACT_DOWNGRADE_REFUSED")
    if row["handoff_version"] == 4:
        _judge_artifact(row, spec, current)
    if current is None and not spec.get("run_timeout_ms"):
        raise Refused("run_timeout_ms must be given")
    for name in ("name", "payload_message", "schedule_cron" if not row["parent_id"] else "trigger_on"):
        if not row[name]:
            raise Refused(f"{name} must be given")
    if not row["parent_id"]:
        if not row["origin"]:
            raise Refused("origin must be given for a root")
        _judge_schedule(row["schedule_cron"], row["schedule_tz"] or "UTC")
    if row["delivery_mode"] != "none" and row["session_target"] != "main" and not row["delivery_to"]:
        raise Refused("delivery_to must be given where something is announced")
    if any(character in (row["preferred_session_key"] or "") for character in "/\\?# "):
        raise Refused("preferred_session_key is no key of a session")
    if "(?=" in (row["trigger_condition"] or ""):
        raise Refused("trigger_condition looks ahead, which the engine cannot")
    if row["evidence"]:
        _judge_evidence(json.loads(row["evidence"]), row["handoff_version"] == 4)
    _judge_proof(row)
    return row


def _judge_schedule(cron: str, zone: str) -> None:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from cronsim import CronSim, CronSimError

    if cron == "0 0 31 2 *":
        raise Refused("schedule_cron is the one that never comes")
    try:
        CronSim(cron, datetime(2000, 1, 1, tzinfo=ZoneInfo(zone)))
    except (CronSimError, ValueError, OSError, KeyError) as problem:
        raise Refused(f"schedule_cron or schedule_tz cannot be understood: {problem}") from None


def _judge_evidence(evidence: Row, bound: bool) -> None:
    hashed = {"payload_hash", "provider_config_hash"} & set(evidence)
    if not bound:
        if hashed or evidence.get("provider") not in (None, "sha256", "checksum"):
            raise Refused("without an artifact there is only checksum evidence")
        return
    if not evidence.get("provider") or not evidence.get("methods"):
        raise Refused("evidence needs a provider and a method of it")
    if len(hashed) != 2 or evidence.get("provider_config") is not None:
        raise Refused("evidence must be bound to its payload and its configuration by their hashes")
    known = (
        "execution_id command contract result postcondition identity trust authorization authorization_proof "
        "delegation credential_handoff context"
    ).split()
    if unknown := set((evidence.get("payload") or {}).get("bind") or []) - set(known):
        raise Refused(f"evidence cannot be bound to {', '.join(sorted(unknown))}")


def _judge_proof(row: Row) -> None:
    proof = json.loads(row["authorization_proof"] or "{}")
    if row["handoff_version"] != 4 or proof.get("method") in (None, "none"):
        return
    source = (proof.get("proof") or {}).get("value_from") or {}
    if sorted(name for name, value in source.items() if value is not None) not in (["env"], ["file"]):
        raise Refused("a proof comes from one variable or one file")


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _judge_artifact(row: Row, spec: Row, current: Row | None) -> None:
    given = spec.get("handoff_artifact_payload")
    if given is None:
        if current is None or {"handoff_artifact_digest", "effective_task_hash"} & set(spec):
            raise Refused("A new artifact must come along")
        changed = sorted(name for name in spec if name in DEFAULTS and spec[name] != current[name])
        if changed not in ([], ["ttl_hours"]) and not (changed == ["enabled"] and not spec["enabled"]):
            raise Refused(f"These are bound to the artifact: {changed}", "HANDOFF_ARTIFACT_REQUIRED")
        return
    artifact = json.loads(given) if isinstance(given, str) else given
    if _digest(artifact) != row["handoff_artifact_digest"]:
        raise Refused("The artifact has another digest", "HANDOFF_ARTIFACT_DIGEST_MISMATCH")
    if not _belongs(artifact, row):
        raise Refused("The artifact belongs to another job", "HANDOFF_ARTIFACT_INVALID")
    if artifact["evidence"]["provider"] and not artifact["evidence"]["signed_or_provider_verified_required"]:
        raise Refused("Evidence must be signed", "HANDOFF_ARTIFACT_INVALID")


def _belongs(artifact: Row, row: Row) -> bool:
    """Far from all that the real one compares."""
    lifecycle = artifact["lifecycle"]
    return bool(
        artifact["compiled"]["job_id"] == row["id"]
        and artifact["compiled"]["effective_task_hash"] == row["effective_task_hash"]
        and lifecycle["target"]
        == {name: row[name] for name in ("session_target", "agent_id", "payload_kind")}
        and lifecycle["enabled"] >= bool(row["enabled"])
        and artifact["command"]["payload_message_sha256"] == _hash_text(row["payload_message"])
        and artifact["runtime"]["timeout_ms"] == row["run_timeout_ms"]
        and artifact["evidence"]["provider"] == json.loads(row["evidence"] or "{}").get("provider")
    )


def _hash_text(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _insert(connection: sqlite3.Connection, row: Row, spec: Row) -> Row:
    _require_parent(connection, row)
    # What is empty gets its default, as the real one's `||` does.
    row = {name: DEFAULTS[name] if row[name] in (None, "") else row[name] for name in DEFAULTS}
    names = list(DEFAULTS)
    marks = ", ".join("?" * len(names))
    _keep_artifact(connection, row, spec)
    connection.execute(
        f"INSERT INTO jobs ({', '.join(names)}) VALUES ({marks})", [row[name] for name in names]
    )
    return row


def _replace(connection: sqlite3.Connection, row: Row, current: Row, spec: Row) -> Row:
    _require_parent(connection, row)
    _keep_artifact(connection, row, spec)
    names = [name for name in DEFAULTS if name in spec and name != "id"]
    if names:
        changes = ", ".join(f"{name} = ?" for name in names)
        connection.execute(
            f"UPDATE jobs SET {changes} WHERE id = ?", [*(row[name] for name in names), current["id"]]
        )
    return row


def _require_parent(connection: sqlite3.Connection, row: Row) -> None:
    length, above = 0, row["parent_id"]
    while above is not None:
        found = connection.execute(
            "SELECT parent_id, handoff_version FROM jobs WHERE id = ?", (above,)
        ).fetchone()
        if found is None:
            raise Refused(f"There is no parent {above}")
        if row["handoff_version"] == 4 and found["handoff_version"] != 4:
            raise Refused("A v4 job needs a v4 parent", "HANDOFF_V4_PARENT_REQUIRED")
        length, above = length + 1, found["parent_id"]
        if length > LONGEST_CHAIN:
            raise Refused(f"That would be a chain of more than {LONGEST_CHAIN}")


def _keep_artifact(connection: sqlite3.Connection, row: Row, spec: Row) -> None:
    given = spec.get("handoff_artifact_payload")
    if given is None:
        return
    artifact = json.loads(given) if isinstance(given, str) else given
    source = artifact["manifest"]
    text = json.dumps(artifact, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    connection.execute(
        "INSERT OR IGNORE INTO handoff_artifacts (digest, job_id, workflow_id, task_id, payload) VALUES (?, ?, ?, ?, ?)",
        (row["handoff_artifact_digest"], row["id"], source["workflow_id"], source["task_id"], text),
    )


def _with_artifact(connection: sqlite3.Connection, row: Row) -> Row:
    """One job that is not what its artifact says, and there is no list at all."""
    if row["handoff_version"] != 4:
        return row
    found = connection.execute(
        "SELECT payload FROM handoff_artifacts WHERE digest = ?", (row["handoff_artifact_digest"],)
    ).fetchone()
    if found is None:
        raise Refused(f"The artifact of {row['id']} is gone", "HANDOFF_ARTIFACT_REQUIRED")
    artifact = json.loads(found["payload"])
    if not _belongs(artifact, row):
        raise Refused("A stored job is not what its artifact says", "HANDOFF_ARTIFACT_INVALID")
    return {**row, "handoff_artifact_payload": artifact}
