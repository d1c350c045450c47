"""Cursors: opaque, versioned, bound to the command and its arguments, and refused when damaged.

A cursor is `1.` + base64url of JSON {command, arguments digest, position} + `.` + the first 12 characters
of the digest of that. The check is against damage and mix-ups, not against forgery: a cursor gives no access that its
holder does not have. Bounds (`--limit`, `--timeout`, `--output` …) are not bound, so a page may be followed by a
larger one.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64

from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.tool.records import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.arguments import ParsedCall
    from operable.tool.signature import Command

VERSION = "1"
# A position is a few fields of an event; a longer cursor than this was not made here.
MAX_LENGTH = 65_536
_CHECK = 12


def write_cursor(position: Any, command: Command, values: dict[str, Any]) -> str:
    """A cursor that goes on after `position`; a position that does not fit into one is the author's mistake."""
    text = f"[{json_text(command.name)},{json_text(fingerprint(command, values))},{json_text(position)}]"
    # A position may be a file name that is not UTF-8: it must come back as it was.
    payload = text.encode("utf-8", "surrogatepass")
    body = b2a_base64(payload, newline=False).decode().rstrip("=").replace("+", "-").replace("/", "_")
    cursor = f"{VERSION}.{body}.{_check(body)}"
    if len(cursor) > MAX_LENGTH:
        msg = f"the cursor fields of {command.name} need {len(cursor)} characters, {MAX_LENGTH} are possible: use a key"
        raise ValueError(msg)
    return cursor


def read_cursor(cursor: str, command: Command, values: dict[str, Any]) -> Any:
    """The position in a cursor; a foreign or damaged one is a validation error."""
    version, _, rest = cursor.partition(".")
    body, _, check = rest.partition(".")
    if version != VERSION or len(cursor) > MAX_LENGTH or not body.isascii() or check != _check(body):
        raise _invalid("it is damaged, or was not made by this tool")
    import json

    try:
        payload = a2b_base64(body.replace("-", "+").replace("_", "/") + "=" * (-len(body) % 4))
        name, arguments, position = json.loads(payload.decode("utf-8", "surrogatepass"))
    except (
        Base64Error,
        ValueError,
        TypeError,
        RecursionError,
    ) as problem:  # a forger may have computed the check
        raise _invalid("it is damaged") from problem
    if name != command.name:
        raise _invalid("it belongs to another command")
    if arguments != fingerprint(command, values):
        raise _invalid("it belongs to a call with other arguments")
    return position


def refuse_standstill(position: Any, command: Command, call: ParsedCall) -> None:
    """Refuse to give out the cursor that was given in: a caller that follows it would never end."""
    given = read_cursor(call.options["cursor"], command, call.values)
    if json_text(position) == json_text(given):
        raise Fail(
            "internal",
            "CURSOR_DOES_NOT_MOVE",
            f"The page of {command.name} ends where the page before it ended: {command.name} does not look at page.after",
        )


def fingerprint(command: Command, values: dict[str, Any]) -> str:
    """A digest of the arguments that decide what is listed; secrets are left out, they must not be guessable from it."""
    shown = json_text({param.name: values.get(param.name) for param in command.params if not param.secret})
    return digest(shown.encode("utf-8", "backslashreplace").decode())[7:23]


def _check(body: str) -> str:
    return digest([VERSION, body])[7 : 7 + _CHECK]


def _invalid(why: str) -> Fail:
    return Fail(
        "validation",
        "INVALID_CURSOR",
        f"The cursor cannot be used: {why}",
        hint="start again without --cursor",
    )
