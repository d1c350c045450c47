"""Tool calls as ACP shows them: a title, a kind, the places that are touched, and what would change, as a diff.

A call is shown before it runs, so that the user sees what they allow: an edit as its old and its new passage, a
write as the file before and after. What it gave is added when it has ended.
"""

from dataclasses import dataclass
from typing import Any, cast

import acp
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    ToolKind,
)

from operable.agent.session.attachments import media_type_of
from operable.agent.session.history import ToolOutput
from operable.agent.tool import presentation
from operable.wire import json_stream as protocol

Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent


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


def replayed(call: Shown, output: ToolOutput | None) -> ToolCallStart:
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
