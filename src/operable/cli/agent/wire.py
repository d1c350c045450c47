# ruff: noqa: N815 - the names are those of the wire
"""The events of a conversation as rows of our own stream: the seven, and the extensions beside them.

The shapes are those of `operable.wire.events`, field for field (a test holds the two together): camelCase, and absent
rather than null. So what goes out are plain dictionaries (`row`, `logged`), and the classes here only describe them: a field
that may be missing has the default ABSENT, which promises no null. `id` and `at` are there where events are read from a
session's log: the number of the event, and when it was written (milliseconds since 1970).

Two of them have no class. AIP-45 calls an event `error`, and its reference driver one `plan`; AOI forbids a schema to define
these names (section 8.2), and not a stream to carry them. So they go out as the other nine do, and our schema is silent
(docs/decisions/0016-events-of-agents-in-our-stream.md).

Commands name these classes in their annotations, so nothing heavy is imported at the top.
"""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.host.session.log_files import Record
    from operable.wire.events import AnyEvent

ABSENT: Any = ...


class _SessionEvent(Event):
    """What every event of a conversation has."""

    sessionId: str
    id: int = ABSENT
    at: int = ABSENT


class TextDeltaEvent(_SessionEvent, type="text-delta"):
    """A piece of the agent's answer."""

    text: str
    messageId: str = ABSENT


class ThoughtEvent(_SessionEvent, type="thought"):
    """A piece of the agent's reasoning."""

    text: str


class ToolCallEvent(_SessionEvent, type="tool-call"):
    """The agent uses a tool: once per call, before its result."""

    toolCallId: str
    toolName: str
    arguments: Any = ABSENT
    kind: str = ABSENT
    title: str = ABSENT
    locations: list[str] = ABSENT
    unnamed: bool = ABSENT
    diffs: list[dict[str, Any]] = ABSENT


class ToolResultEvent(_SessionEvent, type="tool-result"):
    """What a tool gave back: exactly one per tool-call."""

    toolCallId: str
    result: Any = ABSENT
    isError: bool = ABSENT
    denied: bool = ABSENT


class AgentPromptEvent(_SessionEvent, type="agent-prompt"):
    """The agent asks and waits; `toolCallId` is the question that `operable agent answer` takes."""

    toolCallId: str
    options: list[dict[str, Any]] = ABSENT
    text: str = ABSENT
    toolName: str = ABSENT
    arguments: Any = ABSENT
    kind: str = ABSENT
    callId: str = ABSENT
    schema: Any = ABSENT
    url: str = ABSENT
    locations: list[str] = ABSENT
    unnamed: bool = ABSENT
    diffs: list[dict[str, Any]] = ABSENT


class TurnEndEvent(_SessionEvent, type="turn-end"):
    """The turn is over: once per message."""

    reason: str
    stop: str = ABSENT
    usage: dict[str, Any] = ABSENT


class UsageUpdateEvent(_SessionEvent, type="usage_update"):
    """Extension: how full the context is, and what the session has cost so far."""

    used: int = ABSENT
    size: int = ABSENT
    tokensIn: int = ABSENT
    tokensOut: int = ABSENT
    cost: float = ABSENT


class ModeChangeEvent(_SessionEvent, type="mode_change"):
    """Extension: another mode, model or value of an option."""

    mode: str = ABSENT
    model: str = ABSENT
    options: Any = ABSENT


class NoticeEvent(_SessionEvent, type="notice"):
    """Extension: something worth knowing that is none of the above (noise on stdout, a drift, a gap in the log)."""

    code: str
    message: str
    sessionId: str = ABSENT
    data: Any = ABSENT


Said = (
    TextDeltaEvent
    | ThoughtEvent
    | ToolCallEvent
    | ToolResultEvent
    | AgentPromptEvent
    | TurnEndEvent
    | UsageUpdateEvent
    | ModeChangeEvent
    | NoticeEvent
)


def row(event: AnyEvent) -> Said:
    """An event as it is in the stream."""
    from msgspec import to_builtins

    plain: Any = to_builtins(event)
    return plain  # type: ignore[no-any-return]  # a dictionary of that shape


def logged(record: Record) -> Said:
    """A record of a session's log: the event, its number and its time."""
    from msgspec import to_builtins

    plain: Any = {**to_builtins(record.event), "id": record.id, "at": record.at}
    return plain  # type: ignore[no-any-return]  # a dictionary of that shape
