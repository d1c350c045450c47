"""The Messages API of Anthropic: our history in its words, and its stream in ours.

Used by every provider through which that API is reached (directly, Bedrock, Vertex); each of them makes the SDK's client,
this module does the rest. Prompt caching: the system prompt, the tools, and the end of the last two user turns are
marked (four marks are allowed). So a growing conversation pays only for what is new.

What the stream carries is held against its grammar: a block that grows without having begun, or a message that ends
with an open block, is an answer with a hole in it and is refused. Events and blocks of kinds that we do not know are
skipped, as the vendor asks of its clients.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Any

from operable.agent.provider.claude_facts import thinks_adaptively
from operable.agent.provider.errors import Broken, broke_off, explained, unreadable
from operable.agent.provider.model import Finished, ModelRequest, ModelText, ModelThought, Piece, Used
from operable.agent.provider.stream import ProviderSession, Rehearsal, sse
from operable.agent.provider.turns import called
from operable.agent.session.history import (
    Block,
    HistoryTurn,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    Tokens,
    ToolOutputBlock,
    ToolUseBlock,
)

_CACHED = {"cache_control": {"type": "ephemeral"}}
_SMALLEST_BUDGET = 1024  # the API's own limit
_ANSWER_ROOM = 1024  # tokens that a thinking budget must leave for the answer
_STOPS = {
    "tool_use": "tools",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")  # what other vendors allow in the id of a call, and this API refuses


REHEARSED: tuple[dict[str, Any], ...] = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_0", "type": "message", "role": "assistant", "model": "rehearsal", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Ready."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start", "index": 1,
        "content_block": {"type": "tool_use", "id": "toolu_0", "name": "Rehearse", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)  # fmt: skip


def messages_session(
    client: Callable[[Any], Any], secrets: Sequence[str], rehearsal: Rehearsal | None = None
) -> ProviderSession:
    """`client` makes an asynchronous client of the `anthropic` SDK, for whichever provider; see `ProviderSession`."""
    rehearsal = rehearsal or Rehearsal(sse(REHEARSED, named=True))
    return ProviderSession(client, _answer, _explained, rehearsal=rehearsal, secrets=secrets)


def _explained(error: Exception) -> Broken:
    import anthropic

    return explained(anthropic, error)


async def _answer(client: Any, request: ModelRequest) -> AsyncGenerator[Piece, None]:
    stream = await client.messages.create(**parameters(request), stream=True)
    async with stream:
        reading = _Reading()
        async for event in stream:
            for piece in reading.heard(event.type, event):
                yield piece


def parameters(request: ModelRequest) -> dict[str, Any]:
    """The body of a request."""
    turns = request.turns
    messages = [_message(turn) for turn in turns]
    for message in [message for message in messages if message["role"] == "user"][-2:]:
        message["content"][-1] = {**message["content"][-1], **_CACHED}
    body: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens, "messages": messages}
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, **_CACHED}]
    body |= _tools(request)
    if request.thinking_budget and not _in_foreign_round(turns):
        _think(body, request.thinking_budget)
    if request.effort:
        body["output_config"] = {"effort": request.effort}
    return body


def _tools(request: ModelRequest) -> dict[str, Any]:
    """The tools on offer. A history with calls in it is refused without any: its own are declared, and closed."""
    tools: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
        for tool in request.tools
    ]
    if tools:
        tools[-1] = {**tools[-1], **_CACHED}
        return {"tools": tools}
    used = {
        block.name: None for turn in request.turns for block in turn.blocks if isinstance(block, ToolUseBlock)
    }
    if not used:
        return {}
    closed = [{"name": name, "description": "Closed.", "input_schema": {"type": "object"}} for name in used]
    return {"tools": closed, "tool_choice": {"type": "none"}}


def _think(body: dict[str, Any], budget: int) -> None:
    if thinks_adaptively(body["model"]):
        body["thinking"] = {"type": "adaptive", "display": "summarized"}
        return
    budget = max(budget, _SMALLEST_BUDGET)
    body["thinking"] = {"type": "enabled", "budget_tokens": budget}
    body["max_tokens"] = max(body["max_tokens"], budget + _ANSWER_ROOM)


def _in_foreign_round(turns: Sequence[HistoryTurn]) -> bool:
    """Whether the model is in the middle of a round of tools that began without a signed thought.

    The API refuses to think on from there; it happens when thinking was switched on, or the provider changed, between
    a call and its result.
    """
    if not turns or not any(isinstance(block, ToolOutputBlock) for block in turns[-1].blocks):
        return False
    before = next((turn for turn in reversed(turns) if turn.role == "assistant"), None)
    return before is None or not any(
        isinstance(block, ThinkingBlock) and (block.signature or isinstance(block.data, str))
        for block in before.blocks
    )


def _message(turn: HistoryTurn) -> dict[str, Any]:
    # Results of tools come first in a turn: the API refuses them after anything else.
    blocks = sorted(turn.blocks, key=lambda block: not isinstance(block, ToolOutputBlock))
    content = [part for block in blocks for part in _parts(block)]
    return {"role": turn.role, "content": content or [{"type": "text", "text": "(nothing)"}]}


def _parts(block: Block) -> list[dict[str, Any]]:
    match block:
        case TextBlock(text):
            return [{"type": "text", "text": text}] if text.strip() else []
        case ImageBlock():
            return [_image(block)]
        case ThinkingBlock(data=str(data)):
            return [{"type": "redacted_thinking", "data": data}]
        case ThinkingBlock(text, signature):
            # Without its signature a thought cannot be given back; it came from another provider.
            return [{"type": "thinking", "thinking": text, "signature": signature}] if signature else []
        case ToolUseBlock(call_id, name, arguments):
            return [{"type": "tool_use", "id": _own(call_id), "name": name, "input": arguments}]
        case ToolOutputBlock(call_id, text, is_error, image):
            content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text.strip() else []
            if image is not None:
                content.append(_image(image))
            result = content or [{"type": "text", "text": "(no output)"}]
            return [
                {"type": "tool_result", "tool_use_id": _own(call_id), "content": result, "is_error": is_error}
            ]


def _own(call_id: str) -> str:
    return _FOREIGN.sub("_", call_id) or "_"


def _image(image: ImageBlock) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


class _Reading:
    """The state of one answer."""

    def __init__(self) -> None:
        self._open: dict[int, Any] = {}  # index -> the block as it began
        self._parts: dict[int, list[str]] = {}  # index -> pieces of arguments or of a signature
        self._stop: str | None = None
        self._usage: dict[str, int] = {}

    def heard(self, kind: str, event: Any) -> Iterator[Piece]:
        match kind:
            case "message_start":
                self._count(event.message.usage)
                yield Used(self._tokens())
            case "content_block_start":
                yield from self._began(event.index, event.content_block)
            case "content_block_delta":
                if event.index not in self._open:
                    raise unreadable("a block goes on that never began")
                yield from self._grew(event.index, event.delta)
            case "content_block_stop":
                yield from self._ended(event.index)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._count(event.usage)
            case "message_stop":
                yield self._finished()

    def _began(self, index: int, block: Any) -> Iterator[Piece]:
        self._open[index], self._parts[index] = block, []
        match block.type:
            case "redacted_thinking":
                yield ModelThought("", data=block.data)
            case "text" if block.text:
                yield ModelText(block.text)
            case "thinking" if block.thinking:
                yield ModelThought(block.thinking)

    def _grew(self, index: int, delta: Any) -> Iterator[Piece]:
        match delta.type:
            case "text_delta" if delta.text:
                yield ModelText(delta.text)
            case "thinking_delta" if delta.thinking:
                yield ModelThought(delta.thinking)
            case "signature_delta":
                self._parts[index].append(delta.signature)
            case "input_json_delta":
                self._parts[index].append(delta.partial_json)

    def _ended(self, index: int) -> Iterator[Piece]:
        block = self._open.pop(index, None)
        if block is None:
            raise unreadable("a block ends that never began")
        text = "".join(self._parts.pop(index))
        match block.type:
            case "tool_use":
                yield called(block.id, block.name, text)
            case "thinking":
                # Also without a signature: it closes the thought.
                yield ModelThought("", signature=text or block.signature or "")

    def _finished(self) -> Finished:
        if self._stop is None:
            raise broke_off()
        if self._open:
            raise unreadable("the message ends before its parts do")
        reason = _STOPS.get(self._stop, "end")
        return Finished(reason, self._tokens())  # type: ignore[arg-type]

    def _tokens(self) -> Tokens:
        return Tokens(*(self._usage.get(name, 0) for name in _USAGE))

    def _count(self, usage: Any) -> None:
        for name in _USAGE:
            value = getattr(usage, name, None)
            if isinstance(value, int):
                self._usage[name] = value  # later reports are running totals
