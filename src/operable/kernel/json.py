"""JSON at the edges: read strictly, written so that every line can be read, and never deeper than writers can write.

`parse` reads RFC 8259 and nothing more. NaN and infinities are refused, also as numbers beyond every double (1e999), and
so is text that is not UTF-8 or nests too deep; every refusal is a ValueError. What a lone surrogate becomes is the
caller's decision: JSON can spell one, UTF-8 cannot. Callers with the rules of another language (`flow.canonical`) give
their own numbers and objects.

`json_line` writes one line whatever text a value contains. It does not judge: hot paths that read use msgspec themselves.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, Literal, NoReturn

DEEPEST: Final = 200
"""Levels that every writer of ours, and of the libraries that we use, can write."""


class TooDeepError(ValueError):
    """More lists and objects inside of each other than the caller allows."""


def parse(
    text: str | bytes,
    *,
    levels: int | None = DEEPEST,
    surrogates: Literal["keep", "refuse", "replace"] = "keep",
    control_characters: bool = False,
    read_integer: Callable[[str], Any] | None = None,
    read_double: Callable[[str], Any] | None = None,
    read_object: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """The value of a JSON text. Raises ValueError if it is not one. `levels` None: as deep as the interpreter goes.

    `surrogates` says what happens to lone ones. `control_characters`: they may be in a text as they are.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if surrogates != "keep" and "\\ud" in text.lower():
        text = _without_surrogates(text, replace=surrogates == "replace")
    try:
        value = json.loads(
            text,
            strict=not control_characters,
            parse_constant=_refuse,
            parse_int=read_integer,
            parse_float=read_double or _finite,
            object_pairs_hook=read_object,
        )
    except RecursionError:
        raise TooDeepError("it is nested too deeply") from None
    if levels is not None and too_deep(value, levels):
        raise TooDeepError("it is nested too deeply")
    return value


def _without_surrogates(text: str, *, replace: bool) -> str:
    try:
        plain = json.dumps(json.loads(text), ensure_ascii=False)
    except RecursionError:
        raise TooDeepError("it is nested too deeply") from None
    if not replace:
        plain.encode()  # UnicodeEncodeError is a ValueError
        return text
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if number - number == 0 else _refuse(digits)


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


def repeated_names(text: str | bytes) -> set[str]:
    """The names that appear twice in one object: readers differ in which value they take. Raises ValueError."""
    names: set[str] = set()

    def note(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        names.update(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]

    parse(text, levels=None, read_double=float, read_object=note)
    return names


def too_deep(value: Any, levels: int = DEEPEST) -> bool:
    """Whether there are more than so many lists and objects inside of each other."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        if not level:
            return False
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [inner for values in inside for inner in values if isinstance(inner, dict | list)]
    return bool(level)


_encode: Callable[[Any], bytes] | None = None


def json_line(value: Any, *, other: Callable[[Any], Any] | None = None) -> bytes:
    """One line of JSON with its line end. A lone surrogate, which UTF-8 cannot hold, becomes `?`.

    Several agents end at the first line that they cannot read. `value` may contain structs of msgspec; `other` makes plain
    values of types that neither JSON nor msgspec has.
    """
    global _encode  # noqa: PLW0603 - msgspec is loaded by the first call
    if _encode is None:
        from msgspec.json import Encoder

        _encode = Encoder().encode
    try:
        return (_encode(value) if other is None else _encode_with(value, other)) + b"\n"
    except UnicodeEncodeError:
        from msgspec import to_builtins

        plain = to_builtins(value, enc_hook=other)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _encode_with(value: Any, other: Callable[[Any], Any]) -> bytes:
    from msgspec.json import encode

    return encode(value, enc_hook=other)
