"""Content of the protocol as plain values: text where there is text, and dicts of our own shape where there is more."""

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from operable.host.arm import Message
from operable.kernel.errors import Fail
from operable.wire.acp import ContentBlock


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
