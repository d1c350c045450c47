"""An agent behind a web address, as little of one as the Model Context Protocol allows: a server with one tool, `prompt`.

A test makes it awkward by overriding one of its parts.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

SCHEMA = {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}

Server = TypeVar("Server", bound=ThreadingHTTPServer)


class McpServer(BaseHTTPRequestHandler):
    """Answers each request with JSON, and repeats what the tool is given."""

    def do_POST(self) -> None:
        self.take(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def do_GET(self) -> None:
        self.listened()

    def do_DELETE(self) -> None:
        self.answer(200, b"")

    def take(self, asked: dict[str, Any]) -> None:
        """One message of the client."""
        if "id" not in asked:
            self.answer(202, b"")
        elif asked["method"] == "initialize":
            facts = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            self.result(asked, facts | {"serverInfo": {"name": "s", "version": "1"}})
        elif asked["method"] == "tools/list":
            self.result(asked, {"tools": [{"name": "prompt", "description": "d", "inputSchema": SCHEMA}]})
        else:
            self.call(asked, asked["params"]["arguments"]["prompt"])

    def listened(self) -> None:
        """The client wants to hear what the server says unasked."""
        self.answer(405, b"")

    def call(self, asked: dict[str, Any], word: str) -> None:
        """The tool is called with this word."""
        self.say(asked, f"You said: {word}")

    def say(self, asked: dict[str, Any], text: str) -> None:
        self.result(asked, {"content": [{"type": "text", "text": text}]})

    def result(self, asked: dict[str, Any], result: dict[str, Any]) -> None:
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode())

    def answer(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody wants to read it."""


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """The server, at work while the block lasts."""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
