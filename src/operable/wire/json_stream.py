"""The JSON-stream protocol, versions 0.1.0 and 0.2.0: how an agent process and its host talk in lines of JSON.

Owns the events (agent to host) and the commands (host to agent) as types, and the way between them and lines. Both sides use
it: `operable.host.arms.json_stream` reads events and writes commands, the built-in agent does the opposite.

Theory of operation. A line that holds nothing but the fields we know is decoded in one step. Any other is decoded as plain
JSON and shaped field by field: unknown fields are kept in `extra` (and written again by `encode`), a null is the same as
absent, an unknown `type` becomes `Unknown`. What cannot be read raises `BadFrame`, which says why: a host reports such a
line as noise, an agent answers it with a `protocol_error`.

The versions differ in names, not in shape: the text of a message is `input` in 0.1.0 and `content` in 0.2.0. Both are read;
`message` writes the one that the peer's `ready.version` asks for, or both when that says nothing.
"""

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, get_args

import msgspec
from msgspec import Struct, field
from msgspec.structs import fields, replace

if TYPE_CHECKING:
    Extra: TypeAlias = dict[str, Any]
else:

    class Extra(dict):
        """A plain dict to the reader; a type of its own to msgspec, which therefore never fills it from the wire."""


VERSION: Final = "0.2.0"
SEED_VERSION: Final = "0.1.0"
CATEGORIES: Final = ("info", "edit", "exec", "mcp")
MODES: Final = ("default", "auto_edit", "yolo")
SCOPES: Final = ("once", "always")
ERROR_CODES: Final = ("provider_error", "tool_error", "config_error", "protocol_error", "internal_error")

# All that msgspec raises for bad input: its own errors, bad UTF-8, nesting too deep.
_FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError)
_DETAIL_LIMIT: Final = (
    300  # characters; msgspec may quote the offending value, which can be as long as a line
)


class BadFrame(ValueError):  # noqa: N818 - says what is wrong, like LineTooLong
    """A line that is no frame of the protocol; `code` is one of not_json, not_an_object, no_type, bad_fields."""

    def __init__(self, code: str, detail: str = "", type: str = "") -> None:
        super().__init__(f"{code}: {detail[:_DETAIL_LIMIT]}" if detail else code)
        self.code = code
        self.detail = detail[:_DETAIL_LIMIT]
        self.type = type


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, repr_omit_defaults=True, gc=False):
    """A JSON object inside a frame. Fields that are None are not written, unless the frame says otherwise."""

    extra: Extra = field(default_factory=dict)


class _Frame(_Part, frozen=True, kw_only=True, tag_field="type", tag=""):
    """A line. Its `type` is the tag of the class."""


# --- events: what the agent says ---------------------------------------------------------------------------------------


class Capabilities(_Part, frozen=True):
    """What the agent can do. The first three are of 0.1.0; the others are absent from an agent that speaks only that."""

    tool_approval: bool = False
    thinking: bool = False
    mcp: bool = False
    image_input: str | None = None  # supported | unsupported | unknown
    effort: bool | str | None = None
    effort_levels: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None
    current_mode: str | None = None


class ToolUse(_Part, frozen=True):
    """A tool and what it is called with; `category` is one of CATEGORIES."""

    name: str
    category: str = "exec"  # what an agent does not categorise is the most dangerous kind
    args: Any = field(default_factory=dict)
    description: str = ""


class Usage(_Part, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Problem(_Part, frozen=True):
    code: str = "internal_error"
    message: str = ""
    retryable: bool = False


class Ready(_Frame, frozen=True, tag="ready"):
    """The agent is initialised; nothing may be sent before."""

    version: str = ""
    session_id: str | None = None
    capabilities: Capabilities = field(default_factory=Capabilities)


class StreamStart(_Frame, frozen=True, tag="stream_start"):
    msg_id: str = ""


class TextDelta(_Frame, frozen=True, tag="text_delta"):
    text: str
    msg_id: str = ""


class Thinking(_Frame, frozen=True, tag="thinking"):
    text: str
    msg_id: str = ""


class ToolRequest(_Frame, frozen=True, tag="tool_request"):
    """The agent waits until this call is approved or denied."""

    call_id: str
    tool: ToolUse
    msg_id: str = ""


class ToolRunning(_Frame, frozen=True, tag="tool_running"):
    call_id: str
    tool_name: str = ""
    msg_id: str = ""


class ToolResult(_Frame, frozen=True, tag="tool_result"):
    call_id: str
    tool_name: str = ""
    status: str = "success"  # success | error
    output: str = ""
    output_type: str = "text"  # text | diff | image
    metadata: Any = None
    msg_id: str = ""


class ToolCancelled(_Frame, frozen=True, tag="tool_cancelled"):
    call_id: str
    reason: str = ""
    msg_id: str = ""


class StreamEnd(_Frame, frozen=True, tag="stream_end"):
    msg_id: str = ""
    usage: Usage | None = None


class Error(_Frame, frozen=True, tag="error"):
    """`msg_id` is null when the error belongs to no message."""

    error: Problem
    msg_id: str | None = None


class Info(_Frame, frozen=True, tag="info"):
    message: str
    msg_id: str | None = None


class ConfigChanged(_Frame, frozen=True, tag="config_changed"):
    """Since 0.2.0."""

    capabilities: Capabilities = field(default_factory=Capabilities)


class McpReady(_Frame, frozen=True, tag="mcp_ready"):
    """Since 0.2.0."""

    name: str
    tools: tuple[str, ...] = ()


class Pong(_Frame, frozen=True, tag="pong"):
    """Since 0.2.0."""


# --- commands: what the host says --------------------------------------------------------------------------------------


class Message(_Frame, frozen=True, tag="message"):
    """A message of the user; make it with `message`, read it with `text`."""

    msg_id: str
    content: str | None = None
    input: str | None = None
    files: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`content` where both are given, since that is the newer name."""
        return self.content if self.content is not None else self.input or ""


class Stop(_Frame, frozen=True, tag="stop"):
    pass


class ToolApprove(_Frame, frozen=True, tag="tool_approve"):
    call_id: str
    scope: str = "once"


class ToolDeny(_Frame, frozen=True, tag="tool_deny"):
    call_id: str
    reason: str = ""


class InitHistory(_Frame, frozen=True, tag="init_history"):
    """What was said before; to be sent before the first message."""

    text: str


class SetMode(_Frame, frozen=True, tag="set_mode"):
    mode: str


class SetConfig(_Frame, frozen=True, tag="set_config"):
    """Since 0.2.0. What is None stays as it is."""

    model: str | None = None
    image_input: str | None = None
    thinking: str | bool | None = None
    thinking_budget: int | None = None
    effort: str | None = None
    compaction: str | None = None


class AddMcpServer(_Frame, frozen=True, tag="add_mcp_server"):
    """Since 0.2.0; before the first message. `transport` is stdio, sse or streamable-http."""

    name: str
    transport: str = "stdio"
    command: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    url: str | None = None
    headers: dict[str, str] | None = None


class Ping(_Frame, frozen=True, tag="ping"):
    """Since 0.2.0; answered with `pong`."""


class Unknown(Struct, frozen=True):
    """A frame of a type that this version does not know."""

    type: str
    fields: dict[str, Any]


Event: TypeAlias = (
    Ready
    | StreamStart
    | TextDelta
    | Thinking
    | ToolRequest
    | ToolRunning
    | ToolResult
    | ToolCancelled
    | StreamEnd
    | Error
    | Info
    | ConfigChanged
    | McpReady
    | Pong
)
Command: TypeAlias = (
    Message | Stop | ToolApprove | ToolDeny | InitHistory | SetMode | SetConfig | AddMcpServer | Ping
)

_PARTS: Final[dict[str, type[_Part]]] = {
    "capabilities": Capabilities,
    "tool": ToolUse,
    "usage": Usage,
    "error": Problem,
}
_NULLS: Final[dict[type[Struct], str]] = {Error: "msg_id"}  # 0.1.0 writes `"msg_id": null` there

_P = TypeVar("_P", bound=_Part)


def decode_event(line: bytes) -> Event | Unknown:
    """What the agent said; raises `BadFrame`."""
    try:
        event: Event = _DECODE_EVENT(line)
    except _FAULTS:
        return _shaped(line, _EVENTS)  # type: ignore[return-value]  # the table holds nothing but events
    return event


def decode_command(line: bytes) -> Command | Unknown:
    """What the host said; raises `BadFrame`."""
    try:
        command: Command | Unknown = _DECODE_COMMAND(line)
    except _FAULTS:
        command = _shaped(line, _COMMANDS)  # type: ignore[assignment]  # the table holds nothing but commands
    if isinstance(command, Message) and command.content is None and command.input is None:
        raise BadFrame("bad_fields", "a message has `content` (or `input`)", "message")
    return command


def encode(frame: Event | Command | Unknown) -> bytes:
    """One line, with its line end."""
    plain = {"type": frame.type, **frame.fields} if isinstance(frame, Unknown) else _plain(frame)
    try:
        return _ENCODE(plain) + b"\n"
    except UnicodeEncodeError:
        # Text with lone surrogates (undecodable bytes of a file name or a terminal): a line of it must still be a line.
        return json.dumps(plain, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def message(msg_id: str, text: str, files: tuple[str, ...] = (), *, version: str = "") -> Message:
    """A message for a peer whose `ready` gave this version; a version that says nothing gets both names of the text."""
    seed = re.match(r"v?0\.1(\.|$)", version)
    newer = re.match(r"v?(0\.([2-9]|[1-9]\d)|[1-9])", version)
    return Message(
        msg_id=msg_id,
        content=None if seed else text,
        input=None if newer else text,
        files=files,
    )


def _shaped(line: bytes, kinds: dict[str, type[_Frame]]) -> _Frame | Unknown:
    """The exact path: any object that has a type, whatever else it has."""
    try:
        plain = _DECODE_PLAIN(line)
    except _FAULTS as error:
        raise BadFrame("not_json", str(error)) from error
    if not isinstance(plain, dict):
        raise BadFrame("not_an_object")
    type_name = plain.pop("type", None)
    if not isinstance(type_name, str) or not type_name:
        raise BadFrame("no_type")
    kind = kinds.get(type_name)
    if kind is None:
        return Unknown(type_name, plain)
    try:
        return _shape(kind, plain)
    except _FAULTS as error:
        raise BadFrame("bad_fields", str(error), type_name) from error


def _shape(kind: type[_P], plain: dict[str, Any]) -> _P:
    known, extra, parts = {}, {}, {}
    names = _field_names(kind)
    for name, value in plain.items():
        if name not in names:
            extra[name] = value
        elif value is None:
            continue  # the same as absent
        elif name in _PARTS and isinstance(value, dict):
            parts[name] = _shape(_PARTS[name], value)
            known[name] = {key: item for key, item in value.items() if key in _field_names(_PARTS[name])}
            known[name] = {key: item for key, item in known[name].items() if item is not None}
        else:
            known[name] = value
    return replace(msgspec.convert(known, kind), extra=extra, **parts)


@cache
def _field_names(kind: type[_Part]) -> frozenset[str]:
    return frozenset(info.encode_name for info in fields(kind)) - {"extra"}


def _plain(part: _Part) -> dict[str, Any]:
    kept_null = _NULLS.get(type(part))
    tag = part.__struct_config__.tag
    plain: dict[str, Any] = {"type": tag} if tag else {}
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if name == "extra" or (value is None and name != kept_null):
            continue
        plain[name] = _plain(value) if isinstance(value, _Part) else value
    for name, value in part.extra.items():
        plain.setdefault(name, value)
    return plain


def _by_tag(union: Any) -> dict[str, type[_Frame]]:
    return {kind.__struct_config__.tag: kind for kind in get_args(union)}


_EVENTS: Final = _by_tag(Event)
_COMMANDS: Final = _by_tag(Command)
_DECODE_EVENT: Final = msgspec.json.Decoder(Event).decode
_DECODE_COMMAND: Final = msgspec.json.Decoder(Command).decode
_DECODE_PLAIN: Final = msgspec.json.Decoder().decode
_ENCODE: Final = msgspec.json.Encoder().encode
