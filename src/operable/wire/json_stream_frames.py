"""The frames of the JSON-stream protocol, versions 0.1.0 and 0.2.0: what an agent and its host say, as types.

Events go from the agent to the host, commands the other way; both are lines. How a line becomes a frame and a frame a line
is in `operable.wire.json_stream`, which is also where other modules import these from. A field that the older version
does not have is None, and then is not written; unknown fields are kept in `extra`.
"""

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct, field

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


class FramePart(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, repr_omit_defaults=True, gc=False
):
    """A JSON object inside a frame. Fields that are None are not written, unless the frame says otherwise."""

    extra: Extra = field(default_factory=dict)


class Frame(FramePart, frozen=True, kw_only=True, tag_field="type", tag=""):
    """A line. Its `type` is the tag of the class."""


# --- events: what the agent says ---------------------------------------------------------------------------------------


class FrameCapabilities(FramePart, frozen=True):
    """What the agent can do. The first three are of 0.1.0; the others are absent from an agent that speaks only that."""

    tool_approval: bool = False
    thinking: bool = False
    mcp: bool = False
    image_input: str | None = None  # supported | unsupported | unknown
    effort: bool | str | None = None
    effort_levels: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None
    current_mode: str | None = None


class FrameTool(FramePart, frozen=True):
    """A tool and what it is called with; `category` is one of CATEGORIES."""

    name: str
    category: str = "exec"  # what an agent does not categorise is the most dangerous kind
    args: Any = field(default_factory=dict)
    description: str = ""
    agent: str | None = None  # our addition: the sub-agent that calls it; None: the agent itself
    server: str | None = None  # our addition: the MCP server that it belongs to


class FrameUsage(FramePart, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class FrameProblem(FramePart, frozen=True):
    code: str = "internal_error"
    message: str = ""
    retryable: bool = False


class ReadyFrame(Frame, frozen=True, tag="ready"):
    """The agent is initialised; nothing may be sent before."""

    version: str = ""
    session_id: str | None = None
    capabilities: FrameCapabilities = field(default_factory=FrameCapabilities)


class StreamStartFrame(Frame, frozen=True, tag="stream_start"):
    msg_id: str = ""


class TextDeltaFrame(Frame, frozen=True, tag="text_delta"):
    text: str
    msg_id: str = ""


class ThinkingFrame(Frame, frozen=True, tag="thinking"):
    text: str
    msg_id: str = ""


class ToolRequestFrame(Frame, frozen=True, tag="tool_request"):
    """The agent waits until this call is approved or denied.

    `always` is our addition: what the scope `always` would cover, in words; empty: this call alone; None: not said.
    """

    call_id: str
    tool: FrameTool
    msg_id: str = ""
    always: str | None = None


class ToolRunningFrame(Frame, frozen=True, tag="tool_running"):
    """`tool` is our addition, for a call that was not announced by a request: hosts then know what runs."""

    call_id: str
    tool_name: str = ""
    msg_id: str = ""
    tool: FrameTool | None = None


class ToolResultFrame(Frame, frozen=True, tag="tool_result"):
    call_id: str
    tool_name: str = ""
    status: str = "success"  # success | error
    output: str = ""
    output_type: str = "text"  # text | diff | image
    metadata: Any = None
    msg_id: str = ""
    tool: FrameTool | None = None  # our addition, for a call that ended without having run


class ToolCancelledFrame(Frame, frozen=True, tag="tool_cancelled"):
    call_id: str
    reason: str = ""
    msg_id: str = ""


class StreamEndFrame(Frame, frozen=True, tag="stream_end"):
    msg_id: str = ""
    usage: FrameUsage | None = None


class ErrorFrame(Frame, frozen=True, tag="error"):
    """`msg_id` is null when the error belongs to no message."""

    error: FrameProblem
    msg_id: str | None = None


class InfoFrame(Frame, frozen=True, tag="info"):
    message: str
    msg_id: str | None = None


class ConfigChangedFrame(Frame, frozen=True, tag="config_changed"):
    """Since 0.2.0."""

    capabilities: FrameCapabilities = field(default_factory=FrameCapabilities)


class McpReadyFrame(Frame, frozen=True, tag="mcp_ready"):
    """Since 0.2.0."""

    name: str
    tools: tuple[str, ...] = ()


class PongFrame(Frame, frozen=True, tag="pong"):
    """Since 0.2.0."""


# --- commands: what the host says --------------------------------------------------------------------------------------


class MessageFrame(Frame, frozen=True, tag="message"):
    """A message of the user; make it with `message`, read it with `text`."""

    msg_id: str
    content: str | None = None
    input: str | None = None
    files: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`content` where both are given, since that is the newer name."""
        return self.content if self.content is not None else self.input or ""


class StopFrame(Frame, frozen=True, tag="stop"):
    pass


class ToolApproveFrame(Frame, frozen=True, tag="tool_approve"):
    call_id: str
    scope: str = "once"


class ToolDenyFrame(Frame, frozen=True, tag="tool_deny"):
    call_id: str
    reason: str = ""


class InitHistoryFrame(Frame, frozen=True, tag="init_history"):
    """What was said before; to be sent before the first message."""

    text: str


class SetModeFrame(Frame, frozen=True, tag="set_mode"):
    mode: str


class SetConfigFrame(Frame, frozen=True, tag="set_config"):
    """Since 0.2.0. What is None stays as it is."""

    model: str | None = None
    image_input: str | None = None
    thinking: str | bool | None = None
    thinking_budget: int | None = None
    effort: str | None = None
    compaction: str | None = None


class AddMcpServerFrame(Frame, frozen=True, tag="add_mcp_server"):
    """Since 0.2.0; before the first message. `transport` is stdio, sse or streamable-http."""

    name: str
    transport: str = "stdio"
    command: str | None = None
    args: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    url: str | None = None
    headers: dict[str, str] | None = None


class PingFrame(Frame, frozen=True, tag="ping"):
    """Since 0.2.0; answered with `pong`."""


class UnknownFrame(Struct, frozen=True):
    """A frame of a type that this version does not know."""

    type: str
    fields: dict[str, Any]


Event: TypeAlias = (
    ReadyFrame
    | StreamStartFrame
    | TextDeltaFrame
    | ThinkingFrame
    | ToolRequestFrame
    | ToolRunningFrame
    | ToolResultFrame
    | ToolCancelledFrame
    | StreamEndFrame
    | ErrorFrame
    | InfoFrame
    | ConfigChangedFrame
    | McpReadyFrame
    | PongFrame
)
Command: TypeAlias = (
    MessageFrame
    | StopFrame
    | ToolApproveFrame
    | ToolDenyFrame
    | InitHistoryFrame
    | SetModeFrame
    | SetConfigFrame
    | AddMcpServerFrame
    | PingFrame
)
