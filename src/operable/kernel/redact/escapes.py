r"""Text inside a string literal: `{"log": "password: |\n  hunter2"}` hides a config file in one line of JSON.

Theory of operation. A literal with escapes is decoded, masked as the text that it is, and written again if that changed
something; so a line that the text has is a line, and a quote is a quote. Literals inside literals are decoded in turn, a
few levels deep. Every character is decoded at most once per level. A literal that cannot be decoded is left to the rules
for text, which see it as it is.
"""

import re
from json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LEVELS = 4  # JSON in JSON in JSON in a log: more was not seen
# With its end, or cut off at the end of its line. Both always match, so that no character is looked at twice.
_DOUBLE = re.compile(r'"([^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*)')
_SINGLE = re.compile(r"(?<![A-Za-z])'([^'\\\n]*+(?:\\[^\n][^'\\\n]*+)*)")
_SPACE_ESCAPES = ("\\n", "\\t", "\\r")


def mask_literals(text: str, mask: "Callable[[str], str]") -> str:
    """The text with the content of its escaped literals masked by `mask`."""
    if '"' in text:
        text = _DOUBLE.sub(lambda found: _double(found, mask), text)
    if "'" in text and any(escape in text for escape in _SPACE_ESCAPES):
        text = _SINGLE.sub(lambda found: _single(found, mask), text)
    return text


def _double(found: "re.Match[str]", mask: "Callable[[str], str]") -> str:
    content = found[1]
    if "\\" not in content:
        return found[0]
    masked = _masked(content, mask)
    return found[0] if masked is None else f'"{masked}'


def _single(found: "re.Match[str]", mask: "Callable[[str], str]") -> str:
    """A literal of Python: the same escapes except for the quotes."""
    content = found[1]
    if not any(escape in content for escape in _SPACE_ESCAPES):
        return found[0]
    masked = _masked(content.replace("\\'", "'").replace('"', '\\"'), mask)
    return found[0] if masked is None else "'" + masked.replace('\\"', '"').replace("'", "\\'")


def _masked(content: str, mask: "Callable[[str], str]") -> str | None:
    """The content of a literal of JSON, masked and escaped again; None: nothing to mask, or not one."""
    try:
        plain = loads(f'"{content}"', strict=False)
    except ValueError:
        return None
    masked = mask(plain)
    return None if masked == plain else dumps(masked, ensure_ascii=content.isascii())[1:-1]
