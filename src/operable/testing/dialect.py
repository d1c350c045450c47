"""The form of a vendor's wire format: how to read what is asked, and how to write a reply piece by piece.

A `Rendering` belongs to one reply. Each method returns the bytes of the stream for one thing that the model does; the
rendering also keeps what it was given, so that `whole` can give the same reply as one document to a client that does not
stream. Dialects do no I/O and never raise for anything that a script may say.
"""

import itertools
import json
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from operable.testing.http_edge import EdgeRequest
from operable.testing.model_request import Asked, Offered

_numbers = itertools.count(1)


class TokenUsage(NamedTuple):
    """Tokens. `input` does not contain what was read from or written to a cache."""

    input: int = 100
    output: int = 20
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0


class Rendering(Protocol):
    content_type: str

    def open(self) -> bytes: ...
    def say(self, text: str) -> bytes: ...
    def think(self, text: str) -> bytes: ...
    def call(self, call_id: str, tool: Offered, arguments: Any) -> bytes: ...
    def close(self, reason: str) -> bytes: ...
    def fail(self, kind: str, message: str) -> bytes: ...
    def whole(self, reason: str) -> Any: ...


class Dialect(NamedTuple):
    matches: Callable[[EdgeRequest], bool]
    """whether a request is a question to the model in this dialect"""
    read: Callable[[EdgeRequest], Asked]
    render: Callable[[Asked, TokenUsage], Rendering]
    failure: Callable[[int, str], Any]
    """the body of an answer with an error status"""
    other: Callable[[EdgeRequest], Any]
    """the answer to the vendor's other requests (lists of models, counting tokens), or None"""


def new_id(prefix: str) -> str:
    """An identifier that no other reply of this process has."""
    return f"{prefix}{next(_numbers):08}"


def sse(data: Any, event: str | None = None) -> bytes:
    """One server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def halves(text: str) -> list[str]:
    """In two, so that code that joins pieces of arguments has something to join."""
    middle = len(text) // 2
    return [text[:middle], text[middle:]] if middle else [text]


MODELS = ["claude-sonnet-5", "gpt-5.5", "gemini-3-pro", "scripted-model"]
"""What lists of models contain: one name per vendor that its client knows, and ours."""
