r"""Text behind encodings: percent-encoding, escapes of string literals, character references, codes of a terminal.

`forms` lists the spellings that encoders produce. This is for the others: every character escaped (`%7A%45`, `\u007a`,
`\x7a`, `&#122;`), some characters escaped, encodings inside encodings, and codes of colour or links in the middle, with
control characters of 7 or 8 bits.

Theory of operation. A unit is one escaped character, or one code of a terminal. `decoded` decodes all units of a text, then
those of the result, LEVELS times; the caller searches each level, and `Views` maps what it found back to the text. Texts
are "byte texts" here: each character is one byte of UTF-8, so that `%C3%A9` and `\u00e9` are the same. Cost is linear, and
one search for each mark in a text that has none. Not decoded: encodings that are not made of units (compression,
encryption, hex with separators, base64 that is wrapped somewhere inside the secret).
"""

import re
from bisect import bisect_right
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LEVELS = 3  # an escape in a literal in an address in a log
LONGEST_UNIT = 512  # of the longest unit that is held back at the end of a piece: a link of a terminal
# What is a reason to decode. The usual escapes of a literal (`\\n`, `\\"`) alone are not: `forms` has those.
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPE = re.compile(r"\\[uxU/\\0-3]")
_REFERENCE = re.compile(r"&(?:#|(?:amp|lt|gt|quot|apos);)")
_EIGHT_BITS = re.compile(
    "[\x80-\x9f\udc80-\udc9f]"
)  # control characters, also those of bytes that are not UTF-8
_COMMON, _COMMON_SIZE = 2000, 12  # units that are remembered, and their size
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_SIMPLE = dict(zip("nrtbfvae", "\n\r\t\b\f\v\a\x1b", strict=True))
_CONTINUATION = bytes(range(0x80, 0xC0))

# A control character of 8 bits, in a byte text: U+0080 to U+009F in UTF-8, a byte that is not UTF-8 (a surrogate), the byte
# itself, decoded from `%9b`, behind a whole character.
_C1 = (
    r"(?:\xc2|\xed\xb2|(?<![\x80-\xff])|(?<=[\xc2-\xdf][\x80-\xbf])"
    r"|(?<=[\xe0-\xef][\x80-\xbf]{2})|(?<=[\xf0-\xf4][\x80-\xbf]{3}))"
)
_CSI = rf"(?:\x1b\[|{_C1}\x9b)"
# A string (a link, a title, a picture), what it contains, and its end.
_STRING = rf"(?:\x1b[\]PX^_]|{_C1}[\x90\x98\x9d-\x9f])"
_CONTENT = r"[^\x07\x1b]{0,400}"
_STRING_END = rf"(?:\x07|\x1b\\|{_C1}\x9c)"

_HIGH = r"\\u[dD][89abAB][0-9A-Fa-f]{2}"
_UNITS = (
    r"%[0-9A-Fa-f]{2}"
    rf"|{_HIGH}\\u[dD][c-fC-F][0-9A-Fa-f]{{2}}"
    r"|\\(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[0-3][0-7]{2}|[\\/\"'nrtbfvae])"
    r"|&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);"
    rf"|{_CSI}[0-?]{{0,64}}+[ -/]{{0,8}}+[@-~]|{_STRING}{_CONTENT}?{_STRING_END}"
    rf"|\x1b[ -/]{{0,8}}+[0-Z^-~\\]|{_C1}[\x80-\x9a\x9c-\x9f]"
)
# A unit that the end of the text cuts off. Whole ones come first: no unit begins inside another.
_BEGUN = (
    rf"({_HIGH}(?:\\(?:u[0-9A-Fa-f]{{0,3}})?)?\Z"
    rf"|{_STRING}(?!{_CONTENT}?{_STRING_END}){_CONTENT}+\x1b?\Z)|{_UNITS}|("
    r"%[0-9A-Fa-f]?\Z"
    r"|\\(?:u(?:[0-9A-Fa-f]{0,3}|\{[0-9A-Fa-f]{0,6})|U[0-9A-Fa-f]{0,7}|x[0-9A-Fa-f]?|[0-3][0-7]?)?\Z"
    r"|&(?:#(?:[0-9]{0,7}|[xX][0-9A-Fa-f]{0,6})|[a-z]{0,4})\Z"
    rf"|{_CSI}[0-?]{{0,64}}+[ -/]{{0,8}}+\Z|\x1b[ -/]{{0,8}}+\Z|\xc2\Z|\xed\xb2?\Z)"
)


class Views:
    """The levels of one byte text, with the place in it of every character of each. `plain` is the last level."""

    def __init__(self, text: str, levels: int = 0) -> None:
        self.plain = text
        self._levels: list[_Units] = []
        for _ in range(levels):
            self.descend()

    def descend(self) -> bool:
        """One level more. Returns False if the last one has no units."""
        units = _Units(self.plain)
        if not units.any:
            return False
        self._levels.append(units)
        self.plain = units.plain
        return True

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The place in the text of a place in the last level. An empty place is that of the character behind it."""
        for units in reversed(self._levels):
            last = units.origin(end - 1)[1] if end > start else -1
            start = units.origin(start)[0]
            end = max(start, last)
        return start, end

    def drop(self, start: int) -> int:
        """Forget the last level from here on. Returns where that is in the text."""
        place = self.origin(start, start)[0]
        self.plain = self.plain[:start]
        return place


class _Units:
    """The units of one level."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self._starts: list[int] = []  # where each unit is when it is decoded
        self._sizes: list[int] = []  # of what it is then
        self._places: list[tuple[int, int]] = []  # where it is in the text
        done = size = 0
        for found in _compiled(_UNITS).finditer(text):
            begin, end = found.span()
            plain = _PLAIN[found[0]]
            pieces += text[done:begin], plain
            size += begin - done
            self._starts.append(size)
            self._sizes.append(len(plain))
            self._places.append((begin, end))
            size += len(plain)
            done = end
        self.plain = "".join([*pieces, text[done:]])
        self.any = bool(self._starts)

    def origin(self, at: int) -> tuple[int, int]:
        """Where the character is in the text: its first place, and the place after it."""
        index = bisect_right(self._starts, at) - 1
        if index < 0:
            return at, at + 1
        inside, (begin, end) = at - self._starts[index], self._places[index]
        if inside < self._sizes[index]:
            return begin, end
        place = end + inside - self._sizes[index]
        return place, place + 1


def is_encoded(text: str) -> bool:
    """Whether the text has a unit that is a reason to decode it."""
    return (
        "\x1b" in text
        or not (text.isascii() or _EIGHT_BITS.search(text) is None)
        or ("%" in text and _PERCENT.search(text) is not None)
        or ("\\" in text and _ESCAPE.search(text) is not None)
        or ("&" in text and _REFERENCE.search(text) is not None)
    )


def as_bytes(text: str) -> str:
    """The byte text of a text."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def decoded(text: str) -> "Iterator[str]":
    """What a byte text hides, level by level."""
    for _ in range(LEVELS):
        plain = _compiled(_UNITS).sub(_of_unit, text)
        if plain == text:
            return
        yield plain
        text = plain


def may_continue(text: str) -> bool:
    """Whether the end of the text may belong to a unit, or follows one."""
    return (
        "\\" in text
        or "%" in text
        or "&" in text
        or "\x1b" in text
        or not (text.isascii() or _EIGHT_BITS.search(text) is None)
    )


def begun(text: str) -> int:
    """Where a unit begins that the end of the text cuts off; the length of the text if nothing matches."""
    for found in _compiled(_BEGUN).finditer(text):
        if found.lastindex is not None:
            return found.start()
    return len(text)


def characters(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in a byte text, in order, as places in the text that it is the byte text of."""
    raw = text.encode("utf-8", "surrogatepass")
    found: list[tuple[int, int]] = []
    at = passed = 0
    for start, end in places:
        marks = []
        for place in (start, end):
            passed += len(raw[at:place].translate(None, _CONTINUATION))
            at = place
            marks.append(passed)
        found.append((marks[0], marks[1]))
    return found


@cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    """Not at import: it takes a millisecond, and most texts have no units."""
    return re.compile(pattern)


class _Plain(dict[str, str]):
    """Unit -> what it stands for. Remembers the common ones: output repeats them."""

    def __missing__(self, unit: str) -> str:
        plain = _plain(unit)
        if len(unit) <= _COMMON_SIZE and len(self) < _COMMON:
            self[unit] = plain
        return plain


_PLAIN = _Plain()


def _of_unit(found: "re.Match[str]") -> str:
    return _PLAIN[found[0]]


def _plain(unit: str) -> str:
    mark = unit[0]
    if mark not in "%&\\":
        return ""  # a code of a terminal
    if mark == "%":
        return chr(int(unit[1:], 16))
    if mark == "&":
        return _reference(unit[1:-1])
    kind, digits = unit[1], unit[2:].strip("{}")
    if kind in "uU":
        if "\\" in digits:
            high, low = int(digits[:4], 16), int(digits[6:], 16)
            return _character(0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF))
        return _character(int(digits, 16))
    if kind == "x":
        return chr(int(digits, 16))
    return chr(int(unit[1:], 8)) if digits else _SIMPLE.get(kind, kind)


def _reference(name: str) -> str:
    if name[0] != "#":
        return _NAMED[name]
    return _character(int(f"0{name[1:]}", 0) if name[1] in "xX" else int(name[1:]))


def _character(number: int) -> str:
    return as_bytes(chr(number)) if number <= 0x10FFFF else ""
