"""The JSON-RPC error that each failure of a flow becomes.

What the caller can correct is -32602, what the world refused is -32000, what is our own fault is -32603 without its text.
"""

from typing import Any

from operable.flow.errors import FlowError, error_type, known_code

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL, APPLICATION = (
    -32700, -32600, -32601, -32602, -32603, -32000,
)  # fmt: skip
_NUMBERS = {
    "invalid_argument": INVALID_PARAMS,
    "parse_error": INVALID_PARAMS,
    "unknown_command": METHOD_NOT_FOUND,
    "validation_error": APPLICATION,
}


def rpc_error(failure: FlowError) -> dict[str, Any]:
    """The `error` member of an answer."""
    kind = error_type(failure.flow_code)
    if "validation" in failure.details:
        judged = {
            "code": "validation_error",
            "error_type": "validation_error",
            "validation": failure.details["validation"],
        }
        return {"code": INVALID_PARAMS, "message": failure.message, "data": judged}
    data: dict[str, Any] = {"code": known_code(failure.flow_code), "error_type": kind, **failure.details}
    if kind == "internal_error":
        # Its words stay here; what was written before the failure, a caller that cleans up must know.
        hidden = {"code": data["code"], "error_type": kind}
        hidden |= {name: data[name] for name in ("actions", "not_applied") if name in data}
        return {"code": INTERNAL, "message": "Internal error", "data": hidden}
    return {"code": _NUMBERS[kind], "message": failure.message, "data": data}
