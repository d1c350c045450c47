"""The words for what goes wrong, and the JSON-RPC error that each becomes.

Every failure of a flow is a `FlowError` with a code of this list. A code belongs to one of five types, and the type
decides what a client sees: what the caller can fix is -32602, what the world refused is -32000, what is our own fault
is -32603 without its text.
"""

from typing import Any

from operable.flow.canonical import canonical_text
from operable.flow.contracts import FlowError

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL, APPLICATION = (
    -32700, -32600, -32601, -32602, -32603, -32000,
)  # fmt: skip

TYPES = ("validation_error", "unknown_command", "invalid_argument", "parse_error", "internal_error")
_OF_ARGUMENTS = ("no_runtime", "unsupported_capability")
_OF_OURS = ("scheduler_error", "approval_lock_timeout")
_OTHERS = (
    "approval_required approval_auto_rejected approval_signature_invalid approval_scope_mismatch approval_log_invalid "
    "content_changed "
    "policy_forbids_approval authorization_proof_failed authorization_proof_invalid unknown_verifier authorization_denied "
    "authorization_escalation_required authorization_error unknown_authorization_provider identity_resolution_failed "
    "identity_profile_invalid identity_delegation_invalid unknown_identity_provider identity_provider_error "
    "resolution_failed token_not_found token_file_empty token_file_not_found token_request_failed "
    "presentation_format_unsupported presentation_binding_invalid presentation_source_forbidden "
    "presentation_binding_missing presentation_target_unsupported presentation_target_invalid "
    "presentation_stdin_conflict evidence_failed verify_failed sandbox_unavailable sandbox_enforcement_unavailable "
    "sandbox_path_escape sandbox_path_invalid contract_violation trust_level_insufficient capability_mismatch "
    "delegation_error commands_not_allowed network_not_allowed"
).split()


def error_type(code: str) -> str:
    """The type of a code; a code that nobody has listed is an internal error."""
    if code in TYPES:
        return code
    if code in _OF_ARGUMENTS:
        return "invalid_argument"
    if code in _OF_OURS:
        return "internal_error"
    return "validation_error" if code in _OTHERS or code.startswith("spiffe_") else "internal_error"


def known_code(code: str) -> str:
    """The code as others may see it."""
    listed = code in TYPES or code in (*_OF_ARGUMENTS, *_OF_OURS, *_OTHERS) or code.startswith("spiffe_")
    return code if listed else "internal_error"


def invalid_argument(message: str, **details: Any) -> FlowError:
    return FlowError("invalid_argument", message, **details)


def spelled(value: Any) -> str:
    """A value of a request in a message: as JSON has it, and texts without quotes. `None` and `True` are words of ours."""
    try:
        return value if isinstance(value, str) else canonical_text(value)
    except ValueError:  # a number beyond all numbers, or nested too deeply
        return "…"


def rpc_error(problem: FlowError) -> dict[str, Any]:
    """The `error` member of an answer."""
    kind = error_type(problem.code)
    if "validation" in problem.details:
        judged = {
            "code": "validation_error",
            "error_type": "validation_error",
            "validation": problem.details["validation"],
        }
        return {"code": INVALID_PARAMS, "message": problem.message, "data": judged}
    data: dict[str, Any] = {"code": known_code(problem.code), "error_type": kind, **problem.details}
    if kind in ("invalid_argument", "parse_error"):
        return {"code": INVALID_PARAMS, "message": problem.message, "data": data}
    if kind == "unknown_command":
        return {"code": METHOD_NOT_FOUND, "message": problem.message, "data": data}
    if kind == "internal_error":
        # Its words stay here; what was written before it went wrong, whoever cleans up must know.
        hidden = {"code": data["code"], "error_type": kind}
        hidden |= {name: data[name] for name in ("actions", "not_applied") if name in data}
        return {"code": INTERNAL, "message": "Internal error", "data": hidden}
    return {"code": APPLICATION, "message": problem.message, "data": data}
