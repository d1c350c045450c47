"""Human output with rich: tables that fit the terminal, colour, a progress bar.

A list has one line a row: what is wider than the terminal is cut with an ellipsis, sentences only, and columns that have no
room at all are named below. A few rows lose nothing: their long cells go on in the lines below. Where that would break words
(an id, a digest, a path: what users copy), each row is shown as a record, one field below the other.

Each part of rich is imported by the method that needs it: without a table or a bar, human mode starts without them too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from operable.tool.human.cells import SIGN_STYLES, terminal_cell
from operable.tool.human.plain import PlainScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.progress import Progress, TaskID


GAP = 2  # between two columns
READABLE = 20  # columns, for a sentence
# Columns for the first sentence of a list, which says what a row is: the last columns go before it has less.
LEADING = 32
# Rows. From so many on a table is a list, through which one looks for something.
LIST = 8
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
        self._cut = False
        self._hidden: list[str] = []

    def cell(self, column: str, value: Any) -> str:
        return terminal_cell(column, value) if self._out.is_terminal else self._plain.cell(column, value)

    def table(self, columns: list[str], rows: list[list[str]], *, header: bool) -> None:
        if not self._out.is_terminal:
            self._plain.table(columns, rows, header=header)
            return
        rows = [[text if len(text) <= LONGEST else f"{text[:LONGEST]}…" for text in row] for row in rows]
        room = self._out.width - GAP * (len(columns) - 1)
        widths = _widths([columns, *rows], room)
        if header:  # what continues a table looks like its beginning
            self._cut = len(rows) >= LIST and not _fits([columns, *rows], room)
        cut = _list_widths(columns, rows, self._out.width) if self._cut else None
        if header and cut is None:
            self._records = widths is None
        if cut is not None:
            self._hidden = columns[len(cut) :]
            rows = [row[: len(cut)] for row in rows]
            self._show_table(columns[: len(cut)], rows, header=header, widths=cut, cut=True)
        elif self._records:
            self._show_records(columns, rows)
        else:
            self._show_table(columns, rows, header=header, widths=widths)

    def _show_table(
        self,
        columns: list[str],
        rows: list[list[str]],
        *,
        header: bool,
        widths: list[int] | None,
        cut: bool = False,
    ) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=header, header_style="bold", pad_edge=False)
        for number, name in enumerate(columns):
            width = widths[number] if widths else None
            overflow: Literal["ellipsis", "fold"] = "ellipsis" if cut else "fold"
            table.add_column(Text(name.upper()), width=width, overflow=overflow, no_wrap=cut)
        for row in rows:
            table.add_row(*(Text(text, style=_style(text)) for text in row))
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
                    line.stylize(_style(text))
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
        if self._hidden:
            names, self._hidden = ", ".join(self._hidden), []
            self.aside(f"no room for: {names}; a wider terminal or --output jsonl shows them", "dim")


def _style(text: str) -> str:
    """The colour of a state that has a sign."""
    return SIGN_STYLES.get(text[:1], "") if text[1:2] == " " else ""


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


def _fits(rows: list[list[str]], room: int) -> bool:
    from rich.cells import cell_len

    return sum(max(map(cell_len, column)) for column in zip(*rows, strict=True)) <= room


def _list_widths(columns: list[str], rows: list[list[str]], width: int) -> list[int] | None:
    """How wide the columns of a list are: the first ones that have room. Only sentences are cut, to READABLE at the least.

    None where not even the first column has room.
    """
    from rich.cells import cell_len

    shown = list(zip(columns, *rows, strict=True))
    whole = [max(map(cell_len, column)) for column in shown]
    # A header is not cut. What has no space in it is a word, which users copy.
    sentences = [any(" " in text for text in column[1:]) for column in shown]
    least = [
        min(full, max(READABLE, cell_len(column[0]))) if sentence else full
        for column, full, sentence in zip(shown, whole, sentences, strict=True)
    ]
    first = sentences.index(True) if True in sentences else len(columns)
    leading = [
        min(full, max(LEADING, few)) if number == first else few
        for number, (few, full) in enumerate(zip(least, whole, strict=True))
    ]
    for kept in range(len(columns), first, -1):
        if (widths := _shares(leading[:kept], whole, width - GAP * (kept - 1))) is not None:
            return widths
    for kept in range(len(columns), 0, -1):
        if (widths := _shares(least[:kept], whole, width - GAP * (kept - 1))) is not None:
            return widths
    return None


def _shares(least: list[int], whole: list[int], room: int) -> list[int] | None:
    """The least of each column, and of what is left as much as the first can use, then the next; None without room."""
    left = room - sum(least)
    if left < 0:
        return None
    widths = []
    for few, full in zip(least, whole, strict=False):
        more = min(full - few, left)
        widths.append(few + more)
        left -= more
    return widths


def _longest_word(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for text in texts for word in text.split()), default=0)
