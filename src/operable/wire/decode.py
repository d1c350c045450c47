"""One line of an AOI stream is one event: from lines to values, without regard to their order. AOI-CLI sections 2 and 8.

Theory of operation. Each line must be one JSON object with a `type`. A framework event and an event of one of the caller's
types become typed values, any other stays a dict. Two paths lead there, and they agree on every input:

- `batch` decodes many lines in one loop of C. When anything at all objects, it gives up: it cannot say what was wrong.
- `decode` is exact. It tries a line the same way, and when that fails decodes it as plain JSON, which distinguishes
  faults (`Offence`) and lets events with unknown fields be built.

Joining the lines to one JSON array, to decode them in a single call, is not faster (measured) and not sound: a value
cut by a line end and a line with two values make up for each other in any count.

One outcome each: bad UTF-8, NUL, byte order mark, blank line, nesting that exhausts the interpreter's stack: offences with
codes of their own, and so are lone surrogates and numbers beyond a double or 4300 digits. CR before LF: white space. NaN:
not JSON. Other integers: exact. Repeated keys: the last wins (`repeated_key` finds them). What a caller's type skips is
checked for syntax and UTF-8 only.
"""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, Union, cast

import msgspec
from msgspec import Struct

from operable.wire.framework import FRAMEWORK, Event, Malformed, Open, shape
from operable.wire.notes import is_noteworthy
from operable.wire.reserved_names import PREFIX, check_domain_types

FRAMEWORK_TYPES: Final = frozenset(FRAMEWORK.values())

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_WHITE_SPACE: Final = b" \t\r"

_DETAIL_LIMIT: Final = 300
"""Characters. msgspec quotes the offending value here and there, and a value can be as long as a line."""

# All that msgspec raises for bad input: its own errors (ValueErrors only since 0.21), bad UTF-8, nesting too deep.
_FAULTS: Final = (msgspec.MsgspecError, ValueError, RecursionError)

_decode_plain: Final[Callable[[bytes], Any]] = msgspec.json.Decoder().decode
_encode: Final[Callable[[Any], bytes]] = msgspec.json.Encoder().encode
_type_of: Final = itemgetter("type")

_DIGITS: Final = 4300
_NUMBER_SHOWN: Final = 40


class Offence(Exception):  # noqa: N818 - the peer's, not an error of ours
    """The peer's fault: a line breaks the protocol. The codes are those of `operable.wire.verdict`."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail[:_DETAIL_LIMIT]


class LineDecoder:
    """Decodes lines into framework events, events of these types, and dicts."""

    def __init__(self, types: Sequence[type[Struct]] = ()) -> None:
        """Raise TypeError or `Fail` when a type cannot be one of events."""
        own = {_tag(kind): kind for kind in types}
        check_domain_types(own)
        self._types: dict[str, type[Struct]] = {**FRAMEWORK, **own}
        self._decode_typed: Callable[[bytes], Any] | None = None
        if types:
            union = cast("Any", Union[(*FRAMEWORK_TYPES, *types)])
            self._decode_typed = msgspec.json.Decoder(union).decode

    def batch(self, lines: list[bytes]) -> tuple[list[Any], list[int]] | None:
        """The values of these lines, and the places of those that are more than plain domain events.

        None if these lines need the exact path. A dict among the values of those places still has to be shaped.
        """
        try:
            if self._decode_typed is None:
                values = self._decode_all(_decode_plain, lines)
                return values, _noteworthy(values)
            # For the sake of what the caller's types skip, which msgspec does not look into.
            b"\n".join(lines).decode()
            values = self._decode_all(self._decode_typed, lines)
        except _FAULTS:
            return None
        if FRAMEWORK_TYPES.isdisjoint(map(type, values)):
            return values, []
        return values, [place for place, value in enumerate(values) if type(value) in FRAMEWORK_TYPES]

    def _decode_all(self, decode: Callable[[bytes], Any], lines: list[bytes]) -> list[Any]:
        # A method of its own so that msgspec is called from no lesser depth than in `decode`: how deep a line may be nested
        # depends on the stack that is left, and what this path can read the exact one must be able to read.
        return list(map(decode, lines))

    def decode(self, line: bytes) -> Event:
        """The event of one line; raises `Offence`."""
        fault: Exception | None = None
        if self._decode_typed is not None:
            try:
                line.decode()
                return cast("Event", self._decode_typed(line))
            except _FAULTS as error:
                fault = error
        try:
            plain = _decode_plain(line)
        except _FAULTS as error:
            raise _diagnosed(line, error) from error
        return self.shape(plain, fault)

    def shape(self, plain: Any, fault: Exception | None = None) -> Event:
        """The event that this JSON value is; `fault` is why it did not decode as one of the types."""
        if not isinstance(plain, dict):
            raise Offence("NOT_AN_OBJECT")
        name = plain.get("type")
        if not isinstance(name, str) or not name:
            raise Offence("NO_TYPE")
        kind = self._types.get(name)
        if kind is None:
            return plain
        if not issubclass(kind, Open):
            raise Offence("TYPE_MISMATCH", f"{name}: {fault}") from fault
        try:
            return shape(kind, plain)
        except Malformed as error:
            raise Offence("MALFORMED_EVENT", f"{name}: {error}") from error


def is_domain(event: Event) -> bool:
    """Whether an event is one of the tool's own, not the framework's."""
    if isinstance(event, dict):
        return not str(event["type"]).startswith(PREFIX)
    return type(event) not in FRAMEWORK_TYPES


def is_object(line: bytes) -> bool:
    """Whether a line is one complete JSON object."""
    try:
        return isinstance(_decode_plain(line), dict)
    except _FAULTS:
        return False


def _noteworthy(values: list[Any]) -> list[int]:
    """The places of the framework's events and their namesakes; raises ValueError if a value is not an event."""
    try:
        names = list(map(_type_of, values))
        kinds = set(names)
    except (TypeError, KeyError) as error:  # no object, no `type`, or one that is itself a list or an object
        raise ValueError("not an event") from error
    if not all(isinstance(kind, str) and kind for kind in kinds):
        raise ValueError("not an event")
    noteworthy = set(filter(is_noteworthy, kinds))
    return [place for place, name in enumerate(names) if name in noteworthy] if noteworthy else []


def _diagnosed(line: bytes, error: Exception) -> Offence:
    """Why a line could not be decoded, most specific reason first."""
    if not line.strip(_WHITE_SPACE):
        return Offence("BLANK_LINE")
    if line.startswith(_BYTE_ORDER_MARK):
        return Offence("BYTE_ORDER_MARK")
    if b"\0" in line:
        return Offence("NUL_BYTE")
    try:
        line.decode()
    except UnicodeDecodeError:
        return Offence("INVALID_UTF8")
    if isinstance(error, RecursionError):
        return Offence("NESTED_TOO_DEEP")
    return _misspelt(line) or Offence("NOT_JSON", str(error))


def _misspelt(line: bytes) -> Offence | None:
    """What the grammar of JSON allows and no value of ours can hold; None for what is not JSON at all."""
    from operable.kernel.json import parse  # only for a stream that ends with this line

    numbers: list[str] = []

    def double(digits: str) -> float:
        value = float(digits)
        if value - value != 0:
            numbers.append(digits)
        return value

    def integer(digits: str) -> int:
        if len(digits) > _DIGITS:
            numbers.append(digits)
            return 0
        return int(digits)

    try:
        value = parse(line, levels=None, read_double=double, read_integer=integer)
    except ValueError:
        return None
    if numbers:
        shown = numbers[0] if len(numbers[0]) <= _NUMBER_SHOWN else f"{numbers[0][:_NUMBER_SHOWN]}…"
        return Offence("NUMBER_OUT_OF_RANGE", shown)
    lone = _lone(value)
    return Offence("LONE_SURROGATE", f"\\u{ord(lone):04x}") if lone else None


def _lone(value: Any) -> str | None:
    """The first lone surrogate in the texts of a value."""
    if isinstance(value, dict):
        parts: Any = (part for pair in value.items() for part in pair)
    elif isinstance(value, list):
        parts = value
    else:
        text = value if isinstance(value, str) else ""
        return next((letter for letter in text if "\ud800" <= letter <= "\udfff"), None)
    return next((lone for part in parts if (lone := _lone(part)) is not None), None)


def repeated_key(line: bytes) -> str | None:
    """A key that an object in this line has twice, of which readers see different values; None if no object has one.

    A line is taken apart slowly only where it has another number of keys than what was read of it.
    """
    try:
        # With white space before a colon the numbers cannot be compared.
        spaced = b'" :' in line or b'"\t:' in line
        if not spaced and _encode(_decode_plain(line)).count(b'":') == line.count(b'":'):
            return None
    except _FAULTS:
        return None
    from operable.kernel.json import repeated_names

    try:
        return min(repeated_names(line), default=None)
    except ValueError:
        return None


def _tag(kind: type[Struct]) -> str:
    config = kind.__struct_config__
    if config.tag_field != "type" or not isinstance(config.tag, str) or config.array_like:
        raise TypeError(
            f"{kind.__name__} is not an event type: it needs tag_field='type' and a string as tag"
        )
    return config.tag
