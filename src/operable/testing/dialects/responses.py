"""OpenAI's Responses API: `/v1/responses`, with every event that its SDK and Codex read.

A client that sends `previous_response_id` instead of the whole conversation is not served: nothing is kept between
requests.
"""

import json
import time
from typing import Any

from operable.testing import vendor_rules
from operable.testing.dialect import Asked, Dialect, Offered, Spoken, TokenUsage, halves, new_id, sse, text_of
from operable.testing.http_edge import EdgeRequest

_ERRORS = {401: ("invalid_request_error", "invalid_api_key"), 429: ("requests", "rate_limit_exceeded")}


class ResponsesRendering:
    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, asked: Asked, usage: TokenUsage) -> None:
        self._asked = asked
        self._usage = usage
        self._id = new_id("resp_")
        self._number = 0
        self._output: list[dict[str, Any]] = []
        self._open: dict[str, Any] | None = None

    def open(self) -> bytes:
        response = self._response("in_progress")
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def say(self, text: str) -> bytes:
        out = b""
        if self._open is None or self._open["type"] != "message":
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            item = {"type": "message", "role": "assistant", "status": "in_progress", "content": []}
            out = self._begin("msg_", item) + self._at(
                "response.content_part.added", content_index=0, part=part
            )
            self._current()["content"] = [part]
        self._current()["content"][0]["text"] += text
        return out + self._at("response.output_text.delta", content_index=0, delta=text, logprobs=[])

    def think(self, text: str) -> bytes:
        out = b""
        if self._open is None or self._open["type"] != "reasoning":
            part = {"type": "summary_text", "text": ""}
            out = self._begin("rs_", {"type": "reasoning", "summary": []})
            out += self._at("response.reasoning_summary_part.added", summary_index=0, part=part)
            self._current()["summary"] = [part]
        self._current()["summary"][0]["text"] += text
        return out + self._at("response.reasoning_summary_text.delta", summary_index=0, delta=text)

    def call(self, call_id: str, tool: Offered, arguments: Any) -> bytes:
        name = {"call_id": f"call_{call_id}", "name": tool.name, "status": "in_progress"}
        if tool.namespace:
            name["namespace"] = tool.namespace
        if tool.freeform:
            text, field, kind = str(arguments), "input", "custom_tool_call"
            event = "response.custom_tool_call_input"
            out = self._begin("ctc_", {"type": kind, **name, "input": ""})
        else:
            text, field, kind = json.dumps(arguments), "arguments", "function_call"
            event = "response.function_call_arguments"
            out = self._begin("fc_", {"type": kind, **name, "arguments": ""})
        for piece in halves(text):
            out += self._at(f"{event}.delta", delta=piece)
        self._current()[field] = text
        return out + self._at(f"{event}.done", **{field: text}) + self._end()

    def close(self, reason: str) -> bytes:
        out = self._end()
        if reason == "max_tokens":
            return out + self._event("response.incomplete", response=self._response("incomplete"))
        return out + self._event("response.completed", response=self._response("completed"))

    def fail(self, kind: str, message: str) -> bytes:
        response = {**self._response("failed"), "error": {"code": kind, "message": message}}
        return self._event("response.failed", response=response)

    def whole(self, reason: str) -> Any:
        self._end()
        return self._response("incomplete" if reason == "max_tokens" else "completed")

    def _current(self) -> dict[str, Any]:
        assert self._open is not None  # noqa: S101 - only called between `_begin` and `_end`
        return self._open

    def _begin(self, prefix: str, item: dict[str, Any]) -> bytes:
        out = self._end()
        self._open = {"id": new_id(prefix), **item}
        return out + self._event(
            "response.output_item.added", output_index=len(self._output), item=dict(self._open)
        )

    def _end(self) -> bytes:
        if self._open is None:
            return b""
        out, item = b"", self._open
        if item["type"] == "message":
            part = item["content"][0]
            out += self._at("response.output_text.done", content_index=0, text=part["text"], logprobs=[])
            out += self._at("response.content_part.done", content_index=0, part=part)
        elif item["type"] == "reasoning":
            part = item["summary"][0]
            out += self._at("response.reasoning_summary_text.done", summary_index=0, text=part["text"])
            out += self._at("response.reasoning_summary_part.done", summary_index=0, part=part)
            item["encrypted_content"] = "c2NyaXB0ZWQ="
        if "status" in item:
            item["status"] = "completed"
        out += self._event("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)
        self._open = None
        return out

    def _at(self, kind: str, **fields: Any) -> bytes:
        """An event about the item that is open."""
        return self._event(kind, item_id=self._current()["id"], output_index=len(self._output), **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return sse({"type": kind, "sequence_number": self._number - 1, **fields}, kind)

    def _response(self, status: str) -> dict[str, Any]:
        done = status in {"completed", "incomplete"}
        return {
            "id": self._id,
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "instructions": None,
            "max_output_tokens": None,
            "model": self._asked.model,
            "output": self._output if done else [],
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "store": False,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "metadata": {},
            "usage": self._tokens() if done else None,
        }

    def _tokens(self) -> dict[str, Any]:
        prompt = self._usage.input + self._usage.cache_read + self._usage.cache_write
        return {
            "input_tokens": prompt,
            "input_tokens_details": {
                "cached_tokens": self._usage.cache_read,
                "cache_write_tokens": self._usage.cache_write,
            },
            "output_tokens": self._usage.output,
            "output_tokens_details": {"reasoning_tokens": self._usage.thinking},
            "total_tokens": prompt + self._usage.output,
        }


def _matches(request: EdgeRequest) -> bool:
    return request.method == "POST" and request.path.endswith("/responses")


def _read(request: EdgeRequest) -> Asked:
    body = request.json()
    spoken = [Spoken("system", body.get("instructions") or "")]
    given = body.get("input") or []
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        spoken.append(_spoken(item))
    tools = [offered for tool in body.get("tools") or [] for offered in _offered(tool)]
    return Asked(body.get("model", ""), bool(body.get("stream")), spoken, tools)


def _spoken(item: dict[str, Any]) -> Spoken:
    kind = item.get("type", "message")
    if kind.endswith("_output"):
        return Spoken("tool", text_of(item.get("output", "")))
    if kind != "message":
        return Spoken("assistant", "")
    role = "system" if item["role"] == "developer" else item["role"]
    return Spoken(role, text_of(item.get("content")))


def _offered(tool: dict[str, Any]) -> list[Offered]:
    if tool.get("type") == "namespace":
        inner = [offered for entry in tool.get("tools", []) for offered in _offered(entry)]
        return [offered._replace(namespace=tool["name"]) for offered in inner]
    if "name" not in tool:
        return []
    return [Offered(tool["name"], tool.get("parameters") or {}, freeform=tool.get("type") == "custom")]


def _failure(status: int, message: str) -> Any:
    kind, code = _ERRORS.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    if "maximum context length" in message:
        code = "context_length_exceeded"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _other(_: EdgeRequest) -> Any:
    return None


DIALECT = Dialect(_matches, _read, ResponsesRendering, _failure, _other, vendor_rules.responses)
