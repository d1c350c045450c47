"""Markdown that is still being written: whole blocks are shown as soon as they are complete. No I/O.

A block ends at an empty line outside of a fence, and a fence at its own end. So what was printed never has to be printed
again. A block that does not end is cut at a line end, and shown in parts.
"""

from __future__ import annotations

import re
from functools import cache
from io import StringIO
from typing import Any

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LIST = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])\s")
_CODE = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 16 * 1024  # characters of a block


class MarkdownBlocks:
    """Text in, complete blocks out; `tail` is what is not complete."""

    def __init__(self) -> None:
        self._lines: list[str] = []  # complete lines of the block
        self._rest = ""  # of a line
        self._fence = ""
        self._size = 0

    @property
    def tail(self) -> str:
        return "".join(self._lines) + self._rest

    def feed(self, text: str) -> list[str]:
        *lines, self._rest = (self._rest + text).split("\n")
        return [block for line in lines if (block := self._line(line))]

    def close(self) -> str:
        """What is left."""
        text, self._rest = self.tail, ""
        self._begin()
        return text

    def _line(self, line: str) -> str:
        """The block that this line completes, else nothing."""
        fence = _FENCE.match(line)
        if self._fence:
            if fence is not None and fence[1].startswith(self._fence) and not fence[2].strip():
                return self._ended(line)
        elif fence is not None:
            before = self._ended("") if self._lines and not self._is_list() else ""
            self._fence = fence[1]
            self._add(line)
            return before
        elif not line.strip():
            return self._ended(line) if self._lines else ""
        self._add(line)
        return self._cut() if self._size > _LONGEST else ""

    def _is_list(self) -> bool:
        return bool(self._lines) and _LIST.match(self._lines[0]) is not None

    def _add(self, line: str) -> None:
        self._lines.append(f"{line}\n")
        self._size += len(line) + 1

    def _ended(self, line: str) -> str:
        if line.strip():
            self._add(line)
        text = "".join(self._lines)
        self._begin()
        return text

    def _cut(self) -> str:
        fence = self._fence
        text = "".join(self._lines) + (f"{fence}\n" if fence else "")
        self._begin()
        if fence:
            self._fence = fence
            self._add(fence)
        return text

    def _begin(self) -> None:
        self._lines, self._fence, self._size = [], "", 0


def rendered(text: str, width: int, *, colour: bool) -> str:
    """A block as a terminal shows it, with line ends. The text must have no control characters."""
    from rich.console import Console

    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=colour,
        color_system="256" if colour else None,
        highlight=False,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(_markdown()(text, hyperlinks=False, code_theme="ansi_dark"))
    lines = [line.rstrip() for line in capture.get().split("\n")]
    shown = [number for number, line in enumerate(lines) if _CODE.sub("", line).strip()]
    return "\n".join(lines[shown[0] : shown[-1] + 1] if shown else []) + "\n"


@cache
def _markdown() -> Any:
    """Rich's, with headings at the left and without a box."""
    from rich.markdown import Heading, Markdown
    from rich.text import Text

    class LeftHeading(Heading):
        def __rich_console__(self, console: Any, options: Any) -> Any:
            text = self.text.copy()
            text.justify = "left"
            yield Text.assemble(text) if self.tag != "h1" else Text(text.plain, style="bold underline")

    class TerminalMarkdown(Markdown):
        elements = {**Markdown.elements, "heading_open": LeftHeading}  # noqa: RUF012 - as rich declares it

    return TerminalMarkdown
