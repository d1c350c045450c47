"""Human output with rich: tables that fit the terminal, colour, a progress bar.

A table that is wider than the terminal loses nothing: its long cells go on in the lines below. Where that would break
words (an id, a digest, a path: what users copy), each row is shown as a record, one field below the other.

Each part of rich is imported by the method that needs it: without a table or a bar, human mode starts without them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from operable.tool.human.plain import PlainScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.progress import Progress, TaskID


GAP = 2  # between two columns
READABLE = 20  # columns, for a sentence
# A document in a cell is not what one reads a terminal for; machine mode has all of it.
LONGEST = 2000


class RichScreen:
    """Writes to the terminal through rich, and plainly to what is none. Raises ImportError when rich is not installed."""

    def __init__(self, *, plain: bool) -> None:
        from rich.console import Console

        self._out = Console(no_color=plain or None, highlight=False, soft_wrap=False)
        self._err = Console(stderr=True, no_color=plain or None, highlight=False)
        self._plain = PlainScreen()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._records = False

    def table(self, columns: list[str], rows: list[list[str]], *, header: bool) -> None:
        if not self._out.is_terminal:
            self._plain.table(columns, rows, header=header)
            return
        rows = [[text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in row] for row in rows]
        widths = _widths([columns, *rows], self._out.width - GAP * (len(columns) - 1))
        if header:  # what continues a table looks like its beginning
            self._records = widths is None
        if self._records:
            self._show_records(columns, rows)
        else:
            self._show_table(columns, rows, header=header, widths=widths)

    def _show_table(
        self, columns: list[str], rows: list[list[str]], *, header: bool, widths: list[int] | None
    ) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=header, header_style="bold", pad_edge=False)
        for number, name in enumerate(columns):
            table.add_column(Text(name.upper()), width=widths[number] if widths else None, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        _print(self._out, table)

    def _show_records(self, columns: list[str], rows: list[list[str]]) -> None:
        """Each row as lines of name and value, without the empty ones, and an empty line behind it."""
        from rich.text import Text

        margin = max(map(len, columns)) + GAP
        room = max(self._out.width - margin, 1)
        for row in rows:
            for name, text in zip(columns, row, strict=True):
                # A word that is too long for any line is left to the terminal to wrap, from which it is copied whole.
                lines = [Text(text)] if _longest_word([text]) > room else Text(text).wrap(self._out, room)
                for number, line in enumerate(lines if text else []):
                    line.rstrip()
                    label = "" if number else name.upper()
                    _print(self._out, Text.assemble((label.ljust(margin), "bold"), line), soft_wrap=True)
            _print(self._out, "")

    def show(self, text: str, style: str) -> None:
        if not self._out.is_terminal:
            self._plain.show(text)
            return
        from rich.text import Text

        _print(self._out, Text(text, style=style), soft_wrap=True)

    def prose(self, text: str, style: str) -> None:
        if not style or not self._out.is_terminal:
            self._plain.prose(text)
            return
        from rich.text import Text

        _print(self._out, Text(text, style=style), end="", soft_wrap=True)

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
            self._bar = None  # what comes later begins another one


def _print(console: Console, what: Any, **options: Any) -> None:
    try:
        console.print(what, **options)
    except SystemExit:  # rich's way to say that the reader has gone
        raise BrokenPipeError from None


def _widths(rows: list[list[str]], room: int) -> list[int] | None:
    """How wide each column is to be; None where there is no room for their longest words and for sentences that can be read.

    Those with sentences share what the others leave.
    """
    from rich.cells import cell_len

    columns = list(zip(*rows, strict=True))
    whole = [max(map(cell_len, column)) for column in columns]
    least = [_longest_word(column) for column in columns]
    for most in range(max(whole), READABLE - 1, -1):
        widths = [max(word, min(width, most)) for word, width in zip(least, whole, strict=True)]
        if sum(widths) <= room:
            return widths
    return whole if sum(whole) <= room else None


def _longest_word(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for text in texts for word in text.split()), default=0)
