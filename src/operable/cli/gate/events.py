"""The events of `operable policy` and `operable inbox list`."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class PolicyRuleShown(Event, type="policy_rule"):
    """One rule about calls, with the table that has it. A default has no pattern."""

    table: str  # built-in; policy; policy and the match of its [[caller]] table
    effect: Literal["allow", "ask", "deny"]
    pattern: str | None
    reason: str


class CallDecision(Event):
    """What would be decided about a call, and by what. Nothing was run."""

    call: str
    caller: str
    effect: Literal["allow", "ask", "deny"]
    rule: str
    why: str
    table: str
    command: str
    declared: Literal["read", "change", "destroy", "unknown"]


class PolicyFile(Event):
    """The policy file of the user; `path` is null if there is no file, and the built-in rules alone hold."""

    path: str | None
    rules: int
    callers: list[str]


class InboxItem(Event):
    """One question that waits for a person. Times are milliseconds since 1970."""

    id: str
    source: Literal["session", "call", "run"]
    source_id: str
    ask_id: str
    agent: str
    folder: str
    kind: str
    tool: str
    text: str
    command: str | None
    arguments: Any
    options: list[Any]
    diffs: list[Any]
    why: str
    digest: str
    asked_at: int
    expires_at: int


class InboxAnswer(Event):
    """An answer that was given, and counts."""

    id: str
    source: str
    tool: str
    allowed: bool
    digest: str
