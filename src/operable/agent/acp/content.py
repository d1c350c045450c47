"""What a client sends along: the blocks of a prompt as blocks of the history, and the MCP servers of a session."""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from acp import RequestError
from acp.schema import (
    EmbeddedResourceContentBlock,
    HttpMcpServer,
    ImageContentBlock,
    McpServerStdio,
    ResourceContentBlock,
    SseMcpServer,
    TextContentBlock,
    TextResourceContents,
)

from operable.agent.session.history import Block, ImageBlock, TextBlock
from operable.wire.json_stream import AddMcpServerFrame

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def blocks(prompt: Sequence[Any], *, images: bool) -> list[Block]:
    """The turn of the user. Neighbouring pieces of text are one text, as they were in the editor."""
    said: list[str] = []
    pictures: list[Block] = []
    for block in prompt:
        match block:
            case TextContentBlock(text=text):
                said.append(text)
            case ResourceContentBlock(name=name, uri=uri):
                said.append(f"[@{name}]({_path(uri)})")
            case EmbeddedResourceContentBlock(resource=TextResourceContents(uri=uri, text=text)):
                said.append(f"\n<context ref={_path(uri)!r}>\n{text}\n</context>\n")
            case ImageContentBlock(data=data, mime_type=kind) if images and kind in _IMAGES:
                pictures.append(ImageBlock(kind, data))
            case ImageContentBlock(mime_type=kind):
                raise _refused(f"The model does not see images of type {kind}")
            case _:
                raise _refused(f"A prompt cannot contain {getattr(block, 'type', 'this')}")
    text = "".join(said)
    if not text.strip() and not pictures:
        raise _refused("The prompt is empty")
    return [*([TextBlock(text)] if text.strip() else []), *pictures]


def mcp_servers(servers: Iterable[Any] | None) -> list[AddMcpServerFrame]:
    """The servers as the agent's own command for them."""
    return [_mcp_server(server) for server in servers or ()]


def _mcp_server(server: Any) -> AddMcpServerFrame:
    match server:
        case McpServerStdio(name=name, command=command, args=args, env=env):
            variables = {variable.name: variable.value for variable in env}
            return AddMcpServerFrame(
                name=name, transport="stdio", command=command, args=tuple(args), env=variables
            )
        case HttpMcpServer(name=name, url=url, headers=headers):
            given = {header.name: header.value for header in headers}
            return AddMcpServerFrame(name=name, transport="streamable-http", url=url, headers=given)
        case SseMcpServer(name=name, url=url, headers=headers):
            given = {header.name: header.value for header in headers}
            return AddMcpServerFrame(name=name, transport="sse", url=url, headers=given)
    raise _refused("An MCP server is reached over stdio, http or sse")


def _path(uri: str) -> str:
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _refused(message: str) -> RequestError:
    return RequestError.invalid_params({"message": message})
