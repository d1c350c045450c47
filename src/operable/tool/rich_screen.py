"""Human output with rich: tables that fit the terminal, colour, a progress bar.

Each part of rich is imported by the method that needs it: without a table or a bar, human mode starts without them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class RichScreen:
    """Writes to the terminal through rich; asides go to stderr. Raises ImportError when rich is not installed."""

    def __init__(self, *, plain: bool) -> None:
        from rich.console import Console

        self._out = Console(no_color=plain or None, highlight=False, soft_wrap=False)
        self._err = Console(stderr=True, no_color=plain or None, highlight=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def table(self, columns: list[str], rows: list[dict[str, Any]], *, header: bool) -> None:
        from operable.tool.people import cell

        if not self._out.is_terminal:
            from operable.tool.plain_screen import PlainScreen

            PlainScreen().table(columns, rows, header=header)
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=header, header_style="bold", pad_edge=False)
        for name in columns:
            table.add_column(name.upper(), overflow="ellipsis", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(cell(row.get(name))) for name in columns))
        self._out.print(table)

    def show(self, text: str, style: str) -> None:
        from rich.text import Text

        self._out.print(Text(text, style=style), soft_wrap=True)

    def aside(self, text: str, style: str) -> None:
        from rich.text import Text

        self._out.file.flush()
        self._err.print(Text(text, style=style), soft_wrap=True)

    def progress(self, fields: dict[str, Any]) -> None:
        if not self._err.is_terminal:
            return
        if self._bar is None:
            from rich.progress import Progress

            self._bar = Progress(console=self._err, transient=True)
            self._task = self._bar.add_task(str(fields.get("message", "")), total=fields.get("total"))
            self._bar.start()
        if self._task is not None:
            self._bar.update(self._task, completed=fields["done"], total=fields.get("total"))

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
