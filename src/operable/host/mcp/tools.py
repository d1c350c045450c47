"""Which tool of a server is the agent, and what it is called with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from operable.host.arm import Message, Opening, PeerError

PAGE_LIMIT: Final = 64
"""Pages of tools that are asked for; a server that has more is not an agent."""
_NAMES: Final = ("prompt", "chat", "run", "ask", "message", "agent", "send", "query")
"""What the tool that talks to the agent is called, most specific first."""
_TEXTS: Final = ("prompt", "message", "text", "input", "query", "task", "instruction", "content")
"""What its parameter for the text is called."""


@dataclass(frozen=True, slots=True)
class TextTool:
    """A tool that takes text. `session` is the parameter, and the member of its results, that names a conversation."""

    name: str
    text: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)
    session: str = ""

    def arguments(
        self, message: Message, opening: Opening, conversation: str | None, selected: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The arguments of one turn: the text, and what else the tool has a parameter for."""
        lines = [message.text, *(f"@{path}" for path in message.files)]
        given: dict[str, Any] = {**opening.options, "cwd": opening.cwd}
        if opening.model is not None:
            given["model"] = opening.model
        given |= selected
        known = {name: value for name, value in given.items() if name in self.properties}
        if conversation is not None and self.session:
            known[self.session] = conversation
        return {**known, self.text: "\n".join(lines)}

    def session_of(self, structured: Any) -> str | None:
        found = structured.get(self.session) if isinstance(structured, dict) and self.session else None
        return found if isinstance(found, str) else None


def chosen(listed: Sequence[Any], quirks: Mapping[str, Any]) -> tuple[TextTool, TextTool | None]:
    """The tool that is the agent, and the one that goes on with a conversation; raises `PeerError` if no tool does."""
    tools = {tool.name: tool for entry in listed if (tool := _tool(entry, quirks)) is not None}
    wanted = quirks.get("tool")
    reply = tools.get(str(quirks.get("reply_tool")))
    if wanted is not None:
        if str(wanted) not in tools:
            raise PeerError("no_prompt_tool", f"The server has no tool {wanted!r} that takes text.")
        return tools[str(wanted)], reply
    if len(tools) == 1:
        return next(iter(tools.values())), reply
    for name in _NAMES:
        if name in tools:
            return tools[name], reply
    known = ", ".join(sorted(tools)[:20]) or "none"
    raise PeerError(
        "no_prompt_tool", f"No tool of the server is plainly the agent; those that take text: {known}."
    )


def _tool(entry: Any, quirks: Mapping[str, Any]) -> TextTool | None:
    """The tool of one row of the list; None when it has no parameter for text."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    schema = entry.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not isinstance(schema, dict):
        return None
    texts = [
        name for name, kind in properties.items() if isinstance(kind, dict) and kind.get("type") == "string"
    ]
    asked = quirks.get("prompt_property")
    if asked is not None:
        texts = [name for name in texts if name == asked]
    needed = schema.get("required")
    required = needed if isinstance(needed, list) else []
    preferred = (
        [name for name in _TEXTS if name in texts] + [name for name in texts if name in required] + texts
    )
    if not preferred:
        return None
    session = quirks.get("session_property")
    return TextTool(entry["name"], preferred[0], properties, session if isinstance(session, str) else "")
