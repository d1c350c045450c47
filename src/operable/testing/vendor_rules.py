"""What the vendors refuse with status 400: the rules of a conversation, as their servers check and word them.

A client that is tested against a server which accepts everything learns of a broken history only from its users. Each
function takes the body of a request and returns the vendor's own words about the first rule that it breaks, or None. The
sizes of a request are compared with a window by `tokens`: about four characters each, as tokenizers give on average.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_CALL_ID = re.compile(r"[A-Za-z0-9_-]+")
_CHARACTERS_PER_TOKEN = 4
Body = Mapping[str, Any]


def tokens(body: Body) -> int:
    """About how many tokens a request is, of whichever vendor: everything that the model reads."""
    names = ("messages", "system", "tools", "input", "instructions", "contents", "systemInstruction")
    read = {name: body[name] for name in names if body.get(name)}
    return len(json.dumps(_without_images(read), ensure_ascii=False)) // _CHARACTERS_PER_TOKEN


def _without_images(value: Any) -> Any:
    """An image costs as much as its area, not as its encoding."""
    if isinstance(value, dict):
        return {name: "" if name == "data" else _without_images(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_images(inner) for inner in value]
    return "" if isinstance(value, str) and value.startswith("data:image/") else value


def anthropic(body: Body) -> str | None:
    """The Messages API."""
    messages = body.get("messages")
    if not messages:
        return "messages: at least one message is required"
    if messages[0].get("role") != "user":
        return 'messages: first message must use the "user" role'
    pending: list[str] = []
    seen: set[str] = set()
    turns = _turns(messages)
    for number, (message, parts) in enumerate(turns):
        is_last = number == len(turns) - 1
        place = f"messages.{number}"
        problem = _anthropic_parts(place, message, parts, is_last=is_last) or _anthropic_results(
            place, parts, pending
        )
        if problem is not None:
            return problem
        pending = [part.get("id", "") for part in parts if part.get("type") == "tool_use"]
        if repeated := [call_id for call_id in pending if call_id in seen or pending.count(call_id) > 1]:
            return f"{place}: `tool_use` ids must be unique; found {repeated[0]}"
        seen.update(pending)
    if pending:
        return _unanswered(f"messages.{len(turns) - 1}", pending)
    if seen and not body.get("tools"):
        return "Requests which include `tool_use` or `tool_result` blocks must define tools"
    return None


def _turns(messages: Sequence[Body]) -> list[tuple[Body, list[Body]]]:
    """Messages with their parts; those of one role that follow each other are read as one."""
    turns: list[tuple[Body, list[Body]]] = []
    for message in messages:
        parts = _parts(message.get("content"))
        if turns and parts and turns[-1][0].get("role") == message.get("role"):
            turns[-1][1].extend(parts)
        else:
            turns.append((message, parts))
    return turns


def _anthropic_parts(place: str, message: Body, parts: Sequence[Body], *, is_last: bool) -> str | None:
    role = message.get("role")
    if role not in ("user", "assistant"):
        return f"{place}.role: Input should be 'user' or 'assistant'"
    if not parts and not (is_last and role == "assistant"):
        return f"{place}: all messages must have non-empty content except for the optional final assistant message"
    for number, part in enumerate(parts):
        if part.get("type") == "text" and not str(part.get("text", "")):
            return f"{place}: text content blocks must be non-empty"
        if part.get("type") == "text" and not str(part["text"]).strip():
            return f"{place}: text content blocks must contain non-whitespace text"
        if part.get("type") == "tool_use":
            if not _CALL_ID.fullmatch(str(part.get("id", ""))):
                return f"{place}.content.{number}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            if not isinstance(part.get("input"), dict):
                return f"{place}.content.{number}.tool_use.input: Input should be a valid dictionary"
    return None


def _anthropic_results(place: str, parts: Sequence[Body], pending: list[str]) -> str | None:
    results = [part.get("tool_use_id", "") for part in parts if part.get("type") == "tool_result"]
    for call_id in results:
        if call_id not in pending:
            return (
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each `tool_result` block "
                "must have a corresponding `tool_use` block in the previous message."
            )
        if results.count(call_id) > 1:
            return f"{place}: each tool_use must have a single result, not several `tool_result` blocks: {call_id}"
    missing = [call_id for call_id in pending if call_id not in results]
    before = [part.get("type") for part in parts[: len(results)]]
    if missing or any(kind != "tool_result" for kind in before):
        return _unanswered(place, missing or pending)
    return None


def _unanswered(place: str, call_ids: Sequence[str]) -> str:
    return (
        f"{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(call_ids)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def chat_completions(body: Body) -> str | None:
    """OpenAI's chat completions."""
    messages = body.get("messages")
    if not messages:
        return "Invalid 'messages': empty array. Expected an array with minimum length 1."
    pending: list[str] = []
    for number, message in enumerate(messages):
        role, place = message.get("role"), f"messages.[{number}]"
        if role == "tool":
            call_id = message.get("tool_call_id")
            if call_id not in pending:
                return (
                    f"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    f"'tool_calls'. ({place})"
                )
            pending.remove(call_id)
            continue
        if pending:
            return _chat_unanswered(pending)
        if role not in ("system", "developer", "user", "assistant"):
            return f"Invalid value: {role!r}. ({place}.role)"
        calls = message.get("tool_calls")
        if calls is not None and not calls:
            return f"Invalid '{place}.tool_calls': empty array. Expected an array with minimum length 1."
        if message.get("content") is None and not calls and not message.get("refusal"):
            return f"Invalid value for 'content': expected a string, got null. ({place}.content)"
        pending = [call.get("id", "") for call in calls or []]
    return _chat_unanswered(pending) if pending else None


def _chat_unanswered(call_ids: Sequence[str]) -> str:
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(call_ids)}"
    )


def responses(body: Body) -> str | None:
    """OpenAI's responses, with the whole conversation in each request."""
    items = body.get("input")
    if isinstance(items, str) or body.get("previous_response_id"):
        return None
    called: dict[str, bool] = {}
    for item in items or []:
        kind, call_id = item.get("type"), item.get("call_id", "")
        if kind in ("function_call", "custom_tool_call"):
            if call_id in called:
                return f"Duplicate item found with call_id {call_id}."
            called[call_id] = False
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if call_id not in called:
                return f"No tool call found for function call output with call_id {call_id}."
            called[call_id] = True
    lost = [call_id for call_id, is_answered in called.items() if not is_answered]
    return f"No tool output found for function call {lost[0]}." if lost else None


def _parts(content: Any) -> list[Body]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [part for part in content or [] if isinstance(part, dict)]


def overflow(body: Body, window: int, *, is_anthropic: bool) -> str | None:
    """What a vendor says about a request that its model's window cannot contain; None: it can."""
    asked = tokens(body)
    if is_anthropic:
        return f"prompt is too long: {asked} tokens > {window} maximum" if asked > window else None
    room = body.get("max_tokens") or body.get("max_completion_tokens") or 0
    if asked + room <= window:
        return None
    return (
        f"This model's maximum context length is {window} tokens. However, you requested {asked + room} tokens "
        f"({asked} in the messages, {room} in the completion). Please reduce the length of the messages or completion."
    )
