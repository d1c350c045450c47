"""The redactor: the values that it was given, and what looks like a secret. One object for one stream.

A value that the registry learns later is masked from then on. Masking twice is masking once. Nothing here raises on any
input. `line` remembers whether it is inside a private key block, which reaches over many lines.
"""

from operable.kernel.redact.encodings import is_encoded
from operable.kernel.redact.known_values import Known, as_known
from operable.kernel.redact.names import HINTS as NAME_HINTS
from operable.kernel.redact.names import MASK, as_seen, contains_any
from operable.kernel.redact.shapes import HINTS as SHAPE_HINTS
from operable.kernel.redact.shapes import KEY_BEGINS
from operable.kernel.redact.structure import DEPTH, mask_members, redact_argv, redact_prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# What the rules for text look for besides names and shapes: addresses, options with headers and users.
_SUSPECTS = ("://", "?", "-H", "-u", "-U", "-p", "--header")
# The scheme, and the names of members that `structure` treats in a way of their own.
_SUSPECT_NAMES = ("basic", "headers", "env", "argv", "args", "command_line")
_OPERATORS = (";", "&", "|", "<", ">", "`", "\n", "$(")  # of a shell
_KEY_LINES = 400  # a private key that never ends hides this many lines, not the rest of the stream


class Redactor:
    """Masks the secrets of a registry, and everything that looks like one."""

    def __init__(self, secrets: "Known | Iterable[str]" = ()) -> None:
        self.known = as_known(secrets)
        self._key_lines = 0

    def text(self, text: str) -> str:
        return redact_prose(self.known.text(text))

    def command(self, line: str) -> str:
        """A command line: everything that it runs stays visible."""
        from operable.kernel.redact.command_lines import redact_command_line

        return redact_command_line(self.known.text(line), redact_prose)

    def words(self, argv: "Iterable[str]") -> list[str]:
        """The words of a command that a person approves.

        One that may be a script (`sh -c`) is masked as a line, so that what it runs stays visible; a value of an option as a
        whole.
        """
        words = [self.known.text(word) for word in argv]
        return [
            masked
            if masked in (word, MASK) or (word.startswith("-") and not contains_any(word, _OPERATORS))
            else self.command(word)
            for word, masked in zip(words, redact_argv(words), strict=True)
        ]

    def line(self, line: bytes) -> bytes:
        """One line of a stream, in whatever encoding; bytes that are not UTF-8 pass through."""
        if self._key_lines:
            return self._key_line(line)
        if KEY_BEGINS in line and b"-----BEGIN " in line and _end_of_key(line) is None:
            self._key_lines = _KEY_LINES
        known = self.known.data(line)
        text = known.decode("utf-8", "surrogateescape")
        masked = redact_prose(text)
        return known if masked == text else masked.encode("utf-8", "surrogateescape")

    def leaves(self, lines: "list[bytes]") -> bool:
        """Whether `line` and `value` change none of these lines, each of which may be JSON. False: perhaps.

        The rules for text and for structured data are behind tests for substrings, and every string of a JSON text without
        escapes is a part of it. So the same tests on all lines at once answer for each: long streams are mostly harmless.
        """
        data = b"\n".join(lines)
        if self._key_lines or b"\\" in data:
            return False
        text = data.decode("utf-8", "surrogateescape")
        if self.known and (is_encoded(text) or self.known.data(data) is not data):
            return False
        if as_seen(text) != text:
            return False
        if contains_any(text, _SUSPECTS) or contains_any(text, SHAPE_HINTS):
            return False
        lowered = text.lower()
        if contains_any(lowered, NAME_HINTS) or contains_any(lowered, _SUSPECT_NAMES):
            return False
        return all(line.count(b"{") + line.count(b"[") < DEPTH for line in lines)

    def value(self, value: "Any") -> "Any":
        """A copy of JSON data: strings under secret names masked, all other strings as text; the shape stays."""
        return mask_members(self.known.value(value), redact_prose)

    def _key_line(self, line: bytes) -> bytes:
        self._key_lines -= 1
        end = _end_of_key(line)
        if end is None:
            return MASK.encode()
        self._key_lines = 0
        return MASK.encode() + self.line(line[end:])


def _end_of_key(line: bytes) -> "int | None":
    """Where the private key block ends in this line; None if it does not."""
    import re

    found = re.search(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", line)
    return None if found is None else found.end()


def redact_text(text: str, secrets: "Known | Iterable[str]" = ()) -> str:
    return Redactor(secrets).text(text) if secrets else redact_prose(text)


def redact_value(value: "Any", secrets: "Known | Iterable[str]" = ()) -> "Any":
    return Redactor(secrets).value(value)
