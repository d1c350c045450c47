"""The form of a vendor's wire format: how to read what is asked, and how to write a reply piece by piece.

A `Rendering` belongs to one reply. Each method returns the bytes of the stream for one thing that the model does; the
rendering also keeps what it was given, so that `whole` can give the same reply as one document to a client that does not
stream. Dialects do no I/O and never raise for anything that a script may say.

`Asked` is what a model is asked, in one form for all vendors.
"""

import itertools
import json
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from operable.testing.http_edge import EdgeRequest
from operable.testing.script import marked

_numbers = itertools.count(1)


# What a model is asked, in one form for all vendors: who said what, and which tools are on offer.
# `position` finds the place in a script. The server keeps no conversations: the marker in the last prompt that has one
# names the script, and the replies that the model gave since then say how far it has come. So one server serves any
# number of agents and sessions at once, and a resumed session is at the right place by itself.
class Spoken(NamedTuple):
    role: str
    """user, assistant, tool, system"""
    text: str


class Offered(NamedTuple):
    """A tool that the model may call."""

    name: str
    schema: dict[str, Any]
    freeform: bool = False
    """takes text instead of a JSON object"""
    namespace: str = ""


class Asked(NamedTuple):
    model: str
    streamed: bool
    spoken: list[Spoken]
    tools: list[Offered]

    @property
    def prompt(self) -> str:
        """The last thing that a user said."""
        return next((said.text for said in reversed(self.spoken) if said.role == "user"), "")

    @property
    def system(self) -> str:
        return "\n".join(said.text for said in self.spoken if said.role == "system")


class ScriptPosition(NamedTuple):
    script: str | list[Any] | None
    round: int
    """how many replies the model has given since the prompt that names the script"""


def position(asked: Asked) -> ScriptPosition:
    for index in range(len(asked.spoken) - 1, -1, -1):
        said = asked.spoken[index]
        wanted = marked(said.text) if said.role == "user" else None
        if wanted is not None:
            return ScriptPosition(wanted, _replies(asked.spoken[index + 1 :]))
    return ScriptPosition(None, 0)


def _replies(spoken: list[Spoken]) -> int:
    """Runs of what the assistant said: some vendors split one reply into several items."""
    count, before = 0, ""
    for said in spoken:
        if said.role == "assistant" and before != "assistant":
            count += 1
        before = said.role
    return count


def text_of(content: Any) -> str:
    """The text in a vendor's content: a string, or a list of parts of which some have text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


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
    refuses: Callable[[Any], str | None] = lambda _: None
    """the vendor's words about what is wrong with the body of a request (`vendor_rules`), or None"""


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
