"""The secrets that a program gets in its environment must not come back in what it prints.

Theory of operation. Of the variables that are passed on, those count whose name announces a secret (`GH_TOKEN`), and the
password in any address (`DATABASE_URL`). A file is no secret, its content is: paths stay. In rows exactly these values are
masked, in every spelling that `kernel.redact_forms` knows, and nothing by its looks: what else a program prints is data.
Where no such variable is set, rows pass untouched.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

# A shorter value is a word (`yes`, `none`, `true`) that would be masked all over.
_SHORTEST = 8


def passwords(text: str) -> list[str]:
    """The passwords in addresses."""
    if "//" not in text:
        return []
    import re

    return re.findall(r"//[^/\s:@]*:([^/\s@]+)@", text)


def secrets(plan: Mapping[str, Any]) -> list[str]:
    """What the program of this plan is given and must not come back."""
    if not plan["env_pass"]:
        return []
    from operable.kernel.redact_names import is_secret_name
    from operable.proc.environment import environment

    given = environment(inherit=plan["env_pass"])
    found = [password for value in given.values() for password in passwords(value)]
    found += [
        value
        for name, value in given.items()
        if is_secret_name(name) and len(value) >= _SHORTEST and not os.path.isabs(value)
    ]
    return found


def concealed(rows: Iterable[Any], values: Sequence[str]) -> Iterator[Any]:
    """The same rows without these values."""
    from operable.kernel.redact_forms import forms
    from operable.kernel.redact_names import MASK

    wanted = forms(values)

    def mask(text: str) -> str:
        for form in wanted:
            if form in text:
                text = text.replace(form, MASK)
        return text

    try:
        for row in rows:
            _clean(row, mask)
            yield row
    finally:
        close = getattr(rows, "close", None)
        if close is not None:
            close()


def _clean(row: Any, mask: Callable[[str], str]) -> None:
    """Mask the texts in a row, where they stand. Without recursion: a value may be deep."""
    waiting = [row]
    while waiting:
        holder = waiting.pop()
        if holder.__class__ is dict:
            places: Iterable[Any] = holder.items()
        elif holder.__class__ is list:
            places = enumerate(holder)
        else:
            continue
        for place, value in places:
            if value.__class__ is str:
                holder[place] = mask(value)  # the size stays as it is, so the walk goes on
            else:
                waiting.append(value)
