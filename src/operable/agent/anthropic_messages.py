"""The Messages API of Anthropic: our history in its words, and its stream in ours.

Used by every door through which that API is reached (directly, Bedrock, Vertex); each of them makes the SDK's client,
this module does the rest. Prompt caching: the system prompt, the tools, and the end of the last two user turns are
marked, so that a growing conversation pays only for what is new.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from operable.agent.cancellation import Cancellation
from operable.agent.history import Block, Image, Text, Thinking, Tokens, ToolOutput, ToolUse, Turn
from operable.agent.model import Called, Finished, Piece, Request, Said, Thought
from operable.agent.provider_stream import Broken, pieces
from operable.kernel.redact import redact_text

_CACHED = {"cache_control": {"type": "ephemeral"}}
_STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
}


class MessagesSession:
    """`client` makes the SDK's asynchronous client when the first request needs it."""

    def __init__(self, client: Callable[[], Any]) -> None:
        self._make_client = client

    def stream(self, request: Request, cancellation: Cancellation) -> Iterator[Piece]:
        return pieces(lambda: self._events(request), cancellation, broken=explained)

    async def _events(self, request: Request) -> AsyncIterator[Piece]:
        async with self._make_client() as client:
            stream = await client.messages.create(**parameters(request), stream=True)
            async with stream:
                reading = _Reading()
                async for event in stream:
                    for piece in reading.heard(event.type, event):
                        yield piece
                if not reading.finished:
                    raise Broken("The answer broke off before its end.", passing=True)


def parameters(request: Request) -> dict[str, Any]:
    """The body of a request."""
    messages = [_message(turn) for turn in merged(request.turns)]
    for message in [message for message in messages if message["role"] == "user"][-2:]:
        message["content"][-1] = {**message["content"][-1], **_CACHED}
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens, "messages": messages}
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, **_CACHED}]
    if request.tools:
        tools: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ]
        tools[-1] = {**tools[-1], **_CACHED}
        body["tools"] = tools
    if request.thinking_budget:
        body["thinking"] = {"type": "enabled", "budget_tokens": request.thinking_budget}
        body["max_tokens"] = max(request.max_tokens, request.thinking_budget + 1024)
    return body


def merged(turns: tuple[Turn, ...]) -> list[Turn]:
    """Neighbours of one role as one turn: vendors want them to alternate, our notices and interruptions do not."""
    result: list[Turn] = []
    for turn in turns:
        if result and result[-1].role == turn.role:
            result[-1] = Turn(turn.role, (*result[-1].blocks, *turn.blocks))
        else:
            result.append(turn)
    return result


def _message(turn: Turn) -> dict[str, Any]:
    # Results of tools come first in a turn: the API refuses them after anything else.
    blocks = sorted(turn.blocks, key=lambda block: not isinstance(block, ToolOutput))
    content = [part for block in blocks for part in _parts(block)]
    return {"role": turn.role, "content": content or [{"type": "text", "text": "(nothing)"}]}


def _parts(block: Block) -> list[dict[str, Any]]:
    match block:
        case Text(text):
            return [{"type": "text", "text": text}] if text.strip() else []
        case Image():
            return [_image(block)]
        case Thinking(text, signature, data):
            if data is not None:
                return [{"type": "redacted_thinking", "data": data}]
            # Without its signature a thought cannot be given back; it came from another provider.
            return [{"type": "thinking", "thinking": text, "signature": signature}] if signature else []
        case ToolUse(call_id, name, arguments):
            return [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}]
        case ToolOutput(call_id, text, is_error, image):
            content: list[dict[str, Any]] = [{"type": "text", "text": text or "(no output)"}]
            if image is not None:
                content.append(_image(image))
            return [{"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}]


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


class _Reading:
    """The state of one answer."""

    def __init__(self) -> None:
        self.finished = False
        self._calls: dict[int, tuple[str, str, list[str]]] = {}
        self._signatures: dict[int, list[str]] = {}
        self._stop = "end"
        self._usage: dict[str, int] = {}

    def heard(self, kind: str, event: Any) -> Iterator[Piece]:
        match kind:
            case "message_start":
                self._count(event.message.usage)
            case "content_block_start":
                yield from self._began(event.index, event.content_block)
            case "content_block_delta":
                yield from self._grew(event.index, event.delta)
            case "content_block_stop":
                yield from self._ended(event.index)
            case "message_delta":
                self._stop = _STOPS.get(event.delta.stop_reason or "", "end")
                self._count(event.usage)
            case "message_stop":
                self.finished = True
                yield Finished(self._stop, self._tokens())  # type: ignore[arg-type]  # the values of _STOPS

    def _began(self, index: int, block: Any) -> Iterator[Piece]:
        if block.type == "tool_use":
            self._calls[index] = (block.id, block.name, [])
        elif block.type == "redacted_thinking":
            yield Thought("", data=block.data)
        elif block.type == "thinking":
            self._signatures[index] = []

    def _grew(self, index: int, delta: Any) -> Iterator[Piece]:
        match delta.type:
            case "text_delta":
                yield Said(delta.text)
            case "thinking_delta":
                yield Thought(delta.thinking)
            case "signature_delta":
                self._signatures.setdefault(index, []).append(delta.signature)
            case "input_json_delta":
                self._calls[index][2].append(delta.partial_json)

    def _ended(self, index: int) -> Iterator[Piece]:
        if index in self._calls:
            call_id, name, parts = self._calls.pop(index)
            yield called(call_id, name, "".join(parts))
        if signature := "".join(self._signatures.pop(index, [])):
            yield Thought("", signature=signature)

    def _count(self, usage: Any) -> None:
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ):
            value = getattr(usage, name, None)
            if value is not None:
                self._usage[name] = value  # later reports are running totals

    def _tokens(self) -> Tokens:
        used = self._usage
        return Tokens(
            used.get("input_tokens", 0),
            used.get("output_tokens", 0),
            used.get("cache_read_input_tokens", 0),
            used.get("cache_creation_input_tokens", 0),
        )


def called(call_id: str, name: str, arguments: str) -> Called:
    """A call whose arguments came as text."""
    try:
        parsed = json.loads(arguments or "{}")
    except ValueError:
        return Called(call_id, name, {}, malformed=arguments)
    if not isinstance(parsed, Mapping):
        return Called(call_id, name, {}, malformed=arguments)
    return Called(call_id, name, parsed)


def explained(error: Exception) -> Broken:
    """What the SDK raised, in words for the user."""
    import anthropic

    if isinstance(error, anthropic.APIStatusError):
        return status_broken(error.status_code, _reason(error), error.response.headers.get("retry-after"))
    if isinstance(error, anthropic.APIConnectionError):
        return Broken(f"The provider could not be reached: {redact_text(str(error))}", passing=True)
    if isinstance(error, anthropic.APIError):
        return _in_stream(error)
    return Broken(f"The provider's answer could not be read: {type(error).__name__}", passing=True)


def _in_stream(error: Any) -> Broken:
    """An error event inside a stream that had begun well."""
    kind = ""
    if isinstance(error.body, Mapping) and isinstance(error.body.get("error"), Mapping):
        kind = str(error.body["error"].get("type", ""))
    passing = kind in ("overloaded_error", "api_error", "rate_limit_error", "timeout_error")
    return Broken(redact_text(str(error.message)), passing=passing)


def _reason(error: Any) -> str:
    body = error.body
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping):
        return str(body["error"].get("message") or error.message)
    return str(error.message)


def status_broken(status: int, reason: str, retry_after: str | None) -> Broken:
    """An HTTP status, as every vendor means it."""
    reason = redact_text(reason)[:500].rstrip(".")
    seconds = None
    if retry_after is not None and retry_after.replace(".", "", 1).isdigit():
        seconds = float(retry_after)
    match status:
        case 401 | 403:
            message = f"The provider refused the key: {reason}."
        case 404:
            message = f"The provider does not know this model or address: {reason}."
        case 429:
            after = f" Retry after {seconds:g}s." if seconds is not None else ""
            message = f"Rate limit exceeded: {reason}.{after}"
        case _:
            message = f"The provider answered {status}: {reason}."
    passing = status in (408, 409, 429) or status >= 500
    return Broken(message, passing=passing, status=status, retry_after=seconds)
