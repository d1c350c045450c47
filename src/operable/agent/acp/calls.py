"""Tool calls as ACP shows them: a title, a kind, the places that are touched, and what would change, as a diff.

A call is shown before it runs, so that the user sees what they allow: an edit as its old and its new passage, a
write as the file before and after. What it gave is added when it has ended.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
from operable.kernel.data_class import dataclass
from operable.wire import json_stream as protocol
from operable.wire.events import PlanEntry

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent


_OURS = ("[notice]", "[history]")  # words of the agent to the model, not of the user


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
    agent: str | None = None
    server: str | None = None

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
        """The protocol has no member for the name of a tool, by which hosts have their rules, and none for its owner."""
        owner = {"agent": self.agent, "mcpServer": self.server}
        named = {name: value for name, value in owner.items() if value is not None}
        return {"operable": {"toolName": self.name, **named}}


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


def shown_tool(call_id: str, tool: protocol.FrameTool, workspace: str) -> Shown:
    """The same, of a call as an event carries it."""
    described = f"{tool.agent}: {tool.description}" if tool.agent and tool.description else tool.description
    call = shown(call_id, tool.name, tool.args, workspace, category=tool.category, description=described)
    return replace(call, agent=tool.agent, server=tool.server)


def running(call_id: str) -> ToolCallProgress:
    return acp.update_tool_call(call_id, status="in_progress")


def ended(result: protocol.ToolResultFrame) -> ToolCallProgress:
    """What a call gave. A change that was shown before stays shown: its diff says more than the tool's answer."""
    ok = result.status == "success"
    content: list[Content] | None = [acp.tool_content(acp.text_block(result.output))]
    if ok and result.output_type == "diff":
        content = None
    elif ok and result.output_type == "image":
        content = [acp.tool_content(_image(result.output, result.metadata))]
        return acp.update_tool_call(result.call_id, status="completed", content=content)
    return acp.update_tool_call(
        result.call_id,
        status="completed" if ok else "failed",
        content=content,
        raw_output=_raw(result.output),
    )


def refused(call_id: str, reason: str) -> ToolCallProgress:
    """A call that was denied, or withdrawn when the turn was cancelled."""
    return acp.update_tool_call(
        call_id, status="failed", content=[acp.tool_content(acp.text_block(reason))], raw_output=_raw(reason)
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
        raw_output=_raw(output.text) if output is not None else None,
    )


def _raw(output: str) -> dict[str, Any]:
    """Clients read an object here; some drop the whole update for a text."""
    return {"output": output}


def _image(data: str, metadata: Any) -> Any:
    import base64
    import binascii

    known = metadata.get("media_type") if isinstance(metadata, Mapping) else None
    if isinstance(known, str):
        return acp.image_block(data, known)

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


def plan_update(entries: Sequence[PlanEntry]) -> AgentPlanUpdate:
    """A plan, which ACP shows as a list beside the chat."""
    return acp.update_plan(
        [
            acp.plan_entry(
                entry.content,
                priority=cast("PlanEntryPriority", entry.priority),
                status=cast("PlanEntryStatus", entry.status),
            )
            for entry in entries
        ]
    )
