"""The blocks that only an AGENT-CLI.md has (AIP-45): its sessions, models, modes, options and ways to continue.

Plain values, read by `operable.manifest.kinds.agent_cli`; what holds between them is in `agent`.
Blocks that other manifests also have are in `blocks`.
"""

from typing import Literal

from msgspec import field

from operable.manifest.blocks import Block


class SessionBlock(Block, frozen=True, kw_only=True):
    mode: Literal["ephemeral", "persistent", "resumable"] = "ephemeral"
    idle_timeout_ms: int = 600_000
    max_turns: int | None = None
    context_carryover: bool = True


class Models(Block, frozen=True, kw_only=True):
    default: str | None = None
    allowed: tuple[str, ...] = ()
    """Empty: any model may be asked for."""
    env: dict[str, str] = field(default_factory=dict)
    """Model slot (a provider's name) -> the environment variable that contains its key."""


class CapabilitiesBlock(Block, frozen=True, kw_only=True):
    """What the manifest promises; None is "not said"."""

    streaming: bool | None = None
    tool_calls: bool | None = None
    sub_agents: bool | None = None
    file_io: bool | None = None
    multimodal: bool | None = None
    resumable: bool | None = None
    bidirectional: bool | None = None


class ModeBlock(Block, frozen=True, kw_only=True):
    id: str
    description: str = ""
    bin_args_append: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)


class OptionBlock(Block, frozen=True, kw_only=True):
    id: str
    type: Literal["boolean", "integer", "string", "enum"]
    description: str = ""
    enum: tuple[str, ...] = ()
    default: bool | int | str | None = None
    min: int | None = None
    max: int | None = None
    bin_args_template: tuple[str, ...] = ()
    bin_args_append_when_true: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)


Strategy = Literal["none", "pinned-session", "transcript", "native-resume"]
KeyScope = Literal["conversation", "operator", "user", "guild", "workspace"]


class PinnedSession(Block, frozen=True, kw_only=True):
    idle_timeout_ms: int = 1_800_000
    key_scope: tuple[KeyScope, ...] = ("conversation", "operator")


class Continuation(Block, frozen=True, kw_only=True):
    default: Strategy
    supported: tuple[Strategy, ...]
    pinned_session: PinnedSession = PinnedSession()


class Mcp(Block, frozen=True, kw_only=True):
    transport: Literal["stdio", "http", "sse"]
    command: str | None = None
    args: tuple[str, ...] = ()
    url: str | None = None
