"""A reply in the form of Anthropic's Messages API, shared by the three services that carry it.

Events as in the vendor's streaming documentation: message_start, then for each block content_block_start, deltas and
content_block_stop, then message_delta with the stop reason and the final usage, then message_stop.
"""

import json
from typing import Any

from operable.testing.dialect import Asked, Offered, Spoken, TokenUsage, halves, new_id, sse, text_of

_REASONS = {"stop": "end_turn", "tool": "tool_use", "max_tokens": "max_tokens", "refusal": "refusal"}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class AnthropicRendering:
    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, asked: Asked, usage: TokenUsage) -> None:
        self._usage = usage
        self._blocks: list[dict[str, Any]] = []
        self._open = ""
        self._message: dict[str, Any] = {
            "id": new_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": asked.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def open(self) -> bytes:
        message = {**self._message, "usage": {**self._tokens(), "output_tokens": 1}}
        return self.event({"type": "message_start", "message": message}) + self.event({"type": "ping"})

    def say(self, text: str) -> bytes:
        start = self._begin("text", {"type": "text", "text": ""})
        self._blocks[-1]["text"] += text
        return start + self._delta({"type": "text_delta", "text": text})

    def think(self, text: str) -> bytes:
        start = self._begin("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        self._blocks[-1]["thinking"] += text
        return start + self._delta({"type": "thinking_delta", "thinking": text})

    def call(self, call_id: str, tool: Offered, arguments: Any) -> bytes:
        block = {"type": "tool_use", "id": f"toolu_{call_id}", "name": tool.name, "input": {}}
        out = self._begin(call_id, block)
        for piece in ["", *halves(json.dumps(arguments))]:
            out += self._delta({"type": "input_json_delta", "partial_json": piece})
        self._blocks[-1]["input"] = arguments
        return out

    def close(self, reason: str) -> bytes:
        delta = {"stop_reason": _REASONS.get(reason, reason), "stop_sequence": None}
        ending = {"type": "message_delta", "delta": delta, "usage": self._tokens()}
        return self._end() + self.event(ending) + self.event({"type": "message_stop"})

    def fail(self, kind: str, message: str) -> bytes:
        return self.event({"type": "error", "error": {"type": kind, "message": message}})

    def whole(self, reason: str) -> Any:
        self._end()
        return {
            **self._message,
            "content": self._blocks,
            "stop_reason": _REASONS.get(reason, reason),
            "usage": self._tokens(),
        }

    def event(self, data: dict[str, Any]) -> bytes:
        """One event as the service frames it."""
        return sse(data, data["type"])

    def _begin(self, kind: str, block: dict[str, Any]) -> bytes:
        if self._open == kind:
            return b""
        out = self._end()
        self._open = kind
        self._blocks.append(dict(block))
        return out + self.event(
            {"type": "content_block_start", "index": len(self._blocks) - 1, "content_block": block}
        )

    def _end(self) -> bytes:
        if not self._open:
            return b""
        signature = b""
        if self._open == "thinking":
            self._blocks[-1]["signature"] = "c2NyaXB0ZWQ="
            signature = self._delta({"type": "signature_delta", "signature": "c2NyaXB0ZWQ="})
        self._open = ""
        return signature + self.event({"type": "content_block_stop", "index": len(self._blocks) - 1})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return self.event({"type": "content_block_delta", "index": len(self._blocks) - 1, "delta": delta})

    def _tokens(self) -> dict[str, int]:
        return {
            "input_tokens": self._usage.input,
            "cache_creation_input_tokens": self._usage.cache_write,
            "cache_read_input_tokens": self._usage.cache_read,
            "output_tokens": self._usage.output,
        }


def read_messages(body: Any, model: str, *, streamed: bool) -> Asked:
    """What a body of the Messages API asks."""
    spoken = [Spoken("system", text_of(body.get("system", "")))]
    for message in body.get("messages", []):
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        spoken += [Spoken("tool", text_of(block.get("content", ""))) for block in results]
        text = text_of([block for block in blocks if block.get("type") == "text"])
        if text or not results:
            spoken.append(Spoken(message["role"], text))
    tools = [Offered(tool["name"], tool.get("input_schema", {})) for tool in body.get("tools", [])]
    return Asked(model, streamed, spoken, tools)


def failure(status: int, message: str) -> Any:
    kind = _ERRORS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": new_id("req_")}


def count_tokens(body: Any) -> Any:
    """A count that grows with what is counted; the vendor's tokenizer is not public."""
    return {"input_tokens": len(json.dumps(body)) // 4}
