"""An editor at `/acp/NAME` of a daemon: a WebSocket made with wsproto, as the transport of the official SDK."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import acp
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)

from tests.agent.acp_editor import PATIENCE, Editor
from tests.serve.daemon import Client


class RefusedError(Exception):
    """There is no socket: the status and the error of the answer."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status, body)
        self.status, self.headers = status, headers
        self.code = json.loads(body)["error"]["code"] if body else ""


class Socket:
    """One WebSocket, as the transport that the SDK takes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._connection = WSConnection(ConnectionType.CLIENT)
        self._parts: list[str] = []
        self.closed: int | None = None  # the code with which the server closed it

    async def open(self, host: str, path: str, headers: list[tuple[bytes, bytes]]) -> None:
        self._writer.write(self._connection.send(Request(host=host, target=path, extra_headers=headers)))
        refused, body = None, b""
        while True:
            for event in await self._more():
                if isinstance(event, AcceptConnection):
                    return
                if isinstance(event, RejectConnection):
                    refused = event
                if isinstance(event, RejectData):
                    body += bytes(event.data)
                    if event.body_finished and refused is not None:
                        found = {name.decode().lower(): value.decode() for name, value in refused.headers}
                        raise RefusedError(refused.status_code, found, body)

    async def _more(self) -> list[Any]:
        data = await asyncio.wait_for(self._reader.read(65_536), PATIENCE)
        self._connection.receive_data(data or None)
        return list(self._connection.events())

    async def receive(self) -> dict[str, Any] | None:
        waiting: list[dict[str, Any]] = getattr(self, "_waiting", [])
        self._waiting = waiting
        while not waiting and self.closed is None:
            for event in await self._more():
                if isinstance(event, TextMessage):
                    self._parts.append(event.data)
                    if event.message_finished:
                        waiting.append(json.loads("".join(self._parts)))
                        self._parts = []
                elif isinstance(event, Ping):
                    self._writer.write(self._connection.send(event.response()))
                elif isinstance(event, CloseConnection):
                    self.closed = event.code
        return waiting.pop(0) if waiting else None

    async def send(self, message: dict[str, Any]) -> None:
        await self.say(json.dumps(message))

    async def say(self, data: str | bytes) -> None:
        """A frame that need not be a message of the protocol."""
        message = BytesMessage(data) if isinstance(data, bytes) else TextMessage(data)
        self._writer.write(self._connection.send(message))
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def socket_at(
    client: Client, path: str = "/acp/scripted", headers: dict[str, str] | None = None
) -> AsyncIterator[Socket]:
    """A socket that is open. Raises RefusedError."""
    place = urlsplit(client.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        made = Socket(reader, writer)
        given = {"authorization": f"Bearer {client.token}"} if client.token else {}
        given |= headers or {}
        host = given.pop("host", place.netloc)
        await made.open(host, path, [(name.encode(), value.encode()) for name, value in given.items()])
        yield made
    finally:
        writer.close()


@asynccontextmanager
async def editing(client: Client, answer: str = "allow_once") -> AsyncIterator[tuple[Editor, Any]]:
    """(editor, connection) of an editor that has said hello."""
    editor = Editor(answer)
    async with socket_at(client) as transport:
        connection = acp.connect_to_agent(editor, transport, use_unstable_protocol=True)  # type: ignore[arg-type]
        try:
            info = acp.schema.Implementation(name="zed", version="1")
            hello = connection.initialize(protocol_version=1, client_info=info)
            editor.hello = await asyncio.wait_for(hello, PATIENCE)  # type: ignore[attr-defined]
            yield editor, connection
        finally:
            await connection.close()
