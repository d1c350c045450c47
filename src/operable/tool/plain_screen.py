"""Human output without any library: aligned columns, no colour."""

from __future__ import annotations

import sys
from typing import Any


class PlainScreen:
    """Writes text; results to stdout, asides to stderr."""

    def table(self, columns: list[str], rows: list[dict[str, Any]], *, header: bool) -> None:
        from operable.tool.people import cell

        cells = [[cell(row.get(name)) for name in columns] for row in rows]
        if header:
            cells.insert(0, [name.upper() for name in columns])
        widths = [max(len(row[index]) for row in cells) for index in range(len(columns))]
        for row in cells:
            self.show("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())

    def show(self, text: str, _style: str = "") -> None:
        sys.stdout.write(f"{text}\n")

    def aside(self, text: str, _style: str = "") -> None:
        sys.stdout.flush()
        sys.stderr.write(f"{text}\n")

    def progress(self, fields: dict[str, Any]) -> None:
        if sys.stderr.isatty():
            total = f" of {fields['total']:g}" if fields.get("total") else ""
            self.aside(f"… {fields['done']:g}{total} {fields.get('message', '')}".rstrip())

    def end(self) -> None:
        """Nothing is left open."""
