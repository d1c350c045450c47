"""The seven events of a conversation with an agent, whatever protocol it speaks, and the few facts that ride beside them.

The seven kinds are closed (AIP-45, "Stream event taxonomy"): text-delta, tool-call, tool-result, thought, agent-prompt,
turn-end, error. What else a protocol reports is a field of one of them, or one of the extension events below, which a
consumer may safely ignore. Arms make these values; no code above an arm sees a
vendor's format.

On the wire the names are those of the reference driver: camelCase, absent rather than null.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from operable.kernel.canonical import digest

# The reasons of `turn-end`. "error" is a turn that ended by an error event before it; "timeout" is the host's watchdog.
COMPLETED: Final = "completed"
CANCELLED: Final = "cancelled"
REFUSAL: Final = "refusal"
MAX_TOKENS: Final = "max_tokens"
MAX_TURNS: Final = "max_turns"
ERROR: Final = "error"
TIMEOUT: Final = "timeout"
REASONS: Final = (COMPLETED, CANCELLED, REFUSAL, MAX_TOKENS, MAX_TURNS, ERROR, TIMEOUT)

# What a tool does, as far as the agent says: the words of ACP. Unknown kinds become "other".
TOOL_KINDS: Final = (
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
)
# Kinds that change something; a call of one of them that ran without having asked, in a mode that asks, is an alarm.
MUTATING_KINDS: Final = frozenset({"edit", "delete", "move", "execute"})


class Usage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Tokens and money of one turn, as far as the agent reports them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float | None = None


class Choice(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One answer that an agent offers. `kind` is the protocol's word; show the name, never pick by kind alone."""

    id: str
    name: str
    kind: str = ""


class Failure(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What went wrong, in the words of the peer; `code` is ours and stable."""

    message: str
    code: str = "agent_error"
    retryable: bool = False
    data: Any = None


class TextDelta(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="text-delta"):
    """A piece of the agent's answer."""

    session_id: str
    text: str
    message_id: str | None = None


class Thought(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="thought"):
    """A piece of the agent's reasoning."""

    session_id: str
    text: str


class ToolCall(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="tool-call"):
    """The agent uses a tool. Comes once per call, before its result; `kind` is one of TOOL_KINDS.

    `unnamed`: the agent does not name the tool, and `tool_name` is the title that it shows. `diffs` has the path and the
    digest of each change that the agent shows beside the arguments.
    """

    session_id: str
    tool_call_id: str
    tool_name: str
    arguments: Any = msgspec.field(default_factory=dict)
    kind: str = "other"
    title: str = ""
    locations: tuple[str, ...] = ()
    unnamed: bool = False
    diffs: tuple[dict[str, Any], ...] = ()


def change_digest(diff: Mapping[str, Any]) -> str:
    """What distinguishes two changes of a file: the content that it is to have."""
    told = diff.get("digest")
    if isinstance(told, str):
        return told
    return digest([str(diff.get(name, "")) for name in ("newText", "patch")])


class ToolResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="tool-result"):
    """What a tool gave back. Exactly one per tool-call; a call that never got one is closed as an error at turn-end."""

    session_id: str
    tool_call_id: str
    result: Any = None
    is_error: bool = False
    denied: bool = False


class AgentPrompt(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="agent-prompt"):
    """The agent asks and waits: for permission (`tool_name` is set) or for input (`schema` is set, or only text).

    `tool_call_id` is the id of the request, which `answer` takes; `call_id` is the tool call concerned, where known.
    `diffs` has the changes that the agent shows beside the arguments, with their content.
    """

    session_id: str
    tool_call_id: str
    options: tuple[Choice, ...] = ()
    text: str = ""
    tool_name: str = ""
    arguments: Any = None
    kind: str = "other"
    call_id: str | None = None
    schema: Any = None
    url: str | None = None
    locations: tuple[str, ...] = ()
    unnamed: bool = False
    diffs: tuple[dict[str, Any], ...] = ()


class TurnEnd(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="turn-end"):
    """The turn is over; once per send. `stop` is the protocol's own word, when it differs."""

    session_id: str
    reason: str
    stop: str | None = None
    usage: Usage | None = None


class AgentError(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="error"):
    """Something went wrong; the turn may go on unless a turn-end follows."""

    error: Failure
    session_id: str | None = None


# --- extension events: a consumer may ignore them ----------------------------------------------------------------------


class PlanEntry(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    content: str
    priority: str = "medium"
    status: str = "pending"


class AgentPlan(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="plan"):
    """The agent's list of what it will do; each one replaces the one before."""

    session_id: str
    entries: tuple[PlanEntry, ...] = ()


class UsageUpdate(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="usage_update"):
    """How full the context is, and what the session has cost so far."""

    session_id: str
    used: int = 0
    size: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


class ModeChange(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="mode_change"):
    """The agent now works in another mode, with another model, or with another value of an option."""

    session_id: str
    mode: str | None = None
    model: str | None = None
    options: Any = None


class Notice(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag="notice"):
    """Something worth knowing that is none of the above: noise on stdout, a retry, a drift, a gap in the log."""

    code: str
    message: str
    session_id: str | None = None
    data: Any = None


Event = TextDelta | Thought | ToolCall | ToolResult | AgentPrompt | TurnEnd | AgentError
Extension = AgentPlan | UsageUpdate | ModeChange | Notice
AnyEvent = Event | Extension
SEVEN: Final = ("text-delta", "tool-call", "tool-result", "thought", "agent-prompt", "turn-end", "error")

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(AnyEvent)


def encode(event: AnyEvent) -> bytes:
    """One event as one JSON object, without a line end."""
    return _ENCODER.encode(event)


def decode(line: bytes) -> AnyEvent:
    """The event of one JSON object; Raises msgspec.ValidationError if it is not one."""
    event: AnyEvent = _DECODER.decode(line)
    return event
