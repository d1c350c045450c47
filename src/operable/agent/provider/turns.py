"""What every provider does to the pieces of an answer on their way in.

JSON can contain a lone surrogate, and models and servers do; nothing that we write to a host or a
file can. So every piece is made writable before it is passed on.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from operable.agent.provider.model import ModelCall, ModelText, ModelThought, Piece


def called(call_id: str, name: str, arguments: str) -> ModelCall:
    """A call whose arguments came as text; no text at all means no arguments."""
    parsed: Any
    try:
        parsed = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, Mapping):
        return ModelCall(call_id, name, {}, malformed=arguments)
    return ModelCall(call_id, name, parsed)


def writable(piece: Piece) -> Piece:
    """The same piece; half characters in it are replaced."""
    match piece:
        case ModelText(text) if not _is_writable(text):
            return ModelText(mended(text))
        case ModelThought(text) if not _is_writable(text):
            return replace(piece, text=mended(text))
        case ModelCall(call_id, name, arguments, malformed):
            written = json.dumps([call_id, name, arguments, malformed], ensure_ascii=False)
            if not _is_writable(written):
                return ModelCall(*json.loads(mended(written)))
    return piece


def mended(text: str) -> str:
    """Pairs of halves joined; what has no other half becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
