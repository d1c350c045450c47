"""What was said so far, as plain values: the messages that go to a model and into the session file.

A history is a list of `HistoryTurn`s, alternating between the user and the assistant; tool results are blocks of the user's
turn, as every vendor has it in one way or another. Providers translate these blocks to their own wire format and
back.

`blocks` makes them of a message: its text, the files that it names, and the images that the model can see.
"""

import base64
import os
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from operable.state.real_file import read_file

IMAGE_LIMIT = 20 * 1024 * 1024
# The first bytes decide what an image is, not its name.
_MAGIC = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


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


def blocks(text: str, files: Sequence[str], workspace: str, *, images: bool) -> list[Block]:
    """The user's turn. Files are named in the text, as the reference agent does; images come along when they can be seen."""
    if not files:
        return [TextBlock(text)]
    missing = set(missing_files(files, workspace))
    listed = "\n".join(f"{path} (there is no such file)" if path in missing else path for path in files)
    places = (os.path.join(workspace, path) for path in files)
    pictures = [picture for path in places if images and (picture := image(path)) is not None]
    return [TextBlock(f"{text.strip()}\n\n[Attached files]\n{listed}"), *pictures]


def missing_files(files: Sequence[str], workspace: str) -> list[str]:
    """Those that do not exist: the user and the model learn it before they look for them."""

    def exists(path: str) -> bool:
        try:
            return os.path.exists(os.path.join(workspace, path))
        except ValueError:  # a NUL
            return False

    return [path for path in files if not exists(path)]


def image(path: str) -> ImageBlock | None:
    """The image in this file; Returns None if models do not accept its type, or it is too large."""
    try:
        data, _ = read_file(os.path.realpath(path), IMAGE_LIMIT)
    except (OSError, ValueError):
        return None
    media_type = media_type_of(data)
    return None if media_type is None else ImageBlock(media_type, base64.b64encode(data).decode("ascii"))


def media_type_of(data: bytes) -> str | None:
    """png, jpeg, gif or webp, by the first bytes."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC.items() if data.startswith(magic)), None)
