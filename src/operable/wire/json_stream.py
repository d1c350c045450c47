"""The JSON-stream protocol, versions 0.1.0 and 0.2.0: how an agent process and its host talk in lines of JSON.

Owns the way between lines and frames; the frames themselves are in `json_stream_frames`, and are used from here. Both sides
use it: `operable.host.arms.json_stream` reads events and writes commands, the built-in agent does the opposite.

Theory of operation. A line with only the fields that we know is decoded in one step. Any other is decoded as plain JSON
and shaped field by field: unknown fields are kept in `extra` (and written again by `encode`), a null is the same as
absent, an unknown `type` becomes `UnknownFrame`. What cannot be read raises `BadFrame`, which says why: a host reports
such a line as noise, an agent answers it with a `protocol_error`.

The versions differ in names, not in shape: the text of a message is `input` in 0.1.0 and `content` in 0.2.0. Both are read,
and `message` writes both.
"""

from functools import cache
from typing import Any, Final, TypeVar, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import fields, replace

from operable.kernel.json import json_line
from operable.wire.json_stream_frames import (
    CATEGORIES,
    ERROR_CODES,
    MODES,
    SCOPES,
    SEED_VERSION,
    VERSION,
    AddMcpServerFrame,
    Command,
    ConfigChangedFrame,
    ErrorFrame,
    Event,
    Frame,
    FrameCapabilities,
    FramePart,
    FrameProblem,
    FrameTool,
    FrameUsage,
    InfoFrame,
    InitHistoryFrame,
    McpReadyFrame,
    MessageFrame,
    PingFrame,
    PongFrame,
    ReadyFrame,
    SetConfigFrame,
    SetModeFrame,
    StopFrame,
    StreamEndFrame,
    StreamStartFrame,
    TextDeltaFrame,
    ThinkingFrame,
    ToolApproveFrame,
    ToolCancelledFrame,
    ToolDenyFrame,
    ToolRequestFrame,
    ToolResultFrame,
    ToolRunningFrame,
    UnknownFrame,
)

__all__ = [
    "CATEGORIES",
    "ERROR_CODES",
    "MODES",
    "SCOPES",
    "SEED_VERSION",
    "VERSION",
    "AddMcpServerFrame",
    "BadFrame",
    "Command",
    "ConfigChangedFrame",
    "ErrorFrame",
    "Event",
    "FrameCapabilities",
    "FrameProblem",
    "FrameTool",
    "FrameUsage",
    "InfoFrame",
    "InitHistoryFrame",
    "McpReadyFrame",
    "MessageFrame",
    "PingFrame",
    "PongFrame",
    "ReadyFrame",
    "SetConfigFrame",
    "SetModeFrame",
    "StopFrame",
    "StreamEndFrame",
    "StreamStartFrame",
    "TextDeltaFrame",
    "ThinkingFrame",
    "ToolApproveFrame",
    "ToolCancelledFrame",
    "ToolDenyFrame",
    "ToolRequestFrame",
    "ToolResultFrame",
    "ToolRunningFrame",
    "UnknownFrame",
    "decode_command",
    "decode_event",
    "encode",
    "message",
]

# All that msgspec raises for bad input: its own errors, bad UTF-8, nesting too deep.
_FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError)
_DETAIL_LIMIT: Final = (
    300  # characters; msgspec may quote the offending value, which can be as long as a line
)


class BadFrame(ValueError):  # noqa: N818 - says what is wrong, like LineTooLong
    """A line that is not a frame of the protocol; `code` is one of not_json, not_an_object, no_type, bad_fields."""

    def __init__(self, code: str, detail: str = "", type: str = "", msg_id: str | None = None) -> None:
        super().__init__(f"{code}: {detail[:_DETAIL_LIMIT]}" if detail else code)
        self.code = code
        self.detail = detail[:_DETAIL_LIMIT]
        self.type = type
        self.msg_id = msg_id  # of the message that it would have been


_PARTS: Final[dict[str, type[FramePart]]] = {
    "capabilities": FrameCapabilities,
    "tool": FrameTool,
    "usage": FrameUsage,
    "error": FrameProblem,
}
_NULLS: Final[dict[type[Struct], str]] = {ErrorFrame: "msg_id"}  # 0.1.0 writes `"msg_id": null` there

_P = TypeVar("_P", bound=FramePart)


def decode_event(line: bytes) -> Event | UnknownFrame:
    """What the agent said; raises `BadFrame`."""
    try:
        event: Event = _DECODE_EVENT(line)
    except _FAULTS:
        return _shaped(line, _EVENTS)  # type: ignore[return-value]  # the table contains only events
    return event


def decode_command(line: bytes) -> Command | UnknownFrame:
    """What the host said; raises `BadFrame`."""
    try:
        command: Command | UnknownFrame = _DECODE_COMMAND(line)
    except _FAULTS:
        command = _shaped(line, _COMMANDS)  # type: ignore[assignment]  # the table contains only commands
    if isinstance(command, MessageFrame) and command.content is None and command.input is None:
        raise BadFrame("bad_fields", "a message has `content` (or `input`)", "message", command.msg_id)
    return command


def encode(frame: Event | Command | UnknownFrame) -> bytes:
    """One line, with its line end."""
    plain = {"type": frame.type, **frame.fields} if isinstance(frame, UnknownFrame) else _plain(frame)
    return json_line(plain)


def message(msg_id: str, text: str, files: tuple[str, ...] = ()) -> MessageFrame:
    """A message with both names of its text.

    A peer's `ready.version` does not say which one it reads: releases 0.1.11 to 0.1.38 of the reference agent take only
    `content`, and drop a message without it in silence.
    """
    return MessageFrame(msg_id=msg_id, content=text, input=text, files=files)


def _shaped(line: bytes, kinds: dict[str, type[Frame]]) -> Frame | UnknownFrame:
    """The exact path: any object that has a type, whatever else it has."""
    try:
        plain = _DECODE_PLAIN(line)
    except _FAULTS as error:
        raise BadFrame("not_json", str(error)) from error
    if not isinstance(plain, dict):
        raise BadFrame("not_an_object")
    type_name = plain.pop("type", None)
    named = plain.get("msg_id")
    if not isinstance(type_name, str) or not type_name:
        raise BadFrame("no_type")
    kind = kinds.get(type_name)
    if kind is None:
        return UnknownFrame(type_name, plain)
    try:
        return _shape(kind, plain)
    except _FAULTS as error:
        msg_id = named if isinstance(named, str) else None
        raise BadFrame("bad_fields", str(error), type_name, msg_id) from error


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
def _field_names(kind: type[FramePart]) -> frozenset[str]:
    return frozenset(info.encode_name for info in fields(kind)) - {"extra"}


def _plain(part: FramePart) -> dict[str, Any]:
    kept_null = _NULLS.get(type(part))
    tag = part.__struct_config__.tag
    plain: dict[str, Any] = {"type": tag} if tag else {}
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if name == "extra" or (value is None and name != kept_null):
            continue
        plain[name] = _plain(value) if isinstance(value, FramePart) else value
    for name, value in part.extra.items():
        plain.setdefault(name, value)
    return plain


def _by_tag(union: Any) -> dict[str, type[Frame]]:
    return {kind.__struct_config__.tag: kind for kind in get_args(union)}


_EVENTS: Final = _by_tag(Event)
_COMMANDS: Final = _by_tag(Command)
_DECODE_EVENT: Final = msgspec.json.Decoder(Event).decode
_DECODE_COMMAND: Final = msgspec.json.Decoder(Command).decode
_DECODE_PLAIN: Final = msgspec.json.Decoder().decode
