"""JSON text without importing `json`.

Two encoders with the same result. `json_text` is plain Python: right for the handful of small events of a short
command, where anything imported costs more than it saves. `fast_encoder` is the C core that CPython keeps in `_json`,
loaded once a stream turns out to be long or a document is large; importing the public `json` instead would cost 8 ms,
most of an interpreter start. `_json` is private to CPython: where it is missing or has changed shape, `json` takes
its place.

What JSON does not know (records, paths, times) is converted in one place, `_plain`; a guess is refused.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
# A text of this length takes as long to escape in Python as the C escaper takes to load.
_LONG = 400
# Two frames of Python a level: what nests deeper is left to the C encoder, which goes as deep as the interpreter allows.
_DEEPEST = 200


def quote(text: str) -> str:
    """A JSON string."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    if len(text) > _LONG:
        return fast_encoder()[0](text)
    return '"' + "".join([_SHORT.get(c) or (c if c >= " " else f"\\u{ord(c):04x}") for c in text]) + '"'


def json_text(value: Any, depth: int = 0) -> str:
    """One line of compact JSON; ValueError for NaN and too much nesting, TypeError for what is not JSON."""
    kind = value.__class__
    if kind is str:
        return quote(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return int.__repr__(value)
    if depth > _DEEPEST:
        return fast_encoder()[1](value)
    if kind is dict:
        return (
            "{"
            + ",".join([f"{_key(name)}:{json_text(inner, depth + 1)}" for name, inner in value.items()])
            + "}"
        )
    if kind is list or kind is tuple:
        return "[" + ",".join([json_text(inner, depth + 1) for inner in value]) + "]"
    if kind is float:
        if value - value != 0.0:
            raise ValueError("NaN and infinities are not JSON")
        return float.__repr__(value)
    return json_text(_plain(value), depth + 1)


def _key(name: Any) -> str:
    if isinstance(name, str):
        return quote(str.__str__(name))
    if name is None or isinstance(name, bool | int | float):
        return quote(json_text(name))
    msg = f"a key must be a string, not {type(name).__name__}"
    raise TypeError(msg)


# Subclasses, such as the members of an IntEnum, are what they are made of, whatever their own `__str__` says.
_MAKERS: tuple[tuple[type[Any], Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (dict, dict),
    (list, list),
    (tuple, tuple),
    (set, sorted),
    (frozenset, sorted),
)


def _plain(value: Any) -> Any:
    """A JSON value for something that JSON does not know; refuses what would be a guess."""
    if hasattr(value, "__wire_names__") and not isinstance(value, type):
        return value.to_dict()
    for kind, plain in _MAKERS:
        if isinstance(value, kind):
            return plain(value)
    if hasattr(value, "__fspath__"):
        path = value.__fspath__()
        return path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else path
    if hasattr(value, "isoformat"):
        return value.isoformat()
    msg = f"{type(value).__name__} is not a JSON value"
    raise TypeError(msg)


_fast: tuple[Callable[[str], str], Callable[[Any], str]] | None = None


def fast_encoder() -> tuple[Callable[[str], str], Callable[[Any], str]]:
    """`quote` and `json_text` in C; made once."""
    global _fast  # noqa: PLW0603
    if _fast is None:
        _fast = _private_encoder() or _public_encoder()
    return _fast


def _private_encoder() -> tuple[Callable[[str], str], Callable[[Any], str]] | None:
    try:
        from _json import encode_basestring, make_encoder

        encode = make_encoder(None, _plain, encode_basestring, None, ":", ",", False, False, False)
        join = "".join
        if join(encode({"a": [1, None, "é"]}, 0)) == '{"a":[1,null,"é"]}':
            return encode_basestring, lambda value: join(encode(value, 0))
    except (ImportError, TypeError):
        pass  # not CPython, or one that changed its private module
    return None


def _public_encoder() -> tuple[Callable[[str], str], Callable[[Any], str]]:
    import json

    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
    return encoder.encode, encoder.encode


def wire_bytes(text: str) -> bytes:
    """UTF-8 of encoded JSON lines, with nothing in it that could act on a terminal."""
    return harmless(utf8(text))


def utf8(text: str) -> bytes:
    """UTF-8 of any text; a lone surrogate, which has none, is left for `harmless` to replace."""
    return text.encode("utf-8", "surrogatepass")


def harmless(data: bytes) -> bytes:
    """Encoded JSON lines without what a terminal might obey.

    DEL, the C1 controls (some terminals take U+009B for ESC [) and lone surrogates are legal inside a JSON string as far as
    its grammar goes, but must not reach a reader raw: they are escaped, or U+FFFD where no character is meant.
    """
    # C1 controls begin with 0xC2 in UTF-8 and surrogates with 0xED, so most text is seen to be clean at a glance.
    if b"\x7f" not in data and (data.isascii() or (b"\xc2" not in data and b"\xed" not in data)):
        return data
    table: dict[int, str] = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
    table.update((code, "\ufffd") for code in range(0xD800, 0xE000))
    return data.decode("utf-8", "surrogatepass").translate(table).encode("utf-8")
