"""Human output with rich: tables that fit the terminal, colour, a progress bar.

Each part of rich is imported by the method that needs it: without a table or a bar, human mode starts without them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from operable.tool.plain_screen import PlainScreen

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


class RichScreen:
    """Writes to the terminal through rich, and plainly to what is none. Raises ImportError when rich is not installed."""

    def __init__(self, *, plain: bool) -> None:
        from rich.console import Console

        self._out = Console(no_color=plain or None, highlight=False, soft_wrap=False)
        self._err = Console(stderr=True, no_color=plain or None, highlight=False)
        self._plain = PlainScreen()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def table(self, columns: list[str], rows: list[list[str]], *, header: bool) -> None:
        if not self._out.is_terminal:
            self._plain.table(columns, rows, header=header)
            return
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=header, header_style="bold", pad_edge=False)
        # It is the cells that must stay on one line. Of columns that may not wrap, rich takes the same from each, and the
        # short ones, which are the names, would be gone first; of others it takes from the widest.
        for name in columns:
            table.add_column(Text(name.upper(), no_wrap=True, overflow="ellipsis"))
        for row in rows:
            table.add_row(*(Text(text, no_wrap=True, overflow="ellipsis") for text in row))
        _print(self._out, table)

    def show(self, text: str, style: str) -> None:
        if not self._out.is_terminal:
            self._plain.show(text)
            return
        from rich.text import Text

        _print(self._out, Text(text, style=style), soft_wrap=True)

    def aside(self, text: str, style: str) -> None:
        if not self._err.is_terminal:
            self._plain.aside(text)
            return
        from rich.text import Text

        _print(self._err, Text(text, style=style), soft_wrap=True)

    def progress(self, fields: dict[str, Any]) -> None:
        if not self._err.is_terminal:
            return
        from rich.markup import escape

        message = escape(fields["message"])
        if self._bar is None:
            from rich.progress import Progress

            # Results that go to a file must get there; rich would print them above the bar, and only there.
            self._bar = Progress(console=self._err, transient=True, redirect_stdout=self._out.is_terminal)
            self._task = self._bar.add_task(message, total=fields.get("total"))
            self._bar.start()
        if self._task is not None:
            self._bar.update(
                self._task, description=message, completed=fields["done"], total=fields.get("total")
            )

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _print(console: Console, what: Any, **options: Any) -> None:
    try:
        console.print(what, **options)
    except SystemExit:  # rich's way to say that the reader has gone
        raise BrokenPipeError from None
