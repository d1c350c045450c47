"""One spelling for a JSON value (RFC 8785), so that equal values have equal digests in every process and language.

Keys in the order of their UTF-16 code units, no spaces, the shortest string escapes, numbers as ECMAScript writes them.
One deliberate difference: an integer outside ±2**53 is written exactly, not rounded to a double. Identifiers of 64 bits
are common, and two of them must never get the same digest. `1` and `1.0` are the same number and have the same spelling.

What has no JSON spelling is refused with ValueError (NaN, infinities, lone surrogates, too deep) or TypeError (other types).
Stays cheap to import: a tool makes digests (cursors, plans, idempotency) on its cold-start path.
"""

import sys

try:
    from _json import encode_basestring as _quote  # the C escaper: what `json` uses, without importing `json`
except ImportError:  # another Python implementation
    from json.encoder import encode_basestring as _quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_DEPTH = 200  # two frames a level: well below the interpreter's limit, whatever stack the caller already uses
_PLAIN_DIGITS = 21  # ECMAScript switches to exponents from 1e21 upwards and from 1e-7 downwards
_PLAIN_ZEROS = -6


def canonical_json(value: object) -> bytes:
    """The canonical UTF-8 spelling of a JSON value (dict with str keys, list, tuple, str, int, float, bool, None)."""
    pieces: list[str] = []
    _write(value, pieces.append, _DEPTH)
    try:
        return "".join(pieces).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError("a lone surrogate has no UTF-8 spelling") from error


def digest(value: object) -> str:
    """`sha256:` and the hex digest of the canonical spelling."""
    return "sha256:" + _sha256(canonical_json(value))


def _sha256(data: bytes) -> str:
    # The interpreter's own module where there is one: `hashlib` loads OpenSSL, which costs more than hashing a small plan.
    # Asked for by version, because a failed import is searched for again each time.
    try:
        module = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:  # built without it
        module = __import__("hashlib")
    return str(module.sha256(data).hexdigest())


def _write(value: object, write: "Callable[[str], None]", depth: int) -> None:
    if isinstance(value, str):
        write(_quote(value))
    elif value is None or value is True or value is False:
        write("null" if value is None else "true" if value else "false")
    elif isinstance(value, int):
        write(int.__repr__(value))
    elif isinstance(value, float):
        write(number(value))
    elif isinstance(value, dict):
        _write_object(value, write, _deeper(depth))
    elif isinstance(value, (list, tuple)):
        depth = _deeper(depth)
        before = "["
        for item in value:
            write(before)
            _write(item, write, depth)
            before = ","
        write("]" if before == "," else "[]")
    else:
        raise TypeError(f"{type(value).__name__} is not a JSON type")


def _write_object(value: "dict[object, object]", write: "Callable[[str], None]", depth: int) -> None:
    names: list[str] = []
    for name in value:
        if not isinstance(name, str):
            raise TypeError(f"object keys are strings, not {type(name).__name__}")
        names.append(name)
    # ASCII sorts the same way in every encoding; beyond it only UTF-16 puts U+FB33 after U+1F600.
    names.sort(key=None if all(map(str.isascii, names)) else _utf16)
    before = "{"
    for name in names:
        write(before)
        write(_quote(name))
        write(":")
        _write(value[name], write, depth)
        before = ","
    write("}" if before == "," else "{}")


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _deeper(depth: int) -> int:
    if depth == 0:
        raise ValueError(f"nested deeper than {_DEPTH} levels")
    return depth - 1


def number(value: float) -> str:
    """A double as ECMAScript's Number::toString: Python finds the same shortest digits, the layout differs."""
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is what differs from itself
        raise ValueError("JSON has no NaN and no infinity")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = float.__repr__(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    # The value is 0.<digits> * 10**point.
    point = int(exponent or "0") + len(whole) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if point > _PLAIN_DIGITS or point <= _PLAIN_ZEROS:
        rest = "." + digits[1:] if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{rest}e{point - 1:+d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if len(digits) <= point:
        return sign + digits + "0" * (point - len(digits))
    return f"{sign}{digits[:point]}.{digits[point:]}"
