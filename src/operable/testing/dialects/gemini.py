"""Google's Gemini API: `…/models/NAME:streamGenerateContent`, `:generateContent`, `:countTokens`, `/v1beta/models`."""

import json
import re
from typing import Any

from operable.testing.dialect import MODELS, Asked, Dialect, Offered, Spoken, TokenUsage, new_id, sse
from operable.testing.http_edge import EdgeRequest

_MODEL = re.compile(r"/models/([^/:]+):(streamGenerateContent|generateContent)$")
_REASONS = {"stop": "STOP", "tool": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class GeminiRendering:
    content_type = "text/event-stream"

    def __init__(self, asked: Asked, usage: TokenUsage) -> None:
        self._usage = usage
        self._frame = {"modelVersion": asked.model, "responseId": new_id("response-")}
        self._parts: list[dict[str, Any]] = []

    def open(self) -> bytes:
        return b""

    def say(self, text: str) -> bytes:
        return self._part({"text": text})

    def think(self, text: str) -> bytes:
        return self._part({"text": text, "thought": True})

    def call(self, call_id: str, tool: Offered, arguments: Any) -> bytes:
        call = {"id": call_id, "name": tool.name, "args": arguments}
        return self._part({"functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ="})

    def close(self, reason: str) -> bytes:
        return sse(self._document([{"text": ""}], reason))

    def fail(self, kind: str, message: str) -> bytes:
        return sse({"error": {"code": 500, "message": message, "status": kind}})

    def whole(self, reason: str) -> Any:
        return self._document(self._parts, reason)

    def _part(self, part: dict[str, Any]) -> bytes:
        self._parts.append(part)
        return sse(self._document([part], None))

    def _document(self, parts: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason is not None:
            candidate["finishReason"] = _REASONS.get(reason, reason)
        return {"candidates": [candidate], "usageMetadata": self._tokens(), **self._frame}

    def _tokens(self) -> dict[str, int]:
        prompt = self._usage.input + self._usage.cache_read + self._usage.cache_write
        return {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": self._usage.cache_read,
            "candidatesTokenCount": self._usage.output,
            "thoughtsTokenCount": self._usage.thinking,
            "totalTokenCount": prompt + self._usage.output + self._usage.thinking,
        }


def _matches(request: EdgeRequest) -> bool:
    return _MODEL.search(request.path) is not None


def _read(request: EdgeRequest) -> Asked:
    found = _MODEL.search(request.path)
    assert found is not None  # noqa: S101 - `_matches` comes first
    body = request.json()
    instruction = body.get("systemInstruction") or body.get("system_instruction") or {}
    spoken = [Spoken("system", _text(instruction))]
    for content in body.get("contents", []):
        answers = any("functionResponse" in part for part in content.get("parts", []))
        role = "assistant" if content.get("role") == "model" else "user"
        spoken.append(Spoken("tool" if answers else role, _text(content)))
    tools = [
        Offered(tool["name"], tool.get("parametersJsonSchema") or tool.get("parameters") or {})
        for group in body.get("tools") or []
        for tool in group.get("functionDeclarations", [])
    ]
    return Asked(found[1], found[2] == "streamGenerateContent", spoken, tools)


def _text(content: Any) -> str:
    if not isinstance(content, dict):
        return str(content)
    return "\n".join(_part_text(part) for part in content.get("parts", []))


def _part_text(part: dict[str, Any]) -> str:
    if "functionResponse" in part:
        return json.dumps(part["functionResponse"].get("response"))
    return str(part.get("text", ""))


def _failure(status: int, message: str) -> Any:
    return {"error": {"code": status, "message": message, "status": _ERRORS.get(status, "INTERNAL")}}


def _other(request: EdgeRequest) -> Any:
    if request.path.endswith(":countTokens"):
        return {"totalTokens": len(json.dumps(request.json())) // 4}
    if request.path.startswith("/v1beta/") and request.path.endswith("/models"):
        return {"models": [{"name": f"models/{name}", "displayName": name} for name in MODELS]}
    return None


DIALECT = Dialect(_matches, _read, GeminiRendering, _failure, _other)
