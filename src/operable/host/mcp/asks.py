"""Requests of a server: input (elicitation) and completions (sampling), which people answer; roots and ping.

What the host did not offer in the handshake is refused as a method that does not exist. A question that is closed, by an
answer, by the server or by the end of its turn, gets nothing more.
"""

import posixpath
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from operable.host.arm import Answer, CallWithdrawn, Happening, Opening
from operable.wire.events import AgentPrompt, Notice
from operable.wire.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, REQUEST_CANCELLED, Id, RpcLink

_REFUSED: Final = -1
"""What the specification answers for a completion that people refused."""


class McpAsks:
    """The open questions of one session."""

    def __init__(self, link: RpcLink, opening: Opening) -> None:
        self._link = link
        self._opening = opening
        self._open: dict[str, tuple[str, str | None]] = {}

    def capabilities(self) -> dict[str, Any]:
        """What the host offers to answer."""
        offered: dict[str, Any] = (
            {"elicitation": {"form": {}, "url": {}}} if self._opening.elicitation else {}
        )
        return {**offered, "sampling": {}} if self._opening.quirks.get("sampling") is True else offered

    def take(self, request_id: Id, method: str, params: dict[str, Any], *, in_turn: bool) -> list[Happening]:
        offered = self.capabilities()
        known = method in {"ping", "roots/list"}
        known = known or (method == "elicitation/create" and "elicitation" in offered)
        known = known or (method == "sampling/createMessage" and "sampling" in offered)
        if not known:
            self._link.refuse_id(request_id, METHOD_NOT_FOUND, f"Method not found: {method[:200]}")
            return []
        key = self._link.accept(request_id, "ask")
        if key is None:
            self._link.refuse_id(request_id, INTERNAL_ERROR, "Too many requests are open")
            return [self._notice("too_many_requests", method[:200])]
        if method == "ping":
            self._link.respond(key, {})
        elif method == "roots/list":
            self._link.respond(key, {"roots": [self._root()]})
        elif not in_turn:
            self._withdrawn(key, method)
            return [
                self._notice("late_ask", "The agent asked outside of a turn; it was answered as cancelled.")
            ]
        elif method == "elicitation/create":
            return [self._elicitation(key, params)]
        else:
            return [self._sampling(key, params)]
        return []

    def answer(self, key: str, answer: Answer) -> list[Notice]:
        method, field = self._open.pop(key, ("", None))
        if not method:
            return [
                self._notice("stale_answer", "The agent no longer waits for this answer; it was not sent.")
            ]
        if answer.cancelled:
            self._withdrawn(key, method)
        elif method == "elicitation/create":
            self._link.respond(key, _input(answer, field))
        elif not answer.allowed:
            self._link.refuse(key, _REFUSED, answer.reason or "The user refused the completion")
        else:
            self._link.respond(key, _completion(answer.content))
        return []

    def withdraw(self, key: str) -> list[CallWithdrawn]:
        """The server no longer waits. It still gets the answer that every request gets."""
        method, _ = self._open.pop(key, ("", None))
        if not method:
            return []
        self._withdrawn(key, method)
        return [CallWithdrawn(key)]

    def withdraw_all(self) -> list[CallWithdrawn]:
        return [withdrawn for key in list(self._open) for withdrawn in self.withdraw(key)]

    def _elicitation(self, key: str, params: Mapping[str, Any]) -> AgentPrompt:
        url, schema = params.get("url"), params.get("requestedSchema")
        if isinstance(url, str):
            schema = None
        else:
            url = None
            schema = schema if isinstance(schema, dict) else {"type": "object", "properties": {}}
        members = schema.get("properties") if schema else None
        field = next(iter(members)) if isinstance(members, dict) and len(members) == 1 else None
        self._open[key] = ("elicitation/create", field)
        text = str(params.get("message") or "")
        return AgentPrompt(self._opening.session_id, key, text=text, schema=schema, url=url)

    def _sampling(self, key: str, params: Mapping[str, Any]) -> AgentPrompt:
        self._open[key] = ("sampling/createMessage", None)
        given = params.get("messages")
        messages = [_message(message) for message in given] if isinstance(given, list) else []
        asked: dict[str, Any] = {"messages": messages}
        for theirs in ("systemPrompt", "maxTokens"):
            if params.get(theirs) is not None:
                asked[theirs] = params[theirs]
        text = messages[-1]["text"] if messages else ""
        return AgentPrompt(self._opening.session_id, key, text=text, tool_name="sampling", arguments=asked)

    def _withdrawn(self, key: str, method: str) -> None:
        if method == "elicitation/create":
            self._link.respond(key, {"action": "cancel"})
        else:
            self._link.refuse(key, REQUEST_CANCELLED, "Request cancelled")

    def _root(self) -> dict[str, str]:
        path = posixpath.normpath(posixpath.join("/", self._opening.cwd))
        return {"uri": PurePosixPath(path).as_uri(), "name": posixpath.basename(path) or path}

    def _notice(self, code: str, message: str) -> Notice:
        return Notice(code, message, self._opening.session_id)


def _message(message: Any) -> dict[str, str]:
    """One message of a completion, as far as it is text."""
    fields = message if isinstance(message, dict) else {}
    content = fields.get("content")
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    text = "\n".join(text for text in texts if isinstance(text, str))
    return {"role": str(fields.get("role") or "user"), "text": text}


def _input(answer: Answer, field: str | None) -> dict[str, Any]:
    if not answer.allowed:
        return {"action": "decline"}
    if isinstance(answer.content, dict):
        return {"action": "accept", "content": answer.content}
    if answer.content is None or field is None:
        return {"action": "accept"}
    return {"action": "accept", "content": {field: answer.content}}


def _completion(content: Any) -> dict[str, Any]:
    """A completion: text, or `{"text": …, "model": …}` when the host says which model wrote it."""
    fields = content if isinstance(content, dict) else {"text": "" if content is None else str(content)}
    return {
        "role": "assistant",
        "content": {"type": "text", "text": str(fields.get("text") or "")},
        "model": str(fields.get("model") or "unknown"),
        "stopReason": "endTurn",
    }
