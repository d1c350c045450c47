"""The table of types that JSON has no word for: how each is read, written, described, and named to people.

One row serves the parser of words, structured input, JSON Schema, the output and help. A type is known by the name of its
module and its own, so that neither the author nor we import `datetime`, `decimal` or `uuid` before a value is made.
Reading is strict, so that what the schema refuses is refused here also: a time needs an offset, a UUID its hyphens. The
one exception is for people: a duration may also be written `1h30m`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Scalar:
    """One row of the table. `read` raises ValueError for a text that is not of the type; `write` is its inverse."""

    __slots__ = ("_read", "_wanted", "schema", "word", "write")

    def __init__(
        self,
        schema: "dict[str, Any]",
        word: str,
        wanted: str,
        read: "Callable[[str], Any]",
        write: "Callable[[Any], str]",
    ) -> None:
        self.schema = {"type": "string", **schema}
        self.word = word  # its place in a usage line
        self._wanted = wanted
        self._read = read
        self.write = write

    def value(self, text: str) -> "Any":
        """The value that a text spells; raises ValueError with what the text must be."""
        try:
            return self._read(text)
        except (ValueError, ArithmeticError, OverflowError):
            raise ValueError(f"must be {self._wanted}") from None


def _read_date(text: str) -> "Any":
    from datetime import date

    if len(text) != 10:
        raise ValueError(text)
    return date.fromisoformat(text)


def _read_moment(text: str) -> "Any":
    from datetime import datetime

    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or text[4] != "-" or text[10] not in "Tt" or text[13] != ":" or len(text) < 20:
        raise ValueError(text)
    return moment


def _read_time(text: str) -> "Any":
    from datetime import time

    if text[2:3] != ":" or len(text) < 5:
        raise ValueError(text)
    return time.fromisoformat(text)


_ISO = r"P(?=[\dT])(?:(?P<d>\d+)D)?(?:T(?=\d)(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d{1,6})?)S)?)?"
_SHORT = r"(?=\d)(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m)?(?:(?P<s>\d+(?:\.\d{1,6})?)s)?"


def _read_duration(text: str) -> "Any":
    import re
    from datetime import timedelta

    found = re.fullmatch(_ISO, text, re.ASCII) or re.fullmatch(_SHORT, text, re.ASCII)
    if found is None:
        raise ValueError(text)
    days, hours, minutes = (int(found[name] or 0) for name in "dhm")
    whole, _, fraction = (found["s"] or "0").partition(".")
    microseconds = int(f"{fraction:0<6}") if fraction else 0
    return timedelta(days, int(whole), microseconds, 0, minutes, hours)


def _write_duration(value: "Any") -> str:
    if value.days < 0:
        return f"-{_write_duration(-value)}"
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    parts = [(hours, "H"), (minutes, "M"), (f"{seconds}{fraction}" if seconds or fraction else 0, "S")]
    clock = "".join(f"{amount}{letter}" for amount, letter in parts if amount)
    days = f"{value.days}D" if value.days else ""
    return f"P{days}{'T' if clock else ''}{clock}" if days or clock else "PT0S"


def _read_uuid(text: str) -> "Any":
    from uuid import UUID

    value = UUID(text)
    if str(value) != text.lower():
        raise ValueError(text)
    return value


_DECIMAL = r"^-?[0-9]+(\.[0-9]+)?$"


def _read_decimal(text: str) -> "Any":
    from decimal import Decimal

    digits = text.removeprefix("-").replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()) or text[-1] == "." or text.removeprefix("-")[0] == ".":
        raise ValueError(text)
    return Decimal(text)


def _write_decimal(value: "Any") -> str:
    if not value.is_finite():
        raise ValueError("NaN and infinities are not JSON")
    return format(value, "f")


def _read_bytes(text: str) -> bytes:
    from binascii import a2b_base64

    if len(text) % 4 or not text.isascii() or "\n" in text:
        raise ValueError(text)
    return a2b_base64(text, strict_mode=True) if text else b""


def _write_bytes(value: "Any") -> str:
    from binascii import b2a_base64

    return b2a_base64(value, newline=False).decode()


_BYTES = Scalar({"contentEncoding": "base64"}, "BASE64", "base64", _read_bytes, _write_bytes)
SCALARS: "dict[str, Scalar]" = {
    "datetime.date": Scalar(
        {"format": "date"}, "DATE", "a date such as 2026-03-31", _read_date, lambda value: value.isoformat()
    ),
    "datetime.datetime": Scalar(
        {"format": "date-time"},
        "TIME",
        "a time with its offset, such as 2026-03-31T09:30:00Z",
        _read_moment,
        lambda value: value.isoformat(),
    ),
    "datetime.time": Scalar(
        {"pattern": "^[0-9]{2}:[0-9]{2}"},
        "CLOCK",
        "a time of day such as 09:30",
        _read_time,
        lambda value: value.isoformat(),
    ),
    "datetime.timedelta": Scalar(
        {"format": "duration"},
        "DURATION",
        "a duration such as PT1H30M or 1h30m",
        _read_duration,
        _write_duration,
    ),
    "uuid.UUID": Scalar(
        {"format": "uuid"}, "UUID", "a UUID such as 5e0f4b1c-9a51-4d0e-8b1e-0d2f6a7c3b90", _read_uuid, str
    ),
    "decimal.Decimal": Scalar(
        {"pattern": _DECIMAL}, "DECIMAL", "a decimal number such as 12.50", _read_decimal, _write_decimal
    ),
    "builtins.bytes": _BYTES,
}


def scalar_of(kind: "type[Any]") -> "Scalar | None":
    """The row of exactly this class."""
    return SCALARS.get(f"{kind.__module__}.{kind.__qualname__}")


def written(value: "Any") -> "str | None":
    """The text of a value of one of these types, or of a subclass; None for any other value."""
    for kind in type(value).__mro__:
        row = scalar_of(kind)
        if row is not None:
            return row.write(value)
    return None


# An Enum is the values of its members where JSON has them, and their names where it has not.


def is_enum(kind: "Any") -> bool:
    return isinstance(kind, type) and hasattr(kind, "__members__") and hasattr(kind, "_member_map_")


def enum_choices(kind: "Any") -> "tuple[Any, ...]":
    return tuple(one.value if _by_value(kind) else one.name for one in kind)


def member(kind: "Any", choice: "Any") -> "Any":
    """The member that one of the choices stands for."""
    return kind(choice) if _by_value(kind) else kind[choice]


def enum_choice(value: "Any") -> "Any":
    """What stands for a member in JSON."""
    return value.value if _by_value(type(value)) else value.name


def _by_value(kind: "Any") -> bool:
    values = [one.value for one in kind]
    texts = all(isinstance(value, str) for value in values)
    return texts or all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def dataclass_names(kind: "Any") -> "list[str]":
    """The fields of a dataclass that its values are made of."""
    fields = kind.__dataclass_fields__.values()
    return [field.name for field in fields if field.init and field._field_type.name == "_FIELD"]  # noqa: SLF001
