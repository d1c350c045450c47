"""Which tool of a server is the agent, what it is called with, and what its results say."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from operable.host.agent_failure import classified, explained
from operable.host.arm import Message, Opened, Opening, PeerError
from operable.kernel.data_class import dataclass
from operable.wire.events import Failure
from operable.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError

PAGE_LIMIT: Final = 64
"""Pages of tools that are asked for; a server that has more is not an agent."""
_NAMES: Final = ("prompt", "chat", "run", "ask", "message", "agent", "send", "query")
"""What the tool that talks to the agent is called, most specific first."""
_TEXTS: Final = ("prompt", "message", "text", "input", "query", "task", "instruction", "content")
"""What its parameter for the text is called."""


_CODES: Final = {
    INVALID_PARAMS: "invalid_request",
    INVALID_REQUEST: "invalid_request",
    METHOD_NOT_FOUND: "unsupported",
    -32001: "timeout",
    -32000: "agent_error",
}


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


def said(content: Any) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """The text of a result, and what is not text: a sentence about it and the data."""
    texts: list[str] = []
    media: list[tuple[str, dict[str, Any]]] = []
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        text = _text(block)
        if text is not None:
            texts.append(text)
            continue
        names = {"type": "kind", "mimeType": "mediaType", "uri": "uri", "data": "data"}
        shown = {ours: block[theirs] for theirs, ours in names.items() if isinstance(block.get(theirs), str)}
        media.append((f"The agent shows {shown.get('kind', 'something')}.", shown))
    return "\n".join(texts), media


def _text(block: Mapping[str, Any]) -> str | None:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    if block.get("type") == "resource_link" and isinstance(block.get("uri"), str):
        return f"[{block.get('name') or block['uri']}]({block['uri']})"
    resource = block.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    return None


def logged(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A log message of the server: its words, and where they come from."""
    data = params.get("data")
    names = {name: params[name] for name in ("level", "logger") if isinstance(params.get(name), str)}
    if isinstance(data, str):
        return data, names
    message = data.get("msg") or data.get("message") if isinstance(data, dict) else None
    return (message, names) if isinstance(message, str) else ("", {**names, "data": data})


def failure(error: RpcError) -> Failure:
    data: dict[str, Any] = {"rpcCode": error.code}
    if error.data is not None:
        data["detail"] = error.data
    message = explained(error.message, error.data) or f"The agent failed with code {error.code}."
    return classified(Failure(message, _CODES.get(error.code, "agent_error"), error.code == -32001, data))


def opened(answer: Mapping[str, Any], version: str) -> Opened:
    """What the server said in the handshake."""
    info = answer.get("serverInfo")
    info = info if isinstance(info, dict) else {}
    said_of = answer.get("capabilities")
    words = {name: True for name in said_of if isinstance(name, str)} if isinstance(said_of, dict) else {}
    name, release = info.get("name"), info.get("version")
    return Opened(
        None,
        name if isinstance(name, str) else "",
        release if isinstance(release, str) else "",
        version,
        words,
        observed={"multimodal": False},
    )


def with_session(opened: Opened, agent_session_id: str | None, *, resumable: bool) -> Opened:
    observed = {**opened.observed, "resumable": resumable}
    return replace(opened, agent_session_id=agent_session_id, observed=observed)
