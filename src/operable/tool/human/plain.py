"""Human output without any library: aligned columns, no colour."""

from __future__ import annotations

import sys

from operable.tool.human.cells import table_cell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PlainScreen:
    """Writes text; results to stdout, asides to stderr."""

    def __init__(self) -> None:
        self._widths: list[int] = []

    def cell(self, _column: str, value: Any) -> str:
        return table_cell(value)

    def table(self, columns: list[str], rows: list[list[str]], *, header: bool) -> None:
        shown = [[name.upper() for name in columns], *rows] if header else rows
        before = (
            [0] * len(columns) if header else self._widths
        )  # of the block before, which this one continues
        self._widths = [max(width, *map(len, column)) for width, *column in zip(before, *shown, strict=True)]
        for row in shown:
            line = "  ".join(text.ljust(width) for text, width in zip(row, self._widths, strict=True))
            self.show(line.rstrip())

    def show(self, text: str, _style: str = "") -> None:
        sys.stdout.write(f"{text}\n")

    def prose(self, text: str, _style: str = "") -> None:
        sys.stdout.write(text)

    def aside(self, text: str, _style: str = "") -> None:
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def progress(self, fields: dict[str, Any]) -> None:
        if sys.stderr is not None and sys.stderr.isatty():
            total = f" of {fields['total']:g}" if fields.get("total") else ""
            self.aside(f"… {fields['done']:g}{total} {fields.get('message', '')}".rstrip())

    def end(self) -> None:
        """Nothing is left open."""
