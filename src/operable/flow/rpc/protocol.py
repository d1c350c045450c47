"""JSON-RPC 2.0 without I/O: one line in, one answer or none out.

The envelope is judged exactly as the contract says (`answer_to` shows the order), then the method runs. What a method
raises becomes an error that shows callers what they can fix, and hides what is our own fault: that goes to
`report`. Every answer is one line of JSON, whatever a request contains.

There are two ways in. A plain request without params, such as a ping, is read by one compiled decoder; everything
else (params, unusual ids, further members, anything wrong) is read again in the exact way. So the short way never
decides what an answer says.
"""

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from operable.flow.canonical import UnkeptError, parse
from operable.flow.errors import FlowError, error_type, known_code
from operable.flow.manifest.validation import MANIFEST_VERSION
from operable.flow.operation import Defaults, Operation, method
from operable.wire.jsonrpc import error_response, notification, response

READY = notification("agentcli.ready", {"ok": True, "manifest_version": MANIFEST_VERSION})
REQUEST_LIMIT = 16 * 1024 * 1024
"""Bytes of one request, without its LF. A manifest of this size has tens of thousands of tasks."""
_EXACT = 2**53  # of integers, what every reader echoes alike
_ARGUMENT = {"code": "invalid_argument", "error_type": "invalid_argument"}


PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL, APPLICATION = (
    -32700, -32600, -32601, -32602, -32603, -32000,
)  # fmt: skip
_NUMBERS = {
    "invalid_argument": INVALID_PARAMS,
    "parse_error": INVALID_PARAMS,
    "unknown_command": METHOD_NOT_FOUND,
    "validation_error": APPLICATION,
}


class RpcJob(NamedTuple):
    """A request that may run: its operation, its params, and to whom the answer goes."""

    operation: Operation
    params: dict[str, Any]
    id: Any
    silent: bool  # a notification: run, never answered


class _Nothing(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Params that are an empty object."""


class _Plain(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A request of the commonest kind. Its id is one that every reader echoes alike."""

    jsonrpc: Literal["2.0"]
    method: str
    id: Annotated[int, msgspec.Meta(ge=-_EXACT, le=_EXACT)] | str
    params: _Nothing | None = None


_PLAIN = msgspec.json.Decoder(_Plain)
_ENCODER = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """One line. Lone surrogates, which no UTF-8 can hold, are escaped; a number beyond all doubles is null."""
    try:
        return _ENCODER.encode(value) + b"\n"
    except (UnicodeEncodeError, OverflowError):
        text = json.dumps(_without_infinities(value), separators=(",", ":"), allow_nan=False)
        return text.encode() + b"\n"


Methods = Mapping[str, Operation]
"""Methods that a server has beside those of the catalogue, by their whole names."""
NO_METHODS: Methods = MappingProxyType({})


def accept(line: bytes, more: Methods = NO_METHODS) -> RpcJob | bytes | None:
    """A job to run, an answer that is already certain, or None for what is never answered."""
    try:
        plain = _PLAIN.decode(line)
        return RpcJob(more.get(plain.method) or method(plain.method), {}, plain.id, silent=False)
    except (msgspec.MsgspecError, ValueError, RecursionError, FlowError):
        pass  # the exact way says what is wrong
    return _accept_exactly(line, more)


def _accept_exactly(line: bytes, more: Methods = NO_METHODS) -> RpcJob | bytes | None:
    try:
        request = parse(line.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        if isinstance(problem, UnkeptError) and (asked := _id_of(line)) is not None:
            return _failure(asked, INVALID_PARAMS, str(problem), _ARGUMENT)  # a caller waits for this id
        data = {"code": "parse_error", "error_type": "parse_error", "details": str(problem)[:200]}
        return _failure(None, PARSE_ERROR, "Parse error", data)
    if isinstance(request, list):
        return _failure(None, INVALID_REQUEST, "Batch requests are not supported", _ARGUMENT)
    if not isinstance(request, dict):
        return _failure(None, INVALID_REQUEST, "Invalid Request", _ARGUMENT)
    silent, request_id = "id" not in request, request.get("id")
    if isinstance(request_id, float) and request_id.is_integer():
        request_id = (
            _id_of(line) or request_id
        )  # as it was written: a client with 64-bit ids waits for exactly this one
    name, params = request.get("method"), request.get("params")
    if request.get("jsonrpc") != "2.0" or not isinstance(name, str):
        return None if silent else _failure(request_id, INVALID_REQUEST, "Invalid Request", _ARGUMENT)
    if params is not None and not isinstance(params, dict):
        return None if silent else _failure(request_id, INVALID_PARAMS, "Params must be an object", _ARGUMENT)
    try:
        found = more.get(name) or method(name)
    except FlowError as problem:
        return None if silent else encode(error_response(request_id, rpc_error(problem)))
    return RpcJob(found, params or {}, request_id, silent=silent)


def _id_of(line: bytes) -> int | str | None:
    """The plain id of a request, exactly, also of one whose other members cannot be taken."""
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):  # a number of thousands of digits
        return None
    found = request.get("id") if isinstance(request, dict) else None
    return found if isinstance(found, str) or type(found) is int else None


def perform(job: RpcJob, defaults: Defaults, report: Callable[[BaseException], None]) -> bytes | None:
    """Run it; the answer, or None for a notification."""
    try:
        line = encode(response(job.id, job.operation.answer(job.params, defaults)))
    except FlowError as problem:
        error = rpc_error(problem)
        if error["code"] == INTERNAL:
            report(problem)  # the answer does not have its words
        line = encode(error_response(job.id, error))
    except Exception as problem:  # noqa: BLE001 - a fault of ours must not end the session; it is reported and hidden
        report(problem)
        hidden = FlowError("internal_error", "Internal error")
        line = encode(error_response(job.id, rpc_error(hidden)))
    return None if job.silent else line


def answer_to(
    line: bytes,
    defaults: Defaults,
    report: Callable[[BaseException], None],
    more: Methods = NO_METHODS,
) -> bytes | None:
    """Both steps at once, for those who wait."""
    accepted = accept(line, more)
    return perform(accepted, defaults, report) if isinstance(accepted, RpcJob) else accepted


def too_long(limit: int) -> bytes:
    """The answer to a line that was not read to its end."""
    return _failure(
        None, INVALID_REQUEST, f"Request is longer than {limit} bytes", {**_ARGUMENT, "limit": limit}
    )


def _failure(request_id: Any, code: int, message: str, data: dict[str, Any]) -> bytes:
    error = {"code": code, "message": message, "data": data}
    return encode(error_response(request_id, error))


def _without_infinities(value: Any) -> Any:
    """What JavaScript would print: 1e999 is read as infinity and written as null."""
    if isinstance(value, dict):
        return {name: _without_infinities(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# The JSON-RPC error that each failure of a flow becomes.
#
# What the caller can correct is -32602, what the world refused is -32000, what is our own fault is -32603 without its
# text.


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
