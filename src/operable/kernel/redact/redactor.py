"""The redactor: what it was told by value, and what looks like a secret. One object for one stream.

A value that the registry learns later is masked from then on. Masking twice is masking once. Nothing here raises on any
input. `line` remembers whether it is inside a private key block, which reaches over many lines.
"""

from operable.kernel.redact.known import Known, as_known
from operable.kernel.redact.names import MASK
from operable.kernel.redact.prose import redact_prose
from operable.kernel.redact.shapes import KEY_BEGINS, KEY_ENDS
from operable.kernel.redact.structure import mask_members

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_KEY_LINES = 400  # a private key that never ends hides this many lines, not the rest of the stream


class Redactor:
    """Masks the secrets of a registry, and everything that looks like one."""

    def __init__(self, secrets: "Known | Iterable[str]" = ()) -> None:
        self.known = as_known(secrets)
        self._key_lines = 0

    def text(self, text: str) -> str:
        return redact_prose(self.known.text(text))

    def line(self, line: bytes) -> bytes:
        """One line of a stream, in whatever encoding; bytes that are not UTF-8 pass through."""
        if self._key_lines:
            return self._key_line(line)
        if KEY_BEGINS in line and b"-----BEGIN " in line and not KEY_ENDS.search(line):
            self._key_lines = _KEY_LINES
        known = self.known.data(line)
        text = known.decode("utf-8", "surrogateescape")
        masked = redact_prose(text)
        return known if masked == text else masked.encode("utf-8", "surrogateescape")

    def value(self, value: "Any") -> "Any":
        """A copy of JSON data: strings under secret names masked, all other strings as text; the shape stays."""
        return mask_members(self.known.value(value), redact_prose)

    def _key_line(self, line: bytes) -> bytes:
        self._key_lines -= 1
        found = KEY_ENDS.search(line)
        if found is None:
            return MASK.encode()
        self._key_lines = 0
        return MASK.encode() + self.line(line[found.end() :])


def redact_text(text: str, secrets: "Known | Iterable[str]" = ()) -> str:
    return Redactor(secrets).text(text) if secrets else redact_prose(text)


def redact_value(value: "Any", secrets: "Known | Iterable[str]" = ()) -> "Any":
    return Redactor(secrets).value(value)
