"""A text for a person who has to judge it: nothing in it is invisible, and nothing is left out silently."""

from __future__ import annotations

_LIMIT = 2000  # characters: users do not read more than this before they approve


def spelt_out(text: str, limit: int = _LIMIT) -> str:
    """The text with controls, direction marks and similar characters as escapes; where it is too long, how much is not
    shown.
    """
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[:limit])
    return shown if len(text) <= limit else f"{shown}… (and {len(text) - limit} more characters)"
