"""What a note may be made of. Each function returns the clean value or fails, naming the field.

Text must be storable (UTF-8, no NUL) and names must be usable on a command line; nothing else is forbidden.
"""

from operable.tool import Fail

MAX_TITLE = 1000
MAX_BODY = 8 * 1024 * 1024  # characters; a note, not a file store: one event must fit into a line of 16 MiB
MAX_NAME = 255
MAX_TAGS = 100
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_TIME = "0000-00-00T00:00:00"


def title(value: str) -> str:
    value = _text("title", value, MAX_TITLE).strip()
    if not value:
        raise _invalid("title", "is empty")
    return _one_line("title", value)


def body(value: str) -> str:
    return _text("body", value, MAX_BODY)


def folder(value: str) -> str:
    """`/work//ideas/` -> `work/ideas`; the top is the empty string."""
    parts = [part.strip() for part in _one_line("folder", _text("folder", value, MAX_NAME)).split("/")]
    if any(part in (".", "..") for part in parts):
        raise _invalid("folder", "has a part that is . or ..")
    return "/".join(part for part in parts if part)


def tags(values: "list[str]") -> "list[str]":
    """Sorted, each once."""
    clean = {_one_line("tag", _text("tag", value, MAX_NAME)).strip() for value in values}
    if "" in clean:
        raise _invalid("tag", "is empty")
    if len(clean) > MAX_TAGS:
        raise _invalid("tags", f"are more than {MAX_TAGS}")
    return sorted(clean)


def note_id(value: str) -> str:
    if not value or len(value) > MAX_NAME or not _ID_CHARACTERS.issuperset(value) or value[0] in "-.":
        raise _invalid(
            "id", "must be made of letters, digits, _, - and . and begin with a letter, a digit or _"
        )
    return value


def timestamp(name: str, value: str) -> str:
    """ISO 8601 in UTC: 2026-01-31T12:00:00Z, with fractions of a second if you like."""
    shape = "".join("0" if char in "0123456789" else char for char in value[:19])
    fraction = value[19:-1]
    good_fraction = not fraction or (
        fraction[0] == "." and 2 <= len(fraction) <= 10 and fraction[1:].isdecimal()
    )
    if shape != _TIME or not value.endswith("Z") or not good_fraction or not value.isascii():
        raise _invalid(name, "must be a time like 2026-01-31T12:00:00Z")
    return value


def version(value: int) -> int:
    if not 1 <= value < 2**53:
        raise _invalid("version", "must be at least 1")
    return value


def _text(name: str, value: str, limit: int) -> str:
    if len(value) > limit:
        raise _invalid(name, f"is longer than {limit} characters")
    if "\0" in value:
        raise _invalid(name, "has a NUL character")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _invalid(name, "is not valid Unicode text (half of a surrogate pair)") from None
    return value


def _one_line(name: str, value: str) -> str:
    if not value.isprintable():
        raise _invalid(name, "has a line break or another control character")
    return value


def _invalid(name: str, problem: str) -> "Fail":
    return Fail("validation", "INVALID_NOTE", f"{name} {problem}", target=name)
