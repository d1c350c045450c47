"""What a server answers, as plain values: content, log messages, errors, and what it says about itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from operable.host.arm import Opened
from operable.wire.events import Failure
from operable.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError

_CODES: Final = {
    INVALID_PARAMS: "invalid_request",
    INVALID_REQUEST: "invalid_request",
    METHOD_NOT_FOUND: "unsupported",
    -32001: "timeout",
    -32000: "agent_error",
}


def said(content: Any) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """The text of a result, and what is not text: a sentence about it and the data."""
    texts: list[str] = []
    media: list[tuple[str, dict[str, Any]]] = []
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        text = _text(block)
        if text is not None:
            texts.append(text)
            continue
        names = {"type": "kind", "mimeType": "mediaType", "uri": "uri", "data": "data"}
        shown = {ours: block[theirs] for theirs, ours in names.items() if isinstance(block.get(theirs), str)}
        media.append((f"The agent shows {shown.get('kind', 'something')}.", shown))
    return "\n".join(texts), media


def _text(block: Mapping[str, Any]) -> str | None:
    if isinstance(block.get("text"), str):
        return str(block["text"])
    if block.get("type") == "resource_link" and isinstance(block.get("uri"), str):
        return f"[{block.get('name') or block['uri']}]({block['uri']})"
    resource = block.get("resource")
    if isinstance(resource, dict) and isinstance(resource.get("text"), str):
        return str(resource["text"])
    return None


def logged(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A log message of the server: its words, and where they come from."""
    data = params.get("data")
    names = {name: params[name] for name in ("level", "logger") if isinstance(params.get(name), str)}
    if isinstance(data, str):
        return data, names
    message = data.get("msg") or data.get("message") if isinstance(data, dict) else None
    return (message, names) if isinstance(message, str) else ("", {**names, "data": data})


def failure(error: RpcError) -> Failure:
    data: dict[str, Any] = {"rpcCode": error.code}
    if error.data is not None:
        data["detail"] = error.data
    message = error.message or f"The agent failed with code {error.code}."
    return Failure(message, _CODES.get(error.code, "agent_error"), error.code == -32001, data)


def opened(answer: Mapping[str, Any], version: str) -> Opened:
    """What the server said in the handshake."""
    info = answer.get("serverInfo")
    info = info if isinstance(info, dict) else {}
    said_of = answer.get("capabilities")
    words = {name: True for name in said_of if isinstance(name, str)} if isinstance(said_of, dict) else {}
    name, release = info.get("name"), info.get("version")
    return Opened(
        None,
        name if isinstance(name, str) else "",
        release if isinstance(release, str) else "",
        version,
        words,
        observed={"multimodal": False},
    )


def with_session(opened: Opened, agent_session_id: str | None, *, resumable: bool) -> Opened:
    observed = {**opened.observed, "resumable": resumable}
    return replace(opened, agent_session_id=agent_session_id, observed=observed)
