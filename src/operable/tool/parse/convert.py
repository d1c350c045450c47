"""Words of the command line as values: strict, so that a slip is a complaint and never a surprise."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.declare.kinds import ValueKind

FLAG, WORD, POSITIVE, COUNT, SECONDS, DIGEST = "flag", "word", "positive", "count", "seconds", "digest"

# Standard options and the form of their value.
STANDARD: dict[str, str] = {
    "output": WORD,
    "format": WORD,
    "schema-version": WORD,
    "accept-schema": WORD,
    "timeout": SECONDS,
    "no-color": FLAG,
    "debug": FLAG,
    "help": FLAG,
    "limit": POSITIVE,
    "cursor": WORD,
    "max-bytes": POSITIVE,
    "max-lines": POSITIVE,
    "dry-run": FLAG,
    "confirm": DIGEST,
    "confirm-count": COUNT,
    "idempotency-key": WORD,
    "input-json": WORD,
    "input-jsonl": WORD,
    "continue-on-error": FLAG,
    "fail-fast": FLAG,
}


def convert(text: str, kind: ValueKind) -> Any:
    """A word of the command line as a value of its kind; raises ValueError with what the word must be."""
    base = kind.base
    if base == "string":
        if not is_text(text):  # a word that is not UTF-8 arrives with lone surrogates
            raise ValueError("must be UTF-8")
        return text if kind.model is None else kind.model(text)
    if base in ("integer", "number"):
        number = plain_number(text, whole=base == "integer")
        if number is not None:
            return number
        raise ValueError("must be a whole number" if base == "integer" else "must be a number")
    if base == "boolean" and text in ("true", "false"):
        return text == "true"
    if base == "boolean":
        raise ValueError("must be true or false")
    if base == "choice":
        for choice in kind.choices:
            if spelled(choice) == text:
                return choice
        raise ValueError(f"must be one of {', '.join(map(spelled, kind.choices))}")
    return _any_of(text, kind)


def _any_of(text: str, kind: ValueKind) -> Any:
    """Of several kinds, the first that the word fits, text last: `5` is a number wherever a number may be."""
    wanted = []
    for option in sorted(kind.options, key=lambda option: option.base == "string"):
        try:
            return convert(text, option)
        except ValueError as problem:
            wanted.append(str(problem).removeprefix("must be "))
    if wanted or not is_text(text):
        raise ValueError(f"must be {' or '.join(wanted) or 'UTF-8'}")
    return text


def spelled(choice: Any) -> str:
    """A choice as one writes it on the command line."""
    return str(choice).lower() if isinstance(choice, bool) else str(choice)


def plain_number(text: str, *, whole: bool) -> float | None:
    """A finite number in plain ASCII digits. Python itself would also take `1_000`, ` 5` and Arabic digits."""
    if not text.isascii() or "_" in text or text != text.strip():
        return None
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        return None
    return number if number - number == 0 else None


def is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
