"""The secrets that a program gets in its environment must not come back in what it prints.

Theory of operation. Of the variables that are passed on, those count whose name announces a secret (`GH_TOKEN`), and the
password in any address (`DATABASE_URL`). A file is no secret, its content is: paths stay where there is such a file, since a
secret may begin with a slash. In rows exactly these values are
masked, in every spelling that `kernel.redact.forms` knows, and nothing by its looks: what else a program prints is data.
Where no such variable is set, rows pass untouched.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

# A shorter value is a word (`yes`, `none`, `true`) that would be masked all over.
_SHORTEST = 8
# Names of fields that are remembered; a program may print objects with any names.
_NAMES = 1000


def passwords(text: str) -> list[str]:
    """The passwords in addresses, and what stands in their queries under the names of secrets."""
    if "//" not in text:
        return []
    import re

    from operable.kernel.redact import redact_url

    found: list[str] = re.findall(r"//[^/\s:@]*:([^/\s@]+)@", text)
    for pair in re.findall(r"[?&;#]([^?&;#\s]+)", text):
        value = pair.partition("=")[2]
        if len(value) >= _SHORTEST and value not in redact_url(f"https://host/?{pair}"):
            found.append(value)
    return found


def secrets(names: Sequence[str]) -> list[str]:
    """The values of these variables that a program is given and that must not come back."""
    if not names:
        return []
    from operable.kernel.redact.names import is_secret_name
    from operable.proc.environment import environment

    given = environment(inherit=names)
    found = [password for value in given.values() for password in passwords(value)]
    found += [
        value
        for name, value in given.items()
        if is_secret_name(name) and len(value) >= _SHORTEST and not _is_file(value)
    ]
    return found


def _is_file(value: str) -> bool:
    """A path that may be told. One that cannot be looked at is none: too long for a name, or not ours to see."""
    return os.path.isabs(value) and os.path.lexists(value)


class Mask:
    """Takes values out of texts, in every spelling that they travel in."""

    def __init__(self, values: Iterable[str]) -> None:
        from operable.kernel.redact.forms import forms

        self._forms = forms(values)
        self._harmless: set[str] = set()  # names of fields, which every row repeats

    def text(self, text: str) -> str:
        from operable.kernel.redact.names import MASK

        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return text

    def clean(self, row: Any) -> None:
        """The same in all texts of a row, where they stand, names of fields too. Without recursion: a value may be deep."""
        from operable.tool.framework import Notice

        waiting = [row]
        while waiting:
            holder = waiting.pop()
            if holder.__class__ is dict:
                self._rename(holder)
                places: Iterable[Any] = holder.items()
            elif holder.__class__ is list:
                places = enumerate(holder)
            elif isinstance(
                holder, Notice
            ):  # warnings, progress and planned changes repeat what a program said
                waiting.append(holder.fields)
                continue
            else:
                continue
            for place, value in places:
                if value.__class__ is str:
                    holder[place] = self.text(value)  # the size stays as it is, so the walk goes on
                else:
                    waiting.append(value)

    def _rename(self, fields: dict[str, Any]) -> None:
        for name in [name for name in fields if name not in self._harmless]:
            masked = self.text(name)
            if masked == name:
                if len(self._harmless) < _NAMES:
                    self._harmless.add(name)
                continue
            value = fields.pop(name)
            while masked in fields:  # two secrets are two fields still
                masked += "'"
            fields[masked] = value


def concealed(rows: Iterable[Any], values: Sequence[str]) -> Iterator[Any]:
    """The same rows without these values."""
    mask = Mask(values)
    try:
        for row in rows:
            mask.clean(row)
            yield row
    finally:
        close = getattr(rows, "close", None)
        if close is not None:
            close()
