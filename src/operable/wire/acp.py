"""The messages of the Agent Client Protocol that come often, as types; versions 1 and 2 (draft) in one reading.

Theory of operation. Nearly all that an agent says is `session/update`, so that one is decoded straight into the types
below: a union by `sessionUpdate`, as lenient as the protocol's own rule (unknown fields are ignored, null is absent).
An update that does not fit is looked at again as plain JSON, once, to say what is wrong with it. Everything else of the
protocol is rare and handled as plain values by `operable.host.acp`.

What is decoded from JSON has no cycles, so the types that come with every piece of text are left to reference counting.

The two versions differ in few names here: version 2 sends whole messages (`agent_message`), upserts of tool calls only,
the state of the session as updates, and the agent's own terminals.
"""

from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from operable.wire.jsonrpc import MalformedMessage


class ContentBlock(Struct, frozen=True, gc=False, rename="camel"):
    """A piece of content of any type; the members that each type has are read where they are needed."""

    type: str = ""
    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    name: str | None = None
    resource: Any = None


class Chunk(
    Struct, frozen=True, gc=False, rename="camel", tag_field="sessionUpdate", tag="agent_message_chunk"
):
    content: ContentBlock
    message_id: str | None = None


class ThoughtChunk(
    Struct, frozen=True, gc=False, rename="camel", tag_field="sessionUpdate", tag="agent_thought_chunk"
):
    content: ContentBlock
    message_id: str | None = None


class UserChunk(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="user_message_chunk"):
    content: ContentBlock
    message_id: str | None = None


class WholeMessage(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="agent_message"):
    message_id: str | None = None
    content: list[ContentBlock] | None = None


class WholeThought(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="agent_thought"):
    message_id: str | None = None
    content: list[ContentBlock] | None = None


class WholeUserMessage(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="user_message"):
    message_id: str | None = None
    content: list[ContentBlock] | None = None


class Location(Struct, frozen=True):
    path: str = ""
    line: int | None = None


class ToolFields(Struct, frozen=True, rename="camel"):
    """What is known of a tool call so far; None is "as before". Also the `toolCall` of a permission request."""

    tool_call_id: str
    title: str | None = None
    name: str | None = None
    kind: str | None = None
    status: str | None = None
    content: list[Any] | None = None
    locations: list[Location] | None = None
    raw_input: Any = None
    raw_output: Any = None
    meta: Any = msgspec.field(default=None, name="_meta")


class ToolStart(ToolFields, frozen=True, rename="camel", tag_field="sessionUpdate", tag="tool_call"):
    pass


class ToolUpdate(ToolFields, frozen=True, rename="camel", tag_field="sessionUpdate", tag="tool_call_update"):
    pass


class ToolContentChunk(
    Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="tool_call_content_chunk"
):
    tool_call_id: str
    content: Any = None


class TerminalOutput(
    Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="terminal_output_chunk"
):
    terminal_id: str
    data: str = ""


class TerminalUpdate(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="terminal_update"):
    terminal_id: str
    output: Any = None


class AcpPlanEntry(Struct, frozen=True):
    content: str = ""
    priority: str | None = None
    status: str | None = None


class PlanList(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="plan"):
    entries: list[AcpPlanEntry]


class PlanUpdate(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="plan_update"):
    plan: Any = None


class AcpUsage(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="usage_update"):
    used: int | float | None = None
    size: int | float | None = None
    cost: Any = None


class CurrentMode(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="current_mode_update"):
    current_mode_id: str


class ConfigOptions(
    Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="config_option_update"
):
    config_options: list[Any]


class Commands(
    Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="available_commands_update"
):
    available_commands: list[Any]


class SessionInfo(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="session_info_update"):
    title: str | None = None
    updated_at: str | None = None


class AcpState(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="state_update"):
    """Version 2: the turn ends with `idle` and a stop reason, not with the response to the prompt."""

    state: str
    stop_reason: str | None = None
    usage: Any = None
    error: Any = None
    meta: Any = msgspec.field(default=None, name="_meta")


class AcpNotice(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="notice"):
    title: str = ""
    severity: str = "info"
    description: str | None = None


class AcpCompaction(Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="compaction_update"):
    status: str = ""
    error: str | None = None


Update = (
    Chunk
    | ThoughtChunk
    | UserChunk
    | WholeMessage
    | WholeThought
    | WholeUserMessage
    | ToolStart
    | ToolUpdate
    | ToolContentChunk
    | TerminalOutput
    | TerminalUpdate
    | PlanList
    | PlanUpdate
    | AcpUsage
    | CurrentMode
    | ConfigOptions
    | Commands
    | SessionInfo
    | AcpState
    | AcpNotice
    | AcpCompaction
)


class Params(Struct, frozen=True, gc=False, rename="camel"):
    """The parameters of `session/update`."""

    session_id: str
    update: Update


class _Unfit(Struct, frozen=True, rename="camel"):
    session_id: str
    update: dict[str, Any]


_decode_update: Final = msgspec.json.Decoder(Params).decode
_decode_unfit: Final = msgspec.json.Decoder(_Unfit).decode
# All that msgspec raises for bad input: its own errors, bad UTF-8, nesting too deep.
_FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError)


class UnknownUpdate(Exception):  # noqa: N818 - not an error of either side: the protocol grows
    """An update of a type that is not known here; to be reported, not to be acted on."""

    def __init__(self, session_id: str, kind: str) -> None:
        super().__init__(kind)
        self.session_id = session_id
        self.kind = kind


def decode_update(params: Raw) -> Params:
    """The parameters of one `session/update`; raises `UnknownUpdate`, or `MalformedMessage` if one breaks its rules."""
    try:
        return _decode_update(params)
    except _FAULTS as error:
        raise _unfit(params, error) from error


def _unfit(params: Raw, error: Exception) -> UnknownUpdate | MalformedMessage:
    try:
        plain = _decode_unfit(params)
    except _FAULTS:
        return MalformedMessage("malformed_update", str(error))
    kind = plain.update.get("sessionUpdate")
    if isinstance(kind, str) and kind not in KINDS:
        return UnknownUpdate(plain.session_id, kind)
    return MalformedMessage("malformed_update", f"{kind}: {error}")


def tool_fields(plain: Any) -> ToolFields:
    """The tool call inside another message; raises `MalformedMessage`."""
    try:
        return msgspec.convert(plain, ToolFields)
    except _FAULTS as error:
        raise MalformedMessage("malformed_tool_call", str(error)) from error


KINDS: Final = frozenset(kind.__struct_config__.tag for kind in Update.__args__)
"""The kinds of updates that are known here."""
