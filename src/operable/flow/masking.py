"""Known secrets, masked by their values in everything that a task printed or that is recorded of it.

Only values that somebody handed out are looked for, in every spelling they travel in; what merely looks like a secret stays,
because the output of a task is its result, and signed parts of a record must not change.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from operable.kernel.redact import MASK
from operable.kernel.redact.forms import forms


class Mask:
    """Masks these secrets."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._spellings = forms(secrets)

    def text(self, text: str) -> str:
        for spelling in self._spellings:
            text = text.replace(spelling, MASK)
        return text

    def value(self, value: Any) -> Any:
        """A copy of JSON data; keys stay."""
        if not self._spellings:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self.value(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value
