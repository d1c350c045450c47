"""What was said so far, as plain values: the messages that go to a model and into the session file.

A history is a list of `HistoryTurn`s, alternating between the user and the assistant; tool results are blocks of the user's
turn, as every vendor has it in one way or another. Providers translate these blocks to their own wire format and
back.
"""

from typing import Any, Literal

import msgspec


class TextBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="text"):
    text: str


class ImageBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="image"):
    media_type: str
    data: str  # base64


class ThinkingBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="thinking"):
    """Reasoning that must be given back unchanged; `signature` and `data` are the provider's own."""

    text: str
    signature: str = ""
    data: Any = None


class ToolUseBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="tool_use"):
    call_id: str
    name: str
    arguments: Any


class ToolOutputBlock(msgspec.Struct, frozen=True, omit_defaults=True, tag="tool_result"):
    call_id: str
    text: str
    is_error: bool = False
    image: ImageBlock | None = None


Block = TextBlock | ImageBlock | ThinkingBlock | ToolUseBlock | ToolOutputBlock


class HistoryTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


class Tokens(msgspec.Struct, frozen=True):
    """What model calls have used; the names of the JSON-stream protocol."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )
