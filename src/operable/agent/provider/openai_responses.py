"""The Responses API of OpenAI: our history as its items, and its stream of events back.

Nothing is stored at the vendor (`store` is off): every request carries the whole conversation. Reasoning comes as items
with encrypted content, which are kept as they came (`ThinkingBlock.data`) and given back in their place; without that
content they could not be read, and are left out.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any

from operable.agent.provider.errors import in_stream
from operable.agent.provider.model import Finished, ModelRequest, ModelText, ModelThought, Piece, Used
from operable.agent.provider.openai_chat import openai_explained
from operable.agent.provider.openai_facts import reasons
from operable.agent.provider.stream import ProviderSession, Rehearsal, sse
from operable.agent.provider.turns import called
from operable.agent.session.history import (
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    Tokens,
    ToolOutputBlock,
    ToolUseBlock,
)

_THOUGHTS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_SUMMARY_PART = "response.reasoning_summary_part.added"
_KEPT = (
    "type",
    "id",
    "summary",
    "content",
    "encrypted_content",
)  # of a reasoning item; what else it has is status


_RESPONSE = {
    "id": "resp_0", "object": "response", "created_at": 0, "status": "completed", "model": "rehearsal", "output": [],
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    "usage": {
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 2, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 3,
    },
}  # fmt: skip
_ITEMS: tuple[dict[str, Any], ...] = (
    {"id": "rs_0", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"id": "fc_0", "type": "function_call", "call_id": "call_0", "name": "Rehearse", "arguments": "{}"},
    {"id": "msg_0", "type": "message", "role": "assistant", "status": "completed", "content": []},
)
_REHEARSED: tuple[dict[str, Any], ...] = (
    {"type": "response.created", "response": {**_RESPONSE, "status": "in_progress"}},
    {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "item_id": "rs_0", "delta": "Hm."},
    {"type": "response.output_text.delta", "content_index": 0, "item_id": "msg_0", "delta": "Ready."},
    *(
        {"type": "response.output_item.added", "output_index": n, "item": item}
        for n, item in enumerate(_ITEMS)
    ),
    *(
        {"type": "response.output_item.done", "output_index": n, "item": item}
        for n, item in enumerate(_ITEMS)
    ),
    {"type": "response.completed", "response": {**_RESPONSE, "output": list(_ITEMS)}},
)


def responses_session(client: Callable[[Any], Any], secrets: Sequence[str]) -> ProviderSession:
    """`client` makes an asynchronous client of the `openai` SDK; see `ProviderSession`."""
    rehearsal = Rehearsal(sse(_REHEARSED, named=True))
    return ProviderSession(client, _answer, openai_explained, rehearsal=rehearsal, secrets=secrets)


async def _answer(client: Any, request: ModelRequest) -> AsyncGenerator[Piece, None]:
    # As `extra_body`, which the SDK sends as it is: it would visit every node of every tool's schema otherwise.
    stream = await client.responses.create(stream=True, extra_body=parameters(request))
    async with stream:
        reading = _Reading()
        async for event in stream:
            for piece in reading.heard(event.type, event):
                yield piece


def parameters(request: ModelRequest) -> dict[str, Any]:
    """The body of a request."""
    items = [item for turn in request.turns for item in _items(turn.role, turn.blocks)]
    body: dict[str, Any] = {
        "model": request.model,
        "input": items,
        "max_output_tokens": request.max_tokens,
        "store": False,
    }
    if request.system:
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.schema),
                "strict": False,
            }
            for tool in request.tools
        ]
    if reasons(request.model) or request.effort or request.thinking_budget:
        body["reasoning"] = {"summary": "auto", **({"effort": request.effort} if request.effort else {})}
        body["include"] = ["reasoning.encrypted_content"]
    return body


def _items(role: str, blocks: Sequence[Block]) -> Iterator[dict[str, Any]]:
    """In the order in which they were said; what a user says beside results of tools follows them."""
    said: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case TextBlock(text) if text:
                said.append({"type": "output_text" if role == "assistant" else "input_text", "text": text})
            case ImageBlock():
                said.append(_image(block))
            case ThinkingBlock(data=Mapping() as data) if data.get("encrypted_content"):
                yield from _message(role, said)
                yield {name: data[name] for name in _KEPT if data.get(name) is not None}
            case ToolUseBlock(call_id, name, arguments):
                yield from _message(role, said)
                text = json.dumps(arguments, ensure_ascii=False)
                yield {"type": "function_call", "call_id": call_id, "name": name, "arguments": text}
            case ToolOutputBlock():
                yield _output(block)
    yield from _message(role, said)


def _message(role: str, said: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if said:
        yield {"type": "message", "role": role, "content": list(said)}
        said.clear()


def _output(output: ToolOutputBlock) -> dict[str, Any]:
    text = output.text or "(no output)"
    content = text if output.image is None else [{"type": "input_text", "text": text}, _image(output.image)]
    return {"type": "function_call_output", "call_id": output.call_id, "output": content}


def _image(image: ImageBlock) -> dict[str, Any]:
    return {
        "type": "input_image",
        "image_url": f"data:{image.media_type};base64,{image.data}",
        "detail": "auto",
    }


class _Reading:
    """The state of one answer."""

    def __init__(self) -> None:
        self._called = self._refused = self._thought = False

    def heard(self, kind: str, event: Any) -> Iterator[Piece]:
        match kind:
            case "response.output_text.delta":
                yield ModelText(event.delta)
            case "response.refusal.delta":
                self._refused = True
                yield ModelText(event.delta)
            case _ if kind in _THOUGHTS:
                self._thought = True
                yield ModelThought(event.delta)
            case _ if kind == _SUMMARY_PART and self._thought:
                yield ModelThought("\n\n")  # between the parts of a summary
            case "response.output_item.done":
                yield from self._item(event.item)
            case "response.completed" | "response.incomplete":
                yield self._finished(event.response)
            case "response.failed":
                yield Used(_tokens(event.response.usage))
                error = event.response.error
                raise in_stream(*((error.code or "", error.message or "") if error else ("", "")))
            case "error":
                raise in_stream(event.code or "", event.message or "")

    def _item(self, item: Any) -> Iterator[Piece]:
        match item.type:
            case "reasoning":
                self._thought = False
                yield ModelThought(
                    "", data=item.model_dump(mode="json", include=set(_KEPT), exclude_none=True)
                )
            case "function_call":
                self._called = True
                yield called(item.call_id, item.name, item.arguments or "")

    def _finished(self, response: Any) -> Finished:
        cut = response.incomplete_details.reason if response.incomplete_details else None
        if self._refused or cut == "content_filter":
            reason = "refusal"
        elif response.status == "incomplete":
            reason = "max_tokens"
        else:
            reason = "tools" if self._called else "end"
        return Finished(reason, _tokens(response.usage))  # type: ignore[arg-type]  # one of its four words


def _tokens(usage: Any) -> Tokens:
    if usage is None:
        return Tokens()
    details = usage.input_tokens_details
    read = getattr(details, "cached_tokens", None) or 0
    written = getattr(details, "cache_write_tokens", None) or 0
    return Tokens(max(0, usage.input_tokens - read - written), usage.output_tokens, read, written)
