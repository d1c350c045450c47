"""A view that is drawn again and again at a terminal, until the user stops it. Elsewhere the same command is a stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def can_draw() -> bool:
    """Whether standard output is a terminal, and the package that draws is there."""
    import importlib.util
    import sys

    return sys.stdout.isatty() and importlib.util.find_spec("rich") is not None


def draw_until_stopped(
    look: Callable[[int], Any], pause: float, press: Callable[[str], object] | None = None
) -> None:
    """Show what `look` returns for a terminal of so many lines, every `pause` seconds. It ends with Ctrl-C or an error.

    It is drawn again only after it has changed, or the terminal has: marked text stays marked.

    `press` is called with each key, while nothing is drawn: it may write to the terminal and read from it.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False)
    while True:
        with single_keys() as key, Live(console=console, auto_refresh=False, transient=True) as live:
            pressed, drawn = "", None
            while not pressed:
                found = look(console.height)
                if (lines := console.render_lines(found)) != drawn:
                    live.update(found, refresh=True)
                    drawn = lines
                pressed = key(pause)
        if press is not None:
            press(pressed)


@contextmanager
def single_keys() -> Iterator[Callable[[float], str]]:
    """Keys without a line end, as long as the block lasts: a function that waits so many seconds for one, else gives "".

    Where the input is not a terminal, no key ever comes. Ctrl-C still interrupts.
    """
    import os
    import sys
    import termios
    import tty
    from select import select

    try:
        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd)
    except (AttributeError, OSError, ValueError, termios.error):
        yield _no_key
        return

    def key(seconds: float) -> str:
        ready, _, _ = select([fd], [], [], seconds)
        return os.read(fd, 1).decode("ascii", "ignore") if ready else ""

    tty.setcbreak(fd, termios.TCSADRAIN)
    try:
        yield key
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _no_key(seconds: float) -> str:
    time.sleep(seconds)
    return ""
