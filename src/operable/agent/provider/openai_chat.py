"""Chat completions: our history in the words of OpenAI and of what is compatible with it, and the stream back.

Compatible servers differ where OpenAI's own client does not look: some repeat a call's id and name in every piece, some
number all parallel calls 0, some give calls no id, some know only the older name of the token limit, some send their
reasoning under another name. All of that is read here. Reasoning is shown but not given back: the API has no place
for it.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any

from operable.agent.provider.errors import Broken, broke_off, explained
from operable.agent.provider.model import Finished, ModelRequest, ModelText, ModelThought, Piece, Used
from operable.agent.provider.stream import ProviderSession, Rehearsal, sse
from operable.agent.provider.turns import called
from operable.agent.session.history import (
    HistoryTurn,
    ImageBlock,
    TextBlock,
    Tokens,
    ToolOutputBlock,
    ToolUseBlock,
)

_STOPS = {"length": "max_tokens", "content_filter": "refusal"}
_REASONING = ("reasoning_content", "reasoning")


_CHUNK = {"id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": "rehearsal"}
_REHEARSED: tuple[dict[str, Any], ...] = (
    {**_CHUNK, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Ready."}}]},
    {**_CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {**_CHUNK, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
)


def chat_session(client: Callable[[Any], Any], secrets: Sequence[str], *, own: bool) -> ProviderSession:
    """`client` makes an asynchronous client of the `openai` SDK; `own` says whether it asks OpenAI itself."""

    async def answer(client: Any, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        body = parameters(request, own=own)
        # As `extra_body`, which the SDK sends as it is: it would visit every node of every tool's schema otherwise.
        stream = await client.chat.completions.create(
            model=body["model"],
            messages=[],
            stream=True,
            stream_options={"include_usage": True},
            extra_body=body,
        )
        async with stream:
            reading = _Reading()
            async for chunk in stream:
                for piece in reading.heard(chunk):
                    yield piece
            for piece in reading.ended():
                yield piece

    rehearsal = Rehearsal(sse(_REHEARSED) + b"data: [DONE]\n\n")
    return ProviderSession(client, answer, openai_explained, rehearsal=rehearsal, secrets=secrets)


def openai_explained(error: Exception) -> Broken:
    import openai

    return explained(openai, error)


def parameters(request: ModelRequest, *, own: bool) -> dict[str, Any]:
    """The body of a request."""
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for turn in request.turns:
        messages += _assistant(turn) if turn.role == "assistant" else _user(turn)
    limit = "max_completion_tokens" if own else "max_tokens"
    body: dict[str, Any] = {"model": request.model, "messages": messages, limit: request.max_tokens}
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


def _assistant(turn: HistoryTurn) -> list[dict[str, Any]]:
    text = "".join(block.text for block in turn.blocks if isinstance(block, TextBlock))
    calls = [
        {
            "id": block.call_id,
            "type": "function",
            "function": {"name": block.name, "arguments": json.dumps(block.arguments, ensure_ascii=False)},
        }
        for block in turn.blocks
        if isinstance(block, ToolUseBlock)
    ]
    if not text and not calls:
        return []
    return [{"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}]


def _user(turn: HistoryTurn) -> list[dict[str, Any]]:
    """Results of tools are messages of their own and come first; they carry text only, so their images follow."""
    outputs = [block for block in turn.blocks if isinstance(block, ToolOutputBlock)]
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": output.call_id, "content": output.text or "(no output)"}
        for output in outputs
    ]
    parts = [{"type": "text", "text": block.text} for block in turn.blocks if isinstance(block, TextBlock)]
    parts += [_image(block) for block in turn.blocks if isinstance(block, ImageBlock)]
    parts += [_image(output.image) for output in outputs if output.image is not None]
    if parts:
        # One text as a plain string: some compatible servers read nothing else.
        plain = len(parts) == 1 and parts[0]["type"] == "text"
        messages.append({"role": "user", "content": parts[0]["text"] if plain else parts})
    return messages


def _image(image: ImageBlock) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}"}}


class _Reading:
    """The state of one answer."""

    def __init__(self) -> None:
        self._calls: list[dict[str, str]] = []
        self._at: dict[int, dict[str, str]] = {}  # number in the stream -> the call that grows there
        self._stop: str | None = None
        self._refused = False
        self._tokens = Tokens()

    def heard(self, chunk: Any) -> Iterator[Piece]:
        if chunk.usage is not None:
            self._tokens = _tokens(chunk.usage)
            yield Used(self._tokens)  # some servers say it with every chunk
        for choice in (chunk.choices or [])[:1]:
            delta = choice.delta
            if thought := next((text for name in _REASONING if (text := getattr(delta, name, None))), None):
                yield ModelThought(thought)
            if delta.content:
                yield ModelText(delta.content)
            if refusal := getattr(delta, "refusal", None):
                self._refused = True
                yield ModelText(refusal)
            for part in delta.tool_calls or []:
                self._grew(part)
            self._stop = choice.finish_reason or self._stop

    def _grew(self, part: Any) -> None:
        call = self._at.get(part.index or 0)
        if call is None or (part.id and call["id"] and part.id != call["id"]):
            call = self._at[part.index or 0] = {"id": "", "name": "", "arguments": ""}
            self._calls.append(call)
        call["id"] = call["id"] or part.id or ""
        if part.function is not None:
            call["name"] = call["name"] or part.function.name or ""
            call["arguments"] += part.function.arguments or ""

    def ended(self) -> Iterator[Piece]:
        if self._stop is None:
            raise broke_off()
        for number, call in enumerate(self._calls, 1):
            yield called(call["id"] or f"call_{number}", call["name"], call["arguments"])
        reason = "refusal" if self._refused else _STOPS.get(self._stop, "tools" if self._calls else "end")
        yield Finished(reason, self._tokens)  # type: ignore[arg-type]  # one of its four words


def _tokens(usage: Any) -> Tokens:
    details = getattr(usage, "prompt_tokens_details", None)
    read = getattr(details, "cached_tokens", None) or 0
    written = getattr(details, "cache_write_tokens", None) or 0
    return Tokens(
        input_tokens=max(0, (usage.prompt_tokens or 0) - read - written),
        output_tokens=usage.completion_tokens or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
