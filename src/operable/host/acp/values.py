"""Content and errors of the protocol as plain values.

Content is text where there is text, and a dict of our own shape where there is more. Errors get codes of ours, by the
protocol's own numbers or the HTTP status that some agents use instead.
"""

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from operable.host.agent_failure import classified, explained
from operable.host.arm import Message
from operable.kernel.errors import Fail
from operable.wire.acp import ContentBlock
from operable.wire.events import CANCELLED, COMPLETED, MAX_TOKENS, MAX_TURNS, REFUSAL, Failure
from operable.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    RpcError,
)

AUTH_REQUIRED: Final = -32000
UNSUPPORTED_VERSION: Final = -32022
_CODES: Final = {
    AUTH_REQUIRED: "auth_required",
    -32002: "not_found",
    PARSE_ERROR: "invalid_request",
    INVALID_REQUEST: "invalid_request",
    INVALID_PARAMS: "invalid_request",
    METHOD_NOT_FOUND: "unsupported",
    INTERNAL_ERROR: "agent_error",
    REQUEST_CANCELLED: "cancelled",
    # Gemini answers with the HTTP status of its model as the number of the error.
    400: "model_error",
    401: "auth_required",
    403: "auth_required",
    404: "model_error",
    429: "rate_limited",
}
REASONS: Final = {
    "end_turn": COMPLETED,
    "cancelled": CANCELLED,
    "refusal": REFUSAL,
    "max_tokens": MAX_TOKENS,
    "max_turn_requests": MAX_TURNS,
}


def text_of(block: ContentBlock) -> str | None:
    """What a block says in words; None for pictures, sounds and what is not known."""
    if block.text is not None:
        return block.text
    if block.type == "resource_link" and block.uri:
        return f"[{block.name or block.uri}]({block.uri})"
    if isinstance(block.resource, dict):
        text = block.resource.get("text")
        return text if isinstance(text, str) else None
    return None


def media_of(block: ContentBlock) -> dict[str, Any]:
    """A block that cannot be said in words."""
    found = {"kind": block.type, "mediaType": block.mime_type, "uri": block.uri, "data": block.data}
    return {name: value for name, value in found.items() if value is not None}


def joined(blocks: Sequence[ContentBlock] | None) -> str:
    return "".join(text for block in blocks or () if (text := text_of(block)))


def tool_content(items: Sequence[Any] | None) -> dict[str, Any]:
    """The content of a tool call: `text`, `diffs`, `terminals`; only what is there."""
    texts: list[str] = []
    diffs: list[dict[str, Any]] = []
    terminals: list[str] = []
    for item in items or ():
        if not isinstance(item, dict):
            continue
        kind = item.get("type")
        if kind == "content":
            text = _nested_text(item.get("content"))
            if text:
                texts.append(text)
        elif kind == "diff":
            diffs.append(_diff(item))
        elif kind == "terminal" and isinstance(item.get("terminalId"), str):
            terminals.append(item["terminalId"])
    found = {"text": "\n".join(texts), "diffs": diffs, "terminals": terminals}
    return {name: value for name, value in found.items() if value}


def _nested_text(block: Any) -> str | None:
    if not isinstance(block, dict):
        return None
    text = block.get("text")
    if isinstance(text, str):
        return text
    resource = block.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    uri = block.get("uri")
    return uri if isinstance(uri, str) else None


def _diff(item: Mapping[str, Any]) -> dict[str, Any]:
    """Version 1 gives path, old and new text; version 2 a list of changes and a patch."""
    if isinstance(item.get("changes"), list):
        paths = [change.get("path") for change in item["changes"] if isinstance(change, dict)]
        patch = item.get("patch")
        text = patch.get("text") if isinstance(patch, dict) else None
        return {"paths": [path for path in paths if isinstance(path, str)], "patch": text or ""}
    return {name: item.get(name) for name in ("path", "oldText", "newText") if item.get(name) is not None}


def prompt(message: Message, cwd: str, *, images: bool) -> list[dict[str, Any]]:
    """The content of one turn of the user; `images`: whether the agent takes pictures."""
    if message.images and not images:
        raise Fail(
            "validation",
            "IMAGES_UNSUPPORTED",
            "This agent does not take images.",
            hint="Send the text alone, or choose an agent that says it is multimodal.",
        )
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.text}]
    blocks += [link(path, cwd) for path in message.files]
    blocks += [{"type": "image", "mimeType": kind, "data": data} for kind, data in message.images]
    return blocks


def link(path: str, cwd: str) -> dict[str, Any]:
    """A file of the workspace, named and not sent: the agent reads it with its own tools and under its own rules."""
    full = posixpath.normpath(posixpath.join(cwd, path))
    return {"type": "resource_link", "uri": file_uri(full), "name": posixpath.basename(full) or full}


def file_uri(path: str) -> str:
    return PurePosixPath("/", path).as_uri()


def failure(error: RpcError) -> Failure:
    """What went wrong, in the agent's words; the code is ours and stable, the agent's number stays in `data`."""
    busy = error.code == 429 or 500 <= error.code <= 599
    code = _CODES.get(error.code, "model_error" if busy else "agent_error")
    data: dict[str, Any] = {"rpcCode": error.code}
    detail = error.data
    if detail is not None:
        data["detail"] = detail
    words = explained(error.message, detail) or f"The agent failed with code {error.code}."
    return classified(Failure(words, code, busy, data))
