"""Chat completions: our history in the words of OpenAI and of what is compatible with it, and the stream back."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from operable.agent.anthropic_messages import called, merged, status_broken
from operable.agent.cancellation import Cancellation
from operable.agent.history import Image, Text, Tokens, ToolOutput, ToolUse, Turn
from operable.agent.model import Finished, Piece, Request, Said, Thought
from operable.agent.provider_stream import Broken, pieces
from operable.kernel.redact import redact_text

_STOPS = {
    "stop": "end",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "max_tokens",
    "content_filter": "refusal",
}
# Where reasoning is told, compatible servers disagree on its name.
_REASONING = ("reasoning_content", "reasoning")


class ChatSession:
    """`client` makes the SDK's asynchronous client when the first request needs it."""

    def __init__(self, client: Callable[[], Any]) -> None:
        self._make_client = client

    def stream(self, request: Request, cancellation: Cancellation) -> Iterator[Piece]:
        return pieces(lambda: self._events(request), cancellation, broken=explained)

    async def _events(self, request: Request) -> AsyncIterator[Piece]:
        async with self._make_client() as client:
            stream = await client.chat.completions.create(
                **parameters(request), stream=True, stream_options={"include_usage": True}
            )
            async with stream:
                reading = _Reading()
                async for chunk in stream:
                    for piece in reading.heard(chunk):
                        yield piece
                for piece in reading.ended():
                    yield piece


def parameters(request: Request) -> dict[str, Any]:
    """The body of a request."""
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for turn in merged(request.turns):
        messages += _assistant(turn) if turn.role == "assistant" else _user(turn)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "max_completion_tokens": request.max_tokens,
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.schema),
                },
            }
            for tool in request.tools
        ]
    if request.effort:
        body["reasoning_effort"] = request.effort
    return body


def _assistant(turn: Turn) -> list[dict[str, Any]]:
    import json

    text = "".join(block.text for block in turn.blocks if isinstance(block, Text))
    calls = [
        {
            "id": block.call_id,
            "type": "function",
            "function": {"name": block.name, "arguments": json.dumps(block.arguments, ensure_ascii=False)},
        }
        for block in turn.blocks
        if isinstance(block, ToolUse)
    ]
    if not text and not calls:
        return []
    return [{"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}]


def _user(turn: Turn) -> list[dict[str, Any]]:
    """Results of tools are messages of their own and come first; images of results follow as the user's."""
    outputs = [block for block in turn.blocks if isinstance(block, ToolOutput)]
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": output.call_id, "content": output.text or "(no output)"}
        for output in outputs
    ]
    parts = [{"type": "text", "text": block.text} for block in turn.blocks if isinstance(block, Text)]
    parts += [_image(block) for block in turn.blocks if isinstance(block, Image)]
    parts += [_image(output.image) for output in outputs if output.image is not None]
    if parts:
        messages.append({"role": "user", "content": parts})
    return messages


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}"}}


class _Reading:
    """The state of one answer."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, str]] = {}
        self._stop: str | None = None
        self._tokens = Tokens()

    def heard(self, chunk: Any) -> Iterator[Piece]:
        if chunk.usage is not None:
            self._tokens = _tokens(chunk.usage)
        for choice in chunk.choices[:1]:
            delta = choice.delta
            for name in _REASONING:
                if thought := getattr(delta, name, None):
                    yield Thought(thought)
                    break
            if delta.content:
                yield Said(delta.content)
            if getattr(delta, "refusal", None):
                yield Said(delta.refusal)
            for part in delta.tool_calls or []:
                self._grew(part)
            if choice.finish_reason:
                self._stop = choice.finish_reason

    def _grew(self, part: Any) -> None:
        call = self._calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
        call["id"] += part.id or ""
        if part.function is not None:
            call["name"] += part.function.name or ""
            call["arguments"] += part.function.arguments or ""

    def ended(self) -> Iterator[Piece]:
        if self._stop is None:
            raise Broken("The answer broke off before its end.", passing=True)
        for index, call in sorted(self._calls.items()):
            yield called(call["id"] or f"call-{index}", call["name"], call["arguments"])
        reason = "tools" if self._calls else _STOPS.get(self._stop, "end")
        yield Finished(reason, self._tokens)  # type: ignore[arg-type]  # the values of _STOPS


def _tokens(usage: Any) -> Tokens:
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0
    return Tokens(
        input_tokens=max(0, (usage.prompt_tokens or 0) - cached),
        output_tokens=usage.completion_tokens or 0,
        cache_read_tokens=cached,
    )


def explained(error: Exception) -> Broken:
    """What the SDK raised, in words for the user."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return status_broken(error.status_code, _reason(error), error.response.headers.get("retry-after"))
    if isinstance(error, openai.APIConnectionError):
        return Broken(f"The provider could not be reached: {redact_text(str(error))}", passing=True)
    if isinstance(error, openai.APIError):
        return Broken(redact_text(str(error.message)), passing=True)
    return Broken(f"The provider's answer could not be read: {type(error).__name__}", passing=True)


def _reason(error: Any) -> str:
    body = error.body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping) and inner.get("message"):
            return str(inner["message"])
    return str(error.message)
