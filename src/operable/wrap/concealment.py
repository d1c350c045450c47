"""The secrets that a program gets in its environment must not come back in what it prints.

Which variables count says `proc.environment.secret_values`: those whose name announces a secret (`GH_TOKEN`), and the
password in any address (`DATABASE_URL`). In rows exactly these values are masked (`kernel.redact.known`), and nothing by its
looks: what else a program prints is data. Where no such variable is set, rows pass untouched.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any


def secrets(names: Sequence[str]) -> list[str]:
    """The values of these variables that a program is given and that must not come back."""
    if not names:
        return []
    from operable.proc.environment import environment, secret_values

    return secret_values(environment(inherit=names))


def concealed(rows: Iterable[Any], values: Sequence[str]) -> Iterator[Any]:
    """The same rows without these values."""
    from operable.kernel.redact import Known
    from operable.tool.declare.framework import FrameworkNotice

    known = Known(values)
    try:
        for row in rows:
            if isinstance(
                row, FrameworkNotice
            ):  # warnings, progress and planned changes repeat what a program said
                row.fields = known.value(row.fields)
                yield row
            else:
                yield known.value(row)
    finally:
        close = getattr(rows, "close", None)
        if close is not None:
            close()
