"""The events of a conversation as rows of our own stream: the seven, and the extensions beside them.

The shapes are those of `operable.wire.events`, field for field (a test holds the two together): camelCase, and absent
rather than null, which is why these are typed dictionaries and no `Event` classes. `id` and `at` are there where events are
read from a session's log: the number of the event, and when it was written (milliseconds since 1970).
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import msgspec

from operable.wire.events import AnyEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.host.log_files import Record


class TextDelta(TypedDict):
    """A piece of the agent's answer."""

    type: Literal["text-delta"]
    sessionId: str
    text: str
    messageId: NotRequired[str]
    id: NotRequired[int]
    at: NotRequired[int]


class Thought(TypedDict):
    """A piece of the agent's reasoning."""

    type: Literal["thought"]
    sessionId: str
    text: str
    id: NotRequired[int]
    at: NotRequired[int]


class ToolCall(TypedDict):
    """The agent uses a tool: once per call, before its result."""

    type: Literal["tool-call"]
    sessionId: str
    toolCallId: str
    toolName: str
    arguments: NotRequired[Any]
    kind: NotRequired[str]
    title: NotRequired[str]
    locations: NotRequired[list[str]]
    id: NotRequired[int]
    at: NotRequired[int]


class ToolResult(TypedDict):
    """What a tool gave back: exactly one per tool-call."""

    type: Literal["tool-result"]
    sessionId: str
    toolCallId: str
    result: NotRequired[Any]
    isError: NotRequired[bool]
    denied: NotRequired[bool]
    id: NotRequired[int]
    at: NotRequired[int]


class AgentPrompt(TypedDict):
    """The agent asks and waits; `toolCallId` is the question that `operable agent answer` takes."""

    type: Literal["agent-prompt"]
    sessionId: str
    toolCallId: str
    options: NotRequired[list[dict[str, Any]]]
    text: NotRequired[str]
    toolName: NotRequired[str]
    arguments: NotRequired[Any]
    kind: NotRequired[str]
    callId: NotRequired[str]
    schema: NotRequired[Any]
    url: NotRequired[str]
    id: NotRequired[int]
    at: NotRequired[int]


class TurnEnd(TypedDict):
    """The turn is over: once per message."""

    type: Literal["turn-end"]
    sessionId: str
    reason: str
    stop: NotRequired[str]
    usage: NotRequired[dict[str, Any]]
    id: NotRequired[int]
    at: NotRequired[int]


class AgentError(TypedDict):
    """Something went wrong; the turn may go on unless a turn-end follows."""

    type: Literal["error"]
    error: dict[str, Any]
    sessionId: NotRequired[str]
    id: NotRequired[int]
    at: NotRequired[int]


class Plan(TypedDict):
    """Extension: the agent's list of what it will do; each one replaces the one before."""

    type: Literal["plan"]
    sessionId: str
    entries: NotRequired[list[dict[str, Any]]]
    id: NotRequired[int]
    at: NotRequired[int]


class UsageUpdate(TypedDict):
    """Extension: how full the context is, and what the session has cost so far."""

    type: Literal["usage_update"]
    sessionId: str
    used: NotRequired[int]
    size: NotRequired[int]
    tokensIn: NotRequired[int]
    tokensOut: NotRequired[int]
    cost: NotRequired[float]
    id: NotRequired[int]
    at: NotRequired[int]


class ModeChange(TypedDict):
    """Extension: another mode, model or value of an option."""

    type: Literal["mode_change"]
    sessionId: str
    mode: NotRequired[str]
    model: NotRequired[str]
    options: NotRequired[Any]
    id: NotRequired[int]
    at: NotRequired[int]


class Notice(TypedDict):
    """Extension: something worth knowing that is none of the above (noise on stdout, a drift, a gap in the log)."""

    type: Literal["notice"]
    code: str
    message: str
    sessionId: NotRequired[str]
    data: NotRequired[Any]
    id: NotRequired[int]
    at: NotRequired[int]


Said = (
    TextDelta
    | Thought
    | ToolCall
    | ToolResult
    | AgentPrompt
    | TurnEnd
    | AgentError
    | Plan
    | UsageUpdate
    | ModeChange
    | Notice
)


def row(event: AnyEvent) -> Said:
    """An event as it stands in the stream."""
    plain: Said = msgspec.to_builtins(event)
    return plain


def logged(record: Record) -> Said:
    """A record of a session's log: the event, its number and its time."""
    plain = row(record.event)
    plain["id"], plain["at"] = record.id, record.at
    return plain
