"""What a message brings along: its text, the files it names, and those of them that are images the model can see."""

import base64
import os
from collections.abc import Sequence

from operable.agent.session.history import Block, ImageBlock, TextBlock
from operable.state.real_file import read_file

IMAGE_LIMIT = 20 * 1024 * 1024
# The first bytes decide what an image is, not its name.
_MAGIC = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def blocks(text: str, files: Sequence[str], workspace: str, *, images: bool) -> list[Block]:
    """The user's turn. Files are named in the text, as the reference agent does; images come along when they can be seen."""
    if not files:
        return [TextBlock(text)]
    listed = "\n".join(files)
    places = (os.path.join(workspace, path) for path in files)
    pictures = [picture for path in places if images and (picture := image(path)) is not None]
    return [TextBlock(f"{text.strip()}\n\n[Attached files]\n{listed}"), *pictures]


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
