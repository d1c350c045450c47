"""What of a Codex turn is the answer: text and thoughts that come in pieces and then whole, commands and patches as calls.

Of a text that has come in pieces only the rest is reported when it comes whole. Items of other threads (sub-agents) are not
part of the answer, but their commands are tool calls.
"""

from typing import Any

from operable.host.arm import Happening
from operable.host.codex.items import ToolItem, outcome_of, tool_of
from operable.host.conversation import Conversation
from operable.host.peer import string


class CodexContent:
    """The items of the running turn."""

    def __init__(self, state: Conversation) -> None:
        self.arguments: dict[str, dict[str, Any]] = {}  # of announced calls
        self._state = state
        self._streamed: dict[str, int] = {}  # characters of an item that were reported

    def turn(self) -> None:
        """Another one begins."""
        self._streamed.clear()
        self.arguments.clear()

    def piece(self, item_id: str, text: str) -> list[Happening]:
        self._streamed[item_id] = self._streamed.get(item_id, 0) + len(text)
        return self._state.text(text, item_id or None)

    def thought(self, item_id: str, text: str) -> list[Happening]:
        self._streamed[item_id] = self._streamed.get(item_id, 0) + len(text)
        return self._state.thought(text)

    def item(self, item: dict[str, Any], *, is_done: bool, is_ours: bool) -> list[Happening]:
        """An item that begins, or has come to its end."""
        item_id = string(item.get("id"))
        tool = tool_of(item)
        if tool is not None and item_id:
            return self._call(item_id, item, tool, is_done=is_done)
        return self._whole(item_id, item) if is_done and is_ours else []

    def _call(self, item_id: str, item: dict[str, Any], tool: ToolItem, *, is_done: bool) -> list[Happening]:
        state = self._state
        if not state.running and is_done and state.has_seen(item_id):
            outcome = outcome_of(item)  # of a turn that ended
            return state.result(item_id, outcome.result, is_error=outcome.is_error, denied=outcome.denied)
        if state.running:
            self.arguments.setdefault(item_id, tool.arguments)
        return called(state, item_id, item, tool, is_done=is_done)

    def _whole(self, item_id: str, item: dict[str, Any]) -> list[Happening]:
        match item.get("type"):
            case "agentMessage" | "plan":
                return self.piece(item_id, string(item.get("text"))[self._streamed.get(item_id, 0) :])
            case "reasoning" if item_id not in self._streamed:
                parts = item.get("summary") or item.get("content")
                return self._state.thought("\n\n".join(map(string, parts))) if isinstance(parts, list) else []
            case "contextCompaction":
                return self._state.notice("compacted", "Codex compacted its context.")
        return []


def called(
    state: Conversation, item_id: str, item: dict[str, Any], tool: ToolItem, *, is_done: bool
) -> list[Happening]:
    """An item that is a call of a tool; with what came of it, when it is done."""
    found = state.call(
        item_id, tool.name, tool.arguments, kind=tool.kind, title=tool.title, locations=tool.locations
    )
    if not is_done:
        return found
    outcome = outcome_of(item)
    return found + state.result(item_id, outcome.result, is_error=outcome.is_error, denied=outcome.denied)
