"""The optional blocks that tasks, handlers and workflows share, checked one by one in the documented order."""

from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.findings import ENVIRONMENT_NAME, Findings, js_trim
from operable.flow.manifest.profile_rules import check_identity

# Member -> (kind of check, its argument), for blocks that only need a look at each member.
PLAIN: dict[str, dict[str, tuple[str, Any]]] = {
    "model_policy": {"provider": ("token", None), "model": ("token", None), "thinking": ("token", None)},
    "intent": {"mode": ("enum", ["execute", "plan"]), "read_only": ("boolean", None)},
    "output": {
        "preview_bytes": ("integer", 64),
        "offload": ("enum", ["auto", "always", "never"]),
        "retrieve": ("enum", ["inline", "on-demand"]),
        "format": ("enum", ["json", "ndjson", "text"]),
    },
    "budgets": dict.fromkeys(vocabulary.BLOCKS["budgets"], ("integer", 1)),
    "delivery": {
        "mode": ("enum", ["announce", "announce-always", "none"]),
        "channel": ("token", None),
        "to": ("token", None),
    },
    "reliability": {
        "guarantee": ("enum", ["at-most-once", "at-least-once"]),
        "max_retries": ("integer", 0),
        "overlap_policy": ("enum", ["skip", "allow", "queue"]),
    },
    "runtime": {"timeout_ms": ("integer", 1)},
    "approval": {
        "required": ("boolean", None),
        "policy": ("enum", ["manual", "auto-approve", "auto-reject"]),
        "risk_level": ("enum", ["low", "medium", "high"]),
        "approver_scope": ("token", None),
        "timeout_s": ("integer", 1),
        "auto": ("enum", ["approve", "reject"]),
    },
    "context": {"retrieval": ("enum", ["none", "recent", "hybrid"]), "limit": ("integer", 1)},
    "session": {"preferred_key": ("token", None)},
    "contract": {
        "sandbox": ("enum", ["none", "permissive", "strict"]),
        "allowed_paths": ("strings", None),
        "network": ("enum", ["unrestricted", "restricted", "none"]),
        "max_cost_usd": ("number", None),
        "audit": ("enum", ["none", "on-failure", "always"]),
        "required_trust_level": ("enum", vocabulary.TRUST_LEVELS),
        "trust_enforcement": ("enum", ["none", "advisory", "strict"]),
    },
}
_ANNOUNCING = ("announce", "announce-always")


_CONTAINS, _REGEX = "contains:", "regex:"


def check_plain_block(
    findings: Findings, owner: dict[str, Any], path: str, name: str
) -> dict[str, Any] | None:
    """Check one block of `owner` by its table; the block, when it is an object."""
    if owner.get(name) is None:
        return None
    block = findings.object(owner[name], f"{path}.{name}")
    if block is not None:
        for member, (kind, argument) in PLAIN[name].items():
            value = block.get(member)
            if value is None:
                continue  # no member of these blocks is required
            check = getattr(findings, kind)
            place = f"{path}.{name}.{member}"
            if argument is None:
                check(value, place)
            else:
                check(value, place, argument)
    return block


def check_execution_blocks(findings: Findings, task: dict[str, Any], path: str) -> None:
    """The blocks that a task and an on_failure handler have in common, warnings included."""
    for name in ("model_policy", "intent", "output", "budgets"):
        check_plain_block(findings, task, path, name)
    delivery = check_plain_block(findings, task, path, "delivery")
    if delivery is not None and delivery.get("mode") in _ANNOUNCING and delivery.get("to") is None:
        findings.error(
            f"{path}.delivery.to", 'is required when delivery.mode is "announce" or "announce-always"'
        )
    check_plain_block(findings, task, path, "reliability")
    check_plain_block(findings, task, path, "runtime")
    approval = check_plain_block(findings, task, path, "approval")
    if approval is not None and approval.get("policy") is not None and approval.get("required") is not None:
        findings.warn(
            f"{path}.approval",
            "approval.policy takes precedence over approval.required for backend compilation",
        )
    context = check_plain_block(findings, task, path, "context") or {}
    _warn_about_limits(findings, task.get("budgets"), context, path)
    check_plain_block(findings, task, path, "session")
    check_identity(findings, task.get("identity"), f"{path}.identity")
    check_plain_block(findings, task, path, "contract")
    check_references(findings, task, path)


def _warn_about_limits(findings: Findings, budgets: Any, context: dict[str, Any], path: str) -> None:
    items = budgets.get("max_context_items") if isinstance(budgets, dict) else None
    limit = context.get("limit")
    if items is not None and limit is not None and items != limit:
        findings.warn(
            f"{path}.context.limit",
            "context.limit takes precedence over budgets.max_context_items when both are set",
        )


def check_references(findings: Findings, owner: dict[str, Any], path: str) -> None:
    """authorization_proof, authorization and evidence: references to profiles, with what they overlay."""
    proof = findings.object(owner.get("authorization_proof"), f"{path}.authorization_proof")
    if proof is not None:
        place = f"{path}.authorization_proof"
        findings.string(proof.get("ref"), f"{place}.ref", required=True)
        findings.object(proof.get("claims"), f"{place}.claims")
        check_required(findings, proof.get("verify"), f"{place}.verify")
    authorization = findings.object(owner.get("authorization"), f"{path}.authorization")
    if authorization is not None:
        place = f"{path}.authorization"
        findings.string(authorization.get("ref"), f"{place}.ref", required=True)
        check_authorization_members(findings, authorization, place)
    evidence = findings.object(owner.get("evidence"), f"{path}.evidence")
    if evidence is not None:
        place = f"{path}.evidence"
        findings.string(evidence.get("ref"), f"{place}.ref")
        check_payload(findings, evidence.get("payload"), f"{place}.payload")
        check_required(findings, evidence.get("verify"), f"{place}.verify")


def check_authorization_members(findings: Findings, block: dict[str, Any], path: str) -> None:
    findings.object(block.get("provider_config"), f"{path}.provider_config")
    findings.enum(block.get("on_error"), f"{path}.on_error", ["deny", "warn"])
    request = findings.object(block.get("request"), f"{path}.request")
    if request is not None:
        findings.strings(request.get("include"), f"{path}.request.include")
    decision = findings.object(block.get("decision"), f"{path}.decision")
    if decision is not None:
        for name in vocabulary.DECISION:
            findings.strings(decision.get(name), f"{path}.decision.{name}")


def check_payload(findings: Findings, value: Any, path: str) -> None:
    payload = findings.object(value, path)
    if payload is not None:
        findings.unique_strings(payload.get("bind"), f"{path}.bind")
        findings.object(payload.get("context"), f"{path}.context")
        findings.string(payload.get("format"), f"{path}.format")


def check_required(findings: Findings, value: Any, path: str) -> None:
    block = findings.object(value, path)
    if block is not None:
        findings.boolean(block.get("required"), f"{path}.required")


def check_verify(findings: Findings, value: Any, path: str) -> None:
    """The postcondition of a task or workflow."""
    block = findings.object(value, path)
    if block is None:
        return
    shell = block.get("shell")
    if not isinstance(shell, str) or not js_trim(shell):
        findings.error(f"{path}.shell", "is required and must be a non-empty string")
    else:
        findings.string(shell, f"{path}.shell")
    findings.integer(block.get("timeout_seconds"), f"{path}.timeout_seconds", 1)
    findings.enum(block.get("on_failure"), f"{path}.on_failure", ["error", "warn"])


def check_target(findings: Findings, value: Any, path: str) -> str | None:
    """A task's target; the session target, when it is a known one."""
    if not isinstance(value, dict):
        findings.error(path, "must be an object")
        return None
    session = value.get("session_target")
    findings.enum(session, f"{path}.session_target", vocabulary.SESSION_TARGETS, required=True)
    findings.token(value.get("agent_id"), f"{path}.agent_id")
    kind = value.get("payload_kind")
    if session == "shell" and kind is not None and kind != "shellCommand":
        findings.error(f"{path}.payload_kind", "must be shellCommand for shell targets")
    else:
        findings.enum(kind, f"{path}.payload_kind", vocabulary.PAYLOAD_KINDS)
    return session if isinstance(session, str) and session in vocabulary.SESSION_TARGETS else None


def check_surface(findings: Findings, task: dict[str, Any], path: str, session: str | None) -> None:
    """What is executed: a prompt, or a program with its arguments; which of them, the target decides."""
    if "command" in task:
        findings.error(f"{path}.command", "is not supported; use shell.program and shell.args")
    if session is None:
        return
    prompt, shell = task.get("prompt"), task.get("shell")
    if session != "shell":
        findings.string(prompt, f"{path}.prompt", required=True)
        if shell is not None:
            findings.error(f"{path}.shell", "must not be present unless target.session_target is shell")
        return
    if prompt is not None:
        findings.error(f"{path}.prompt", "must not be present for shell targets")
    if shell is None:
        findings.error(f"{path}.shell", "is required")
    elif (block := findings.object(shell, f"{path}.shell")) is not None:
        _check_shell(findings, block, f"{path}.shell")


def _check_shell(findings: Findings, shell: dict[str, Any], path: str) -> None:
    findings.token(shell.get("program"), f"{path}.program", required=True)
    findings.strings(shell.get("args"), f"{path}.args")
    for name, value in (findings.object(shell.get("env"), f"{path}.env") or {}).items():
        if not ENVIRONMENT_NAME.match(name):
            findings.error(f"{path}.env.{name}", "must match /^[A-Za-z_][A-Za-z0-9_]*$/")
        findings.string(value, f"{path}.env.{name}", required=True)
    findings.string(shell.get("cwd"), f"{path}.cwd")
    stdin = shell.get("stdin")
    if stdin is not None and not isinstance(stdin, str):
        findings.error(f"{path}.stdin", "must be a string")


def check_invocation(findings: Findings, task: dict[str, Any], path: str) -> None:
    """Exactly one of schedule and trigger."""
    schedule, trigger = task.get("schedule"), task.get("trigger")
    wrong_type = any(value is not None and not isinstance(value, dict) for value in (schedule, trigger))
    if not wrong_type and (schedule is None) == (trigger is None):
        findings.error(path, "must define exactly one of schedule or trigger")
    if (block := findings.object(schedule, f"{path}.schedule")) is not None:
        findings.string(block.get("cron"), f"{path}.schedule.cron", required=True)
        findings.string(block.get("tz"), f"{path}.schedule.tz")
    if (block := findings.object(trigger, f"{path}.trigger")) is not None:
        findings.string(block.get("parent"), f"{path}.trigger.parent", required=True)
        findings.enum(block.get("on"), f"{path}.trigger.on", vocabulary.TRIGGERS, required=True)
        findings.integer(block.get("delay_s"), f"{path}.trigger.delay_s", 0)
        check_condition(findings, block.get("condition"), f"{path}.trigger.condition")


# Trigger conditions: a substring or an ECMAScript regular expression, looked for in the parent's output.
#
# The expressions are those of JavaScript, run by an ECMAScript engine (`regress`), because the two dialects differ in
# ways that no translation by hand gets right (groups, `$`, `\d`, braces). The engine backtracks: a caller that
# matches output of others bounds it, see `operable.flow.run.triggers`.


def check_condition(findings: Findings, value: Any, path: str) -> None:
    """Report what is wrong with a condition."""
    if value is None:
        return
    findings.string(value, path)
    if not isinstance(value, str):
        return
    if value.startswith(_REGEX):
        source = value.removeprefix(_REGEX)
        if not js_trim(source):
            findings.error(path, "regex trigger condition cannot be empty")
        elif (problem := regex_problem(source)) is not None:
            findings.error(path, f"invalid regex: {problem}")
    elif value.startswith(_CONTAINS):
        if not js_trim(value.removeprefix(_CONTAINS)):
            findings.error(path, "contains trigger condition cannot be empty")
    else:
        findings.error(path, "must start with contains: or regex:")


def regex_problem(source: str) -> str | None:
    """Why this is not an ECMAScript regular expression; None when it is one."""
    import regress  # only manifests with such a condition pay for it

    try:
        regress.Regex(source)
    except regress.RegressError as problem:
        return str(problem)
    return None
