"""Messages of the model: text, thoughts, tool calls and their results, streamed in pieces and then repeated whole.

With partial messages, the agent sends a block as deltas and then again as a whole `assistant` message. What was streamed is
counted, not kept, and only what the whole block has beyond that is reported. Input of tools comes whole; where that
message is missing, the pieces of its JSON are put together. Messages of sub-agents are not part of the answer: their
text is a notice, their tool calls are calls.
"""

from typing import Any, Final

from operable.host.arm import Happening
from operable.host.conversation import Conversation
from operable.host.peer import count, mapping, parse, plain_content, string
from operable.wire.events import AgentPlan, PlanEntry

KINDS: Final = {
    "Read": "read",
    "NotebookRead": "read",
    "ListMcpResources": "read",
    "Glob": "search",
    "Grep": "search",
    "LS": "search",
    "ToolSearch": "search",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Write": "edit",
    "NotebookEdit": "edit",
    "Bash": "execute",
    "KillShell": "execute",
    "Task": "think",
    "Agent": "think",
    "TodoWrite": "think",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "TaskCreate": "think",
    "TaskUpdate": "think",
    "TaskList": "think",
    "TaskGet": "think",
    "TaskOutput": "read",
    "BashOutput": "read",
    "Skill": "read",
    "AskUserQuestion": "think",
    "ListMcpResourcesTool": "read",
    "ReadMcpResourceTool": "read",
    "EnterPlanMode": "switch_mode",
    "ExitPlanMode": "switch_mode",
    # qwen, which speaks the same protocol
    "read_file": "read",
    "read_many_files": "read",
    "list_directory": "search",
    "glob": "search",
    "grep_search": "search",
    "search_file_content": "search",
    "edit": "edit",
    "replace": "edit",
    "write_file": "edit",
    "run_shell_command": "execute",
    "web_fetch": "fetch",
    "web_search": "fetch",
    "todo_write": "think",
    "task": "think",
    "agent": "think",
    "skill": "read",
    "tool_search": "search",
    "ask_user_question": "think",
    "enter_plan_mode": "switch_mode",
    "exit_plan_mode": "switch_mode",
}
_CALLS: Final = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_INPUT_LIMIT: Final = 16 * 1024 * 1024  # characters of a tool's input that are put together from pieces


class ClaudeContent:
    """The state of the message that is being streamed."""

    def __init__(self, state: Conversation) -> None:
        self._state = state
        self._streamed = {"text": 0, "thinking": 0}
        self._message_id: str | None = None
        self._input: dict[
            Any, tuple[str, str, list[str]]
        ] = {}  # by index of the block: call id, name, pieces
        self._size = 0
        self.said = False  # the turn has some text

    def turn(self) -> None:
        """A new turn: what was streamed before does not matter any more."""
        self._fresh(None)
        self.said = False

    def streamed(self, event: dict[str, Any], parent: str | None) -> list[Happening]:
        """One event of the model's stream."""
        if parent is not None:
            return []  # of a sub-agent: the whole message follows
        match event.get("type"):
            case "message_start":
                self._fresh(string(mapping(event.get("message")).get("id")) or None)
            case "content_block_start":
                block = mapping(event.get("content_block"))
                if string(block.get("type")) in _CALLS:
                    self._input[count(event.get("index"))] = (
                        string(block.get("id")),
                        string(block.get("name")),
                        [],
                    )
            case "content_block_delta":
                return self._delta(count(event.get("index")), mapping(event.get("delta")))
            case "content_block_stop":
                return self._complete(count(event.get("index")))
        return []

    def whole(self, message: dict[str, Any], parent: str | None) -> list[Happening]:
        """A whole message of the model."""
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        happened: list[Happening] = []
        for block in blocks if isinstance(blocks, list) else []:
            happened += self._block(mapping(block), string(message.get("id")) or None, parent)
        return happened

    def results(self, message: dict[str, Any], rejected: frozenset[str]) -> list[Happening]:
        """Results of tools, which come as a message of the user."""
        blocks = message.get("content")
        happened: list[Happening] = []
        for block in blocks if isinstance(blocks, list) else []:
            if mapping(block).get("type") == "tool_result":
                happened += self._result(block, rejected)
        return happened

    def _fresh(self, message_id: str | None) -> None:
        self._streamed = {"text": 0, "thinking": 0}
        self._message_id = message_id
        self._input.clear()
        self._size = 0

    def _delta(self, index: int, delta: dict[str, Any]) -> list[Happening]:
        match delta.get("type"):
            case "text_delta":
                text = string(delta.get("text"))
                self._streamed["text"] += len(text)
                return self._say(text, self._message_id)
            case "thinking_delta":
                text = string(delta.get("thinking"))
                self._streamed["thinking"] += len(text)
                return self._state.thought(text)
            case "input_json_delta" if index in self._input and self._size < _INPUT_LIMIT:
                piece = string(delta.get("partial_json"))
                self._size += len(piece)
                self._input[index][2].append(piece)
        return []

    def _complete(self, index: int) -> list[Happening]:
        call_id, name, pieces = self._input.pop(index, ("", "", []))
        if not call_id or self._state.knows(call_id) or not self._state.running:
            return []
        arguments = parse("".join(pieces).encode("utf-8", "replace") or b"{}")
        return self._call(call_id, name, arguments if isinstance(arguments, dict) else {})

    def _block(self, block: dict[str, Any], message_id: str | None, parent: str | None) -> list[Happening]:
        kind = string(block.get("type"))
        if kind in _CALLS:
            return self._call(string(block.get("id")), string(block.get("name")), block.get("input"))
        if kind.endswith("_tool_result"):
            return self._result(block, frozenset())
        if kind not in {"text", "thinking"}:
            return []
        text = string(block.get(kind))
        if parent is not None:
            shown = text if kind == "text" else ""
            return self._state.notice("sub_agent", shown, {"callId": parent}) if shown else []
        known = self._streamed[kind]
        self._streamed[kind] = max(0, known - len(text))
        rest = text[known:]
        return self._state.thought(rest) if kind == "thinking" else self._say(rest, message_id)

    def _say(self, text: str, message_id: str | None) -> list[Happening]:
        self.said = self.said or bool(text)
        return self._state.text(text, message_id)

    def _call(self, call_id: str, name: str, arguments: Any) -> list[Happening]:
        if not call_id:
            return []
        is_known = self._state.knows(call_id)
        called = self._state.call(call_id, name, mapping(arguments), kind=kind_of(name))
        return called if is_known else called + self._plan(name, arguments)

    def _plan(self, name: str, arguments: Any) -> list[Happening]:
        todos = mapping(arguments).get("todos")
        if name not in {"TodoWrite", "todo_write"} or not isinstance(todos, list) or not self._state.running:
            return []
        entries = (mapping(todo) for todo in todos)
        return [
            AgentPlan(
                self._state.session_id,
                tuple(
                    PlanEntry(string(entry.get("content")), status=string(entry.get("status")) or "pending")
                    for entry in entries
                ),
            )
        ]

    def _result(self, block: dict[str, Any], rejected: frozenset[str]) -> list[Happening]:
        call_id = string(block.get("tool_use_id"))
        if not call_id:
            return []
        return self._state.result(
            call_id,
            plain_content(block.get("content")),
            is_error=block.get("is_error") is True,
            denied=call_id in rejected,
        )


def kind_of(name: str) -> str:
    return KINDS.get(name, "other")


def rejected(message: dict[str, Any]) -> frozenset[str]:
    """The calls that the agent itself says were rejected."""
    metas = message.get("tool_result_meta")
    entries = [mapping(meta) for meta in metas] if isinstance(metas, list) else []
    return frozenset(
        string(entry.get("id"))
        for entry in entries
        if mapping(entry.get("permission_decision")).get("decision") == "reject"
    )
