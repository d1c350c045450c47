"""The events of a session as ACP shows them to an editor, whatever protocol the agent speaks. Plain functions.

An event that ACP has no word for gives nothing. What an agent says is passed on as it is: an editor shows it as it shows
any agent's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, cast

import acp
import msgspec
from acp import schema
from acp.schema import ToolKind

from operable.gate.approvals import Ask
from operable.host.arm import Message
from operable.host.session.log_files import USER_MESSAGE
from operable.wire import events as e

_STOPS: dict[str, schema.StopReason] = {
    e.COMPLETED: "end_turn",
    e.CANCELLED: "cancelled",
    e.REFUSAL: "refusal",
    e.MAX_TOKENS: "max_tokens",
    e.MAX_TURNS: "max_turn_requests",
    e.TIMEOUT: "cancelled",
}
_SHOWN = 100_000  # characters of the output of a tool
ONCE: Literal["allow_once"] = "allow_once"
REJECT: Literal["reject_once"] = "reject_once"


def update_of(event: e.AnyEvent) -> Any:
    """The update for an event of a session; None: an editor is shown nothing of it."""
    match event:
        case e.TextDelta(text=text):
            return acp.update_agent_message_text(text)
        case e.Thought(text=text):
            return acp.update_agent_thought_text(text)
        case e.ToolCall():
            return _started(event)
        case e.ToolResult():
            return _ended(event)
        case e.AgentPlan(entries=entries):
            return _plan(entries)
        case e.UsageUpdate(used=used, size=size) if size:
            return schema.UsageUpdate(session_update="usage_update", used=used, size=size)
        case e.ModeChange(mode=str(mode)):
            return schema.CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode)
    return None


def replayed(event: e.AnyEvent) -> Any:
    """The same for the history of a session, which also shows what the user said."""
    if isinstance(event, e.Notice) and event.code == USER_MESSAGE and isinstance(event.data, dict):
        return acp.update_user_message_text(str(event.data.get("text", "")))
    return update_of(event)


def stop_reason(end: e.TurnEnd | None) -> schema.StopReason | None:
    """How a prompt ended; None: it failed."""
    return None if end is None else _STOPS.get(end.reason)


def usage_of(end: e.TurnEnd | None) -> schema.Usage | None:
    if end is None or end.usage is None:
        return None
    spent = end.usage
    total = spent.input_tokens + spent.output_tokens + spent.cache_read_tokens + spent.cache_write_tokens
    return schema.Usage(
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cached_read_tokens=spent.cache_read_tokens,
        cached_write_tokens=spent.cache_write_tokens,
        total_tokens=total,
    )


def question(ask: Ask) -> tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]:
    """A question of a session as a permission request: whole, because some editors look only there.

    The answers are ours, yes and no for this call: what an agent would remember by itself, our rules would not know.
    """
    call = schema.ToolCallUpdate(
        tool_call_id=ask.id,
        title=ask.text or ask.tool,
        kind=_kind(ask.tool_kind),
        status="pending",
        content=cast("Any", _changes(ask.diffs)) or None,
        locations=_locations(ask.locations),
        raw_input=ask.arguments,
        field_meta={"operable": {"toolName": ask.tool, "why": ask.why}},
    )
    options = [
        schema.PermissionOption(option_id=ONCE, name="Allow", kind=ONCE),
        schema.PermissionOption(option_id=REJECT, name="Reject", kind=REJECT),
    ]
    return call, options


def message_of(blocks: Iterable[Any]) -> Message:
    """What the user of an editor says. Raises RequestError for what an agent cannot be given."""
    words: list[str] = []
    images: list[tuple[str, str]] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock(text=text):
                words.append(text)
            case schema.ResourceContentBlock(name=name, uri=uri):
                words.append(f"[@{name}]({uri})")
            case schema.EmbeddedResourceContentBlock(
                resource=schema.TextResourceContents(uri=uri, text=text)
            ):
                words.append(f"\n<context ref={uri!r}>\n{text}\n</context>\n")
            case schema.ImageContentBlock(data=data, mime_type=kind):
                images.append((kind, data))
            case _:
                kind = getattr(block, "type", "this")
                raise acp.RequestError.invalid_params({"message": f"A prompt cannot contain {kind}"})
    text = "".join(words)
    if not text.strip() and not images:
        raise acp.RequestError.invalid_params({"message": "The prompt is empty"})
    return Message(text, images=images)


def _started(event: e.ToolCall) -> Any:
    started = acp.start_tool_call(
        event.tool_call_id,
        event.title or event.tool_name,
        kind=_kind(event.kind),
        status="in_progress",
        content=cast("Any", _changes(event.diffs)) or None,
        locations=_locations(event.locations),
        raw_input=event.arguments,
    )
    started.field_meta = {"operable": {"toolName": event.tool_name}}
    return started


def _ended(event: e.ToolResult) -> Any:
    result = event.result
    text = result if isinstance(result, str) else msgspec.json.encode(result).decode()
    failed = event.is_error or event.denied
    return acp.update_tool_call(
        event.tool_call_id,
        status="failed" if failed else "completed",
        content=[acp.tool_content(acp.text_block(text[:_SHOWN]))] if result is not None else None,
    )


def _plan(entries: Iterable[e.PlanEntry]) -> Any:
    made = [
        schema.PlanEntry(
            content=each.content, priority=cast("Any", each.priority), status=cast("Any", each.status)
        )
        for each in entries
        if each.priority in ("high", "medium", "low")
        and each.status in ("pending", "in_progress", "completed")
    ]
    return schema.AgentPlanUpdate(session_update="plan", entries=made)


def _changes(diffs: Iterable[dict[str, Any]]) -> list[Any]:
    """The changes whose content is there; a digest shows nothing."""
    return [
        acp.tool_diff_content(str(each["path"]), each["newText"], each.get("oldText"))
        for each in diffs
        if isinstance(each.get("newText"), str) and each.get("path")
    ]


def _locations(paths: Iterable[str]) -> list[schema.ToolCallLocation] | None:
    return [schema.ToolCallLocation(path=path) for path in paths] or None


def _kind(kind: str) -> ToolKind:
    return cast("ToolKind", kind if kind in e.TOOL_KINDS else "other")
