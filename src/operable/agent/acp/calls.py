"""Tool calls as ACP shows them: a title, a kind, the places that are touched, and what would change, as a diff.

A call is shown before it runs, so that the user sees what they allow: an edit as its old and its new passage, a
write as the file before and after. What it gave is added when it has ended.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import acp
from acp.schema import (
    AgentPlanUpdate,
    ContentToolCallContent,
    FileEditToolCallContent,
    PlanEntryPriority,
    PlanEntryStatus,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    ToolKind,
)

from operable.agent.session.conversation import SessionConversation
from operable.agent.session.history import (
    HistoryTurn,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolOutputBlock,
    ToolUseBlock,
    media_type_of,
)
from operable.agent.tool import presentation
from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.kernel.data_class import dataclass
from operable.wire import json_stream as protocol

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent


_OURS = ("[notice]", "[history]")  # words of the agent to the model, not of the user


PLAN = "UpdatePlan"
_STATUSES = ("pending", "in_progress", "completed")
_PRIORITIES = ("high", "medium", "low")
_MOST_ENTRIES = 100  # entries; users do not read a longer plan
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "maxItems": _MOST_ENTRIES,
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"enum": list(_STATUSES)},
                    "priority": {"enum": list(_PRIORITIES)},
                },
                "required": ["content", "status"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["entries"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One call, as far as it is known."""

    call_id: str
    name: str
    title: str
    kind: ToolKind
    arguments: Any
    locations: list[ToolCallLocation]
    content: list[Content]

    def start(self) -> ToolCallStart:
        started = acp.start_tool_call(
            self.call_id,
            self.title,
            kind=self.kind,
            status="pending",
            content=self.content or None,
            locations=self.locations or None,
            raw_input=self.arguments,
        )
        started.field_meta = self._meta()
        return started

    def question(self) -> ToolCallUpdate:
        """The call, as a permission request names it; whole, because some clients look only there."""
        return ToolCallUpdate(
            tool_call_id=self.call_id,
            title=self.title,
            kind=self.kind,
            status="pending",
            content=self.content or None,
            locations=self.locations or None,
            raw_input=self.arguments,
            field_meta=self._meta(),
        )

    def _meta(self) -> dict[str, Any]:
        """The protocol has no member for the name of a tool, by which hosts have their rules."""
        return {"operable": {"toolName": self.name}}


def shown(
    call_id: str, name: str, arguments: Any, workspace: str, *, category: str = "", description: str = ""
) -> Shown:
    """How this call looks before it runs."""
    place = presentation.place_of(arguments, workspace)
    change = presentation.change_of(name, arguments, workspace)
    return Shown(
        call_id,
        name,
        description or name,
        cast("ToolKind", presentation.kind_of(name, category)),
        arguments,
        [] if place is None else [ToolCallLocation(path=place.path, line=place.line)],
        [] if change is None else [acp.tool_diff_content(change.path, change.after, change.before)],
    )


def running(call_id: str) -> ToolCallProgress:
    return acp.update_tool_call(call_id, status="in_progress")


def ended(result: protocol.ToolResultFrame) -> ToolCallProgress:
    """What a call gave. A change that was shown before stays shown: its diff says more than the tool's answer."""
    ok = result.status == "success"
    content: list[Content] | None = [acp.tool_content(acp.text_block(result.output))]
    if ok and result.output_type == "diff":
        content = None
    elif ok and result.output_type == "image":
        content = [acp.tool_content(_image(result.output))]
        return acp.update_tool_call(result.call_id, status="completed", content=content)
    return acp.update_tool_call(
        result.call_id, status="completed" if ok else "failed", content=content, raw_output=result.output
    )


def refused(call_id: str, reason: str) -> ToolCallProgress:
    """A call that was denied, or withdrawn when the turn was cancelled."""
    return acp.update_tool_call(
        call_id, status="failed", content=[acp.tool_content(acp.text_block(reason))], raw_output=reason
    )


def replayed(call: Shown, output: ToolOutputBlock | None) -> ToolCallStart:
    """A call of an earlier turn, with its outcome at once."""
    content = list(call.content)
    if output is not None and output.image is not None:
        content.append(acp.tool_content(acp.image_block(output.image.data, output.image.media_type)))
    elif output is not None and (output.is_error or not content):
        content.append(acp.tool_content(acp.text_block(output.text)))
    failed = output is None or output.is_error
    return acp.start_tool_call(
        call.call_id,
        call.title,
        kind=call.kind,
        status="failed" if failed else "completed",
        content=content or None,
        locations=call.locations or None,
        raw_input=call.arguments,
        raw_output=output.text if output is not None else None,
    )


def _image(data: str) -> Any:
    import base64
    import binascii

    try:
        head = base64.b64decode(data[:64])
    except (binascii.Error, ValueError):
        head = b""
    return acp.image_block(data, media_type_of(head) or "application/octet-stream")


# The history of a session as the updates that a client would have seen: what `session/load` sends before it answers.


def replay(conversation: SessionConversation) -> Iterator[Any]:
    """Update after update, oldest first."""
    outputs = _outputs(conversation.turns)
    for turn in conversation.turns:
        for block in turn.blocks:
            match block:
                case TextBlock(text=text) if turn.role == "assistant":
                    yield acp.update_agent_message_text(text)
                case TextBlock(text=text) if not text.startswith(_OURS):
                    yield acp.update_user_message_text(text)
                case ImageBlock(media_type=kind, data=data):
                    yield acp.update_user_message(acp.image_block(data, kind))
                case ThinkingBlock(text=text) if text:
                    yield acp.update_agent_thought_text(text)
                case ToolUseBlock(call_id=call_id):
                    yield replayed(shown_use(conversation, block), outputs.get(call_id))


def shown_use(conversation: SessionConversation, use: ToolUseBlock) -> Shown:
    """A call of the model, as the client sees it."""
    ability = conversation.ability(use.name)
    arguments = use.arguments if isinstance(use.arguments, dict) else {}
    return shown(
        use.call_id,
        use.name,
        use.arguments,
        conversation.workspace,
        category=ability.category if ability else "",
        description=ability.describe(arguments) if ability else "",
    )


def _outputs(turns: Sequence[HistoryTurn]) -> dict[str, ToolOutputBlock]:
    return {
        block.call_id: block for turn in turns for block in turn.blocks if isinstance(block, ToolOutputBlock)
    }


# UpdatePlan: the tool by which the model shows a client what it is going to do; ACP shows it as a list beside the
# chat.
#
# Offered in ACP sessions alone, because no other client has a place for it. It changes nothing, so it is never asked
# about.


def plan_ability(show: Callable[[AgentPlanUpdate], None]) -> Ability:
    """The tool; `show` sends the plan to the client, and returns when it is sent."""

    def run(arguments: Mapping[str, Any], _scene: Scene) -> AbilityOutcome:
        plan = _plan(arguments)
        if isinstance(plan, str):
            return AbilityOutcome(plan, ok=False)
        show(plan)
        return AbilityOutcome("The plan is shown.")

    return Ability(
        name=PLAN,
        category="info",
        description=(
            "Show the user your plan for a task of several steps, and again whenever a step has begun or ended. "
            "Give the whole plan each time."
        ),
        schema=_SCHEMA,
        run=run,
        describe=lambda _arguments: "Update the plan",
        cap=1000,
    )


def _plan(arguments: Mapping[str, Any]) -> AgentPlanUpdate | str:
    """The plan, or what is wrong with it."""
    entries = arguments.get("entries")
    if not isinstance(entries, list) or len(entries) > _MOST_ENTRIES:
        return f"UpdatePlan needs entries: a list of at most {_MOST_ENTRIES}"
    found = []
    for entry in entries:
        given = entry if isinstance(entry, dict) else {}
        content, status, priority = given.get("content"), given.get("status"), given.get("priority", "medium")
        if not isinstance(content, str) or status not in _STATUSES or priority not in _PRIORITIES:
            return f"Each entry has content (text) and status ({', '.join(_STATUSES)})"
        found.append(
            acp.plan_entry(
                content, priority=cast("PlanEntryPriority", priority), status=cast("PlanEntryStatus", status)
            )
        )
    return acp.update_plan(found)
