"""JSON-RPC 2.0 without I/O: one line is one message, in both directions.

Theory of operation. `decode` reads only the head of a message: id, method, and what kind it is; `params` and `result` stay
raw bytes (`msgspec.Raw`) until the protocol above decodes them into its own types, so that a message is parsed once and
only as far as a caller looks. `RpcLink` keeps the two id spaces, which overlap (both sides count from 0 or 1): ours, made
here and remembered with a purpose until their response comes, and the peer's, remembered until we have answered.

One outcome each. Bad UTF-8, no JSON, a batch (no protocol of ours has them), no object, an id that is neither string nor
number, a message that is neither request nor response: `MalformedMessage` with a code. A missing or other `jsonrpc`
member is accepted: real peers leave it out. Result and error at once: the error counts. A response to nothing, or twice:
`settle` says so. A peer that keeps more than `OPEN_LIMIT` requests open is refused the next one: nothing here grows
without bound.
"""

import json
import re
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from operable.kernel.json import json_line

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
"""Of the Language Server Protocol; what ACP answers for a request that was withdrawn."""

OPEN_LIMIT: Final = 1024
"""Requests that a peer may keep open. Real agents have had three at most."""

HEAD: Final = {"jsonrpc": "2.0"}
Id = int | str | None

_DETAIL_LIMIT: Final = 300
_EMPTY: Final = Raw(b"")
_KINDS: Final = frozenset(("method", "result", "error"))
_MEMBER: Final = re.compile(
    r'"(?P<name>id|method|result|error)"\s*+:\s*+'
    r'(?P<id>-?(?:0|[1-9][0-9]{0,17})(?![0-9.eE])|"[^"\\\x00-\x1f]{1,200}")?'
)
# All that msgspec raises for bad input: its own errors, bad UTF-8, nesting too deep.
_FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError)


class RpcError(Struct, frozen=True):
    """The error of a response. Number and text are the peer's; nothing of it is to be trusted."""

    code: int = INTERNAL_ERROR
    message: str = ""
    data: Any = None


class RpcMessage(Struct, frozen=True, gc=False):
    """The head of a message. `method` is set for requests and notifications; a notification has no id."""

    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = _EMPTY
    result: Raw = _EMPTY
    # Any value: a peer that answers with a broken error has answered, and the waiting caller must learn of it.
    error: Any = None

    def failure(self) -> RpcError | None:
        """The error of a response, whatever shape it has; None: it has a result."""
        if self.error is None:
            return None
        fields = self.error if isinstance(self.error, dict) else {"message": self.error}
        code, text = fields.get("code"), fields.get("message")
        return RpcError(
            code if type(code) is int else INTERNAL_ERROR,
            text if isinstance(text, str) else str(text)[:_DETAIL_LIMIT],
            fields.get("data"),
        )


class MalformedMessage(Exception):  # noqa: N818 - the peer's fault, not an error of ours
    """A line is not a message. `code` is stable; `unread_heads` says whom the line concerns."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail[:_DETAIL_LIMIT]


_decode_head: Final = msgspec.json.Decoder(RpcMessage).decode
_decode_any: Final = msgspec.json.Decoder().decode


def request(request_id: Id | float, method: str, params: Any) -> dict[str, Any]:
    """The message that asks for something."""
    return {**HEAD, "id": request_id, "method": method, "params": params}


def notification(method: str, params: Any) -> dict[str, Any]:
    """The message that is not answered."""
    return {**HEAD, "method": method, "params": params}


def response(request_id: Any, result: Any) -> dict[str, Any]:
    """The message that answers a request."""
    return {**HEAD, "id": request_id, "result": result}


def error_response(request_id: Any, error: Any) -> dict[str, Any]:
    """The message that refuses a request; `request_id` None if the request could not be read."""
    return {**HEAD, "id": request_id, "error": error}


def decode(line: bytes) -> RpcMessage:
    """The head of the message on this line; raises `MalformedMessage`."""
    try:
        # What stays raw is not looked into, and a lone surrogate there would be found too late.
        if not line.isascii():
            line.decode()
        message = _decode_head(line)
    except _FAULTS as error:
        raise _diagnosed(line, error) from error
    if message.method is UNSET and (message.id is UNSET or not (message.result or message.error is not None)):
        raise MalformedMessage("not_a_message", "neither a method nor a result or an error with an id")
    return message


def params_of(raw: Raw) -> dict[str, Any]:
    """The named parameters (or the result) of a message as plain values; raises `MalformedMessage` when they are none."""
    if not raw:
        return {}
    try:
        plain = _decode_any(raw)
    except _FAULTS as error:
        raise MalformedMessage("not_json", str(error)) from error
    if plain is None:
        return {}
    if not isinstance(plain, dict):
        raise MalformedMessage("params_not_named", type(plain).__name__)
    return plain


class UnreadHead(NamedTuple):
    """What could be read of a message that `decode` refuses: whom it concerns, and nothing that it says."""

    id: Id | float
    is_request: bool


def unread_heads(line: bytes) -> list[UnreadHead]:
    """The requests and responses on a line that is malformed, for the peer and the caller that wait for an end of them.

    Read leniently: lone surrogates, NaN, control characters, batches, and, of what no reader takes, the first of each
    member. A notification is not among them, and neither is an object that only happens to have an id.
    """
    text = line.decode("utf-8", "replace")
    try:
        plain = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        plain = _first_members(text) if text.lstrip().startswith("{") else None
    messages = plain[:OPEN_LIMIT] if isinstance(plain, list) else [plain]
    return [
        UnreadHead(_usable_id(each["id"]), "method" in each)
        for each in messages
        if isinstance(each, dict) and "id" in each and not each.keys().isdisjoint(_KINDS)
    ]


def _first_members(text: str) -> dict[str, Any]:
    """The id, and which kinds of message it may be, of an object that cannot be read as JSON."""
    found: dict[str, Any] = {}
    for match in _MEMBER.finditer(text):
        if match["name"] != "id":
            found.setdefault(match["name"], None)
        elif "id" not in found:
            found["id"] = json.loads(match["id"]) if match["id"] else None
    return found


def _usable_id(given: Any) -> Id | float:
    """The id as it can be sent back; None, as JSON-RPC has it, for an id that cannot be."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        json.dumps(given, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return None
    return given


def _diagnosed(line: bytes, error: Exception) -> MalformedMessage:
    """Why a line is not a message, most specific reason first."""
    if not line.strip():
        return MalformedMessage("blank")
    try:
        line.decode()
    except UnicodeDecodeError:
        return MalformedMessage("invalid_utf8")
    if isinstance(error, RecursionError):
        return MalformedMessage("nested_too_deep")
    try:
        plain = _decode_any(line)
    except RecursionError:
        return MalformedMessage("nested_too_deep")
    except _FAULTS as fault:
        return MalformedMessage("not_json", str(fault))
    if isinstance(plain, list):
        return MalformedMessage("batch")
    if not isinstance(plain, dict):
        return MalformedMessage("not_an_object")
    return MalformedMessage("not_a_message", str(error))


class RpcLink:
    """Our end of a connection: makes messages, and knows which requests of either side are open."""

    def __init__(self, *, version: str | None = "2.0", limit: int = OPEN_LIMIT) -> None:
        """`version` None leaves the member out, for peers that do not have it."""
        self._head: dict[str, Any] = {} if version is None else {**HEAD, "jsonrpc": version}
        self._limit = limit
        self._last = 0
        self._ours: dict[int, Any] = {}
        self._theirs: dict[str, Id] = {}
        self._questions = 0
        self._written: list[bytes] = []

    # --- what we say ---------------------------------------------------------------------------------------------

    def request(self, method: str, params: Any, purpose: Any) -> int:
        """Write a request; `purpose` comes back from `settle` with the response."""
        self._last += 1
        self._ours[self._last] = purpose
        self._write({**self._head, "id": self._last, "method": method, "params": params})
        return self._last

    def notify(self, method: str, params: Any) -> None:
        self._write({**self._head, "method": method, "params": params})

    def respond(self, key: str, result: Any) -> bool:
        """Answer one of the peer's requests; False when it is not open (any more)."""
        return self._answer(key, {"result": result})

    def refuse(self, key: str, code: int, message: str, data: Any = None) -> bool:
        """Answer one of the peer's requests with an error; False when it is not open (any more)."""
        error = {"code": code, "message": message}
        return self._answer(key, {"error": error if data is None else {**error, "data": data}})

    def refuse_id(self, request_id: Id | float, code: int, message: str) -> None:
        """Answer a request that was not taken in with `accept`."""
        self._write({**self._head, "id": request_id, "error": {"code": code, "message": message}})

    def refuse_unread(self, line: bytes, fault: MalformedMessage) -> list[Any]:
        """Answer the requests on a malformed line with an error; the purposes of our requests that it was to answer."""
        purposes = []
        for head in unread_heads(line):
            if head.is_request:
                code = PARSE_ERROR if fault.code == "not_json" else INVALID_REQUEST
                self.refuse_id(head.id, code, f"The request cannot be read: {fault.code}")
            elif type(head.id) is int and head.id in self._ours:
                purposes.append(self._ours.pop(head.id))
        return purposes

    def take(self) -> bytes:
        """What is to be written now, each message with its line end; empties the buffer."""
        if not self._written:
            return b""
        written = b"".join(self._written)
        self._written.clear()
        return written

    # --- what they say -------------------------------------------------------------------------------------------

    def settle(self, response_id: Id | UnsetType) -> tuple[bool, Any]:
        """Whether this response answers an open request of ours, and that request's purpose."""
        # bool is an int, but never an id of ours; text that looks like our number is not ours either.
        if type(response_id) is not int or response_id not in self._ours:
            return False, None
        return True, self._ours.pop(response_id)

    def waits_for(self, request_id: int) -> bool:
        return request_id in self._ours

    def forget(self, request_id: int) -> None:
        """Wait no longer for this response; when it comes after all, it answers nothing."""
        self._ours.pop(request_id, None)

    def accept(self, request_id: Id | UnsetType, prefix: str) -> str | None:
        """Take in a request of the peer under a key that is never reused; None: too many are open."""
        if len(self._theirs) >= self._limit:
            return None
        self._questions += 1
        key = f"{prefix}-{self._questions}"
        self._theirs[key] = None if request_id is UNSET else request_id
        return key

    def is_open(self, key: str) -> bool:
        return key in self._theirs

    def key_of(self, request_id: Id) -> str | None:
        """The key of the open request with this id; the oldest when the peer used it twice."""
        return next((key for key, known in self._theirs.items() if _same(known, request_id)), None)

    def _answer(self, key: str, outcome: dict[str, Any]) -> bool:
        if key not in self._theirs:
            return False
        self._write({**self._head, "id": self._theirs.pop(key), **outcome})
        return True

    def _write(self, message: dict[str, Any]) -> None:
        self._written.append(json_line(message))


def _same(known: Id, wanted: Id) -> bool:
    # 1 and "1" are different ids.
    return type(known) is type(wanted) and known == wanted
