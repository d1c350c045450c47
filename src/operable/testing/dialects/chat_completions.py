"""OpenAI's chat completions, which most other vendors copy: `/v1/chat/completions` and `/v1/models`.

Thinking is `reasoning_content`, as the vendors that show it at all call it.
"""

import json
import time
from typing import Any

from operable.testing import vendor_rules
from operable.testing.dialect import (
    MODELS,
    Asked,
    Dialect,
    Offered,
    Spoken,
    TokenUsage,
    halves,
    new_id,
    sse,
    text_of,
)
from operable.testing.http_edge import EdgeRequest

_REASONS = {"stop": "stop", "tool": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
_ERRORS = {401: ("invalid_request_error", "invalid_api_key"), 429: ("requests", "rate_limit_exceeded")}


class ChatRendering:
    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, asked: Asked, usage: TokenUsage) -> None:
        self._usage = usage
        self._frame = {"id": new_id("chatcmpl-"), "created": int(time.time()), "model": asked.model}
        self._text = ""
        self._thought = ""
        self._calls: list[dict[str, Any]] = []

    def open(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def say(self, text: str) -> bytes:
        self._text += text
        return self._chunk({"content": text})

    def think(self, text: str) -> bytes:
        self._thought += text
        return self._chunk({"reasoning_content": text})

    def call(self, call_id: str, tool: Offered, arguments: Any) -> bytes:
        index, text = len(self._calls), json.dumps(arguments)
        call = {
            "id": f"call_{call_id}",
            "type": "function",
            "function": {"name": tool.name, "arguments": text},
        }
        self._calls.append(call)
        begun = {"index": index, **call, "function": {"name": tool.name, "arguments": ""}}
        out = self._chunk({"tool_calls": [begun]})
        for piece in halves(text):
            out += self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        return out

    def close(self, reason: str) -> bytes:
        out = self._chunk({}, _REASONS.get(reason, reason))
        usage = {**self._frame, "object": "chat.completion.chunk", "choices": [], "usage": self._tokens()}
        return out + sse(usage) + b"data: [DONE]\n\n"

    def fail(self, kind: str, message: str) -> bytes:
        return sse({"error": {"message": message, "type": kind, "code": kind}})

    def whole(self, reason: str) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": self._text or None}
        if self._thought:
            message["reasoning_content"] = self._thought
        if self._calls:
            message["tool_calls"] = self._calls
        choice = {"index": 0, "message": message, "finish_reason": _REASONS.get(reason, reason)}
        return {**self._frame, "object": "chat.completion", "choices": [choice], "usage": self._tokens()}

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse({**self._frame, "object": "chat.completion.chunk", "choices": [choice]})

    def _tokens(self) -> dict[str, Any]:
        prompt = self._usage.input + self._usage.cache_read + self._usage.cache_write
        return {
            "prompt_tokens": prompt,
            "completion_tokens": self._usage.output,
            "total_tokens": prompt + self._usage.output,
            "prompt_tokens_details": {
                "cached_tokens": self._usage.cache_read,
                "cache_write_tokens": self._usage.cache_write,
            },
            "completion_tokens_details": {"reasoning_tokens": self._usage.thinking},
        }


def _matches(request: EdgeRequest) -> bool:
    return request.method == "POST" and request.path.endswith("/chat/completions")


def _read(request: EdgeRequest) -> Asked:
    body = request.json()
    spoken = []
    for message in body.get("messages", []):
        role = "system" if message["role"] == "developer" else message["role"]
        spoken.append(Spoken(role, text_of(message.get("content"))))
    tools = [
        Offered(tool["function"]["name"], tool["function"].get("parameters", {}))
        for tool in body.get("tools") or []
        if "function" in tool
    ]
    return Asked(body.get("model", ""), bool(body.get("stream")), spoken, tools)


def _failure(status: int, message: str) -> Any:
    kind, code = _ERRORS.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    if "maximum context length" in message:
        code = "context_length_exceeded"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _other(request: EdgeRequest) -> Any:
    if (
        request.method != "GET"
        or not request.path.endswith("/models")
        or "anthropic-version" in request.headers
    ):
        return None
    if request.path.startswith("/v1beta/"):
        return None
    data = [{"id": name, "object": "model", "created": 1767225600, "owned_by": "scripted"} for name in MODELS]
    return {"object": "list", "data": data}


DIALECT = Dialect(_matches, _read, ChatRendering, _failure, _other, vendor_rules.chat_completions)
