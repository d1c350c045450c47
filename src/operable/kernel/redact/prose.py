"""Free text without its secrets: messages, logs, config files, shell lines, JSON, YAML, INI and XML as text.

Text with nothing to hide costs a few substring tests, and does not load the rules (`prose_rules`), whose patterns take
eight milliseconds to compile. The tests here are those in front of the rules: a rule that gets another test gets it here
as well (a property test compares both).
"""

from operable.kernel.redact.names import HINTS as NAME_HINTS
from operable.kernel.redact.names import contains_any
from operable.kernel.redact.shapes import HINTS as SHAPE_HINTS

_PLACES = ("://", "?", "\\/")  # with a slash: addresses, and paths with a query
_OPTIONS = ("-H", "-u", "--header")


def redact_prose(text: str) -> str:
    """The text with whatever looks like a secret masked; applying it again changes nothing."""
    if not _is_suspect(text):
        return text
    from operable.kernel.redact.prose_rules import mask_prose

    return mask_prose(text)


def _is_suspect(text: str) -> bool:
    lowered = text.lower()
    return (
        contains_any(lowered, NAME_HINTS)
        or contains_any(text, SHAPE_HINTS)
        or ("/" in text and contains_any(text, _PLACES))
        or contains_any(text, _OPTIONS)
        or "basic" in lowered
    )
