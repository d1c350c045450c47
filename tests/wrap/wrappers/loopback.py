"""A web server of a test's own, on a TCP port of this machine or on a Unix socket, that ends with its block.

A module with such a server can also be run: `python3 -m MODULE --port N` serves until it is killed. The linter starts them
so beside a wrapped tool (`beside` in its aoi-lint.toml), one for each room, with a network that only the two share.
"""

import argparse
import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Handler(http.server.BaseHTTPRequestHandler):
    """Requests in, JSON out. What to answer is the work of `answer`."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        raise NotImplementedError

    def _answer(self) -> None:
        try:
            self.answer()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # whoever asked has gone

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names that it asks for

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, value: Any, status: int = 200, **headers: str) -> None:
        raw = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, text in headers.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def begin_stream(self) -> None:
        """The head of an answer without a known end; each `chunk` is seen at once."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, raw: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.flush()

    def address_string(self) -> str:
        return "a test"

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class _Tcp(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


class _Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    block_on_close = False


@contextmanager
def serving(handler: type[Handler], path: Path | None = None) -> Iterator[str]:
    """The address of a server: host:port, or the path of its socket."""
    server: socketserver.BaseServer
    if path is None:
        server = _Tcp(("127.0.0.1", 0), handler)
        address = f"127.0.0.1:{server.server_address[1]}"
    else:
        server, address = _Unix(str(path), handler), str(path)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
        thread.join(20)


def serve(handler: type[Handler], port: int) -> None:
    """Serve on this port until the end, and say so once it can be reached."""
    with _Tcp(("127.0.0.1", port), handler) as server:
        print("ready", flush=True)
        server.serve_forever()


def called_with(*files: str) -> argparse.Namespace:
    """The arguments of a server that was run: its port, and these files, each of which may be left out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    for name in files:
        parser.add_argument(f"--{name}", type=Path)
    return parser.parse_args()
