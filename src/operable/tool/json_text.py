"""JSON text without importing `json`.

CPython keeps the C core of its encoder in `_json`; using it directly saves the 8 ms that `import json` costs a cold process
(it imports `re`, `enum` and more). `_json` is private to CPython, so when it is missing or has changed shape the public
package takes over. What the two do not know (records, paths, times) is converted in one place, `_plain`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _plain(value: Any) -> Any:
    """A JSON value for something that JSON does not know; refuses what would be a guess."""
    if hasattr(value, "__fields__"):
        return value.to_dict()
    if hasattr(value, "__fspath__"):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, set | frozenset | tuple):
        return sorted(value) if not isinstance(value, tuple) else list(value)
    msg = f"{type(value).__name__} is not a JSON value"
    raise TypeError(msg)


quote: Callable[[str], str]
json_text: Callable[[Any], str]

try:
    from _json import encode_basestring, make_encoder

    _encode = make_encoder(None, _plain, encode_basestring, None, ":", ",", False, False, False)
    if "".join(_encode({"a": [1, None, "é"]}, 0)) != '{"a":[1,null,"é"]}':  # pragma: no cover - a foreign `_json`
        raise ImportError("unexpected _json")

    quote = encode_basestring

    def json_text(value: Any) -> str:
        """One line of compact JSON; NaN and infinities raise ValueError."""
        return "".join(_encode(value, 0))

except (ImportError, TypeError):  # pragma: no cover - not CPython, or one that changed its private module
    import json

    _encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
    quote = json.JSONEncoder(ensure_ascii=False).encode
    json_text = _encoder.encode


def array_text(values: Any) -> str:
    """A JSON array of records, each with its own generated encoder; anything else takes the general path."""
    try:
        return f"[{','.join([value.to_json() for value in values])}]"
    except AttributeError:
        return json_text(values)


# DEL, the C1 controls (some terminals obey U+009B like ESC [) and lone surrogates (not encodable) are legal inside a JSON
# string as far as its grammar goes, but must not reach a reader raw: escaped, or U+FFFD where no character is meant.
_UNSAFE = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)} | {code: "�" for code in range(0xD800, 0xE000)}


def wire_bytes(text: str) -> bytes:
    """UTF-8 of encoded JSON lines, with nothing in it that could act on a terminal."""
    if text.isascii():
        return text.replace("\x7f", "\\u007f").encode("ascii") if "\x7f" in text else text.encode("ascii")
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        return text.translate(_UNSAFE).encode("utf-8")
    # C1 controls are 0xC2 0x80..0x9F in UTF-8, so without a 0xC2 there is none.
    if b"\xc2" in data or b"\x7f" in data:
        return text.translate(_UNSAFE).encode("utf-8")
    return data
