"""A terminal with a line to type in at its bottom: what was said above it, what is running just above it, a status below.

prompt_toolkit owns the keyboard and draws what moves: unfinished text, running commands, the plan, messages that wait. What
is complete is printed once, above all that, and is the terminal's from then on (it scrolls, it can be copied). Everything
here belongs to the loop that `run` works on. All of it is on stderr, so that a redirected stdout has the answers alone.
"""

from __future__ import annotations

import asyncio
import os
import sys
from time import monotonic
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth, suspend_to_background_supported

from operable.cli.terminal.markdown import MarkdownBlocks, rendered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History

_MOVES = 0.25  # seconds between two drawings of what runs
_AGAIN = 2.0  # seconds in which a second Ctrl-C leaves
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ROOM = 8  # lines of the terminal that are left to what was said
_INPUT = 10  # lines of a long message
_STYLES = {
    "dim": "class:dim",
    "bold": "bold",
    "bold red": "bold ansired",
    "bold yellow": "bold ansiyellow",
    "red": "ansired",
    "green": "ansigreen",
    "yellow": "ansiyellow",
    "dim italic": "class:dim italic",
}
_CODES = {
    "dim": "2",
    "bold": "1",
    "bold red": "1;31",
    "bold yellow": "1;33",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "dim italic": "2;3",
}


class LiveScreen:
    """See the module. `typed` gets each line that is entered; `interrupted` each Ctrl-C, True if it is to leave."""

    def __init__(
        self,
        *,
        plain: bool,
        history: History,
        completer: Completer,
        live: Callable[[], Iterable[tuple[str, str]]],
        status: Callable[[], str],
        typed: Callable[[str], None],
        interrupted: Callable[[], bool],
    ) -> None:
        self._colour = not plain
        self._live = live
        self._status = status
        self._typed = typed
        self._interrupted = interrupted
        self._blocks = MarkdownBlocks()
        self._printed: list[str] = []  # what is to be printed with the next drawing
        self._left_at = 0.0  # of the last Ctrl-C with nothing to stop
        self._drawn = False
        self.busy = False
        self.prompt = "> "
        self._draft: Document | None = None  # what was being typed when a question came
        self._input = Buffer(
            multiline=True,
            history=history,
            completer=completer,
            complete_while_typing=Condition(lambda: self._draft is None),
        )
        self._app = self._application()

    # --- output

    @property
    def width(self) -> int:
        return max(20, self._app.output.get_size().columns)

    def line(self, text: str, style: str = "") -> None:
        code = _CODES.get(style) if self._colour else None
        self._print(f"\x1b[{code}m{text}\x1b[0m\n" if code else f"{text}\n")

    def answer(self, text: str) -> None:
        for block in self._blocks.feed(text):
            self._print(rendered(block, self.width, colour=self._colour) + "\n")
        self._app.invalidate()

    def close(self) -> None:
        if (text := self._blocks.close()) and text.strip():
            self._print(rendered(text, self.width, colour=self._colour) + "\n")

    def _print(self, text: str) -> None:
        self._printed.append(text)
        if self._drawn and len(self._printed) == 1:
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Print what is complete above what moves."""
        text, self._printed = "".join(self._printed), []
        if not text:
            return
        output, running = self._app.output, self._app.is_running
        if running:
            self._app.renderer.erase()
        output.write_raw(text.replace("\n", "\r\n"))
        if running:
            self._app.renderer.render(self._app, self._app.layout)
        output.flush()

    # --- input

    async def run(self) -> None:
        """Until `leave`."""
        self._app.after_render += self._first_drawn
        moving = asyncio.get_running_loop().create_task(self._move())
        try:
            await self._app.run_async()
        finally:
            moving.cancel()
            self.flush()
            Vt100_Output.disable_bracketed_paste(self._app.output)  # type: ignore[arg-type]  # it is one
            self._app.output.flush()

    def _first_drawn(self, _app: Application[None]) -> None:
        """The keyboard is ours from here on: what was said before is shown now."""
        if not self._drawn:
            self._drawn = True
            asyncio.get_running_loop().call_soon(self.flush)

    def leave(self) -> None:
        if self._app.is_running and not self._app.future.done():  # type: ignore[union-attr]  # it runs
            self._app.exit()

    def set_aside(self, prompt: str) -> None:
        """A question: what is being typed is kept for later, and is not its answer."""
        if self._draft is None:
            self._draft = self._input.document
        self._input.reset()
        self.prompt = prompt
        self._app.invalidate()

    def restore(self) -> None:
        """The question is over."""
        draft, self._draft = self._draft, None
        self.prompt = "> "
        if draft is not None:
            self._input.set_document(draft, bypass_readonly=True)
        self._app.invalidate()

    def give_back(self, text: str) -> None:
        """Put a message that was not sent into the line again, before what is there."""
        here = self._input.text if self._draft is None else self._draft.text
        both = f"{text}\n{here}" if here else text
        if self._draft is None:
            self._input.set_document(Document(both), bypass_readonly=True)
        else:
            self._draft = Document(both)

    def unsent(self) -> str:
        """The message that was being typed; it becomes a part of the history."""
        text = self._input.text if self._draft is None else self._draft.text
        if text.strip():
            self._input.history.append_string(text)
        return text

    def rest(self) -> None:
        """Nothing runs any more."""
        self.busy = False
        self._app.invalidate()

    async def _move(self) -> None:
        while True:
            await asyncio.sleep(_MOVES)
            if self.busy:
                self._app.invalidate()

    # --- the layout

    def _application(self) -> Application[None]:
        size = _KeptOutput.from_pty(
            sys.stderr,
            term=os.environ.get("TERM"),
            default_color_depth=None if self._colour else ColorDepth.DEPTH_1_BIT,
        )
        size.enable_cpr = False  # nothing here depends on where the cursor is
        self._input.accept_handler = self._accepted
        entry = Window(
            BufferControl(self._input, input_processors=[BeforeInput(lambda: [("bold", self.prompt)])]),
            height=Dimension(min=1, max=_INPUT),
            dont_extend_height=True,
            wrap_lines=True,
        )
        root = HSplit(
            [
                ConditionalContainer(
                    Window(FormattedTextControl(self._drawn_live), dont_extend_height=True),
                    Condition(lambda: any(True for _ in self._wrapped())),
                ),
                entry,
                CompletionsMenu(max_height=8, scroll_offset=1),
                Window(FormattedTextControl(self._drawn_status), height=1, dont_extend_height=True),
            ],
            align=VerticalAlign.TOP,
        )
        return Application(
            Layout(root, focused_element=entry),
            key_bindings=self._keys(),
            style=Style.from_dict({"dim": "ansibrightblack", "status": "ansibrightblack"}),
            erase_when_done=True,
            output=size,
            max_render_postpone_time=0.05,
        )

    def _drawn_live(self) -> StyleAndTextTuples:
        lines = list(self._wrapped())
        room = max(1, self._app.output.get_size().rows - _ROOM)
        shown: StyleAndTextTuples = []
        for text, style in lines[-room:]:
            shown += [(_STYLES.get(style, ""), text), ("", "\n")]
        return shown[:-1]

    def _wrapped(self) -> Iterator[tuple[str, str]]:
        for line in self._blocks.tail.rstrip("\n").split("\n") if self._blocks.tail else ():
            for part in wrapped(line.expandtabs(4), self.width - 1):
                yield part, ""
        for text, style in self._live():
            for part in wrapped(text, self.width - 1):
                yield part, style

    def _drawn_status(self) -> StyleAndTextTuples:
        mark = f"{_SPINNER[int(monotonic() / _MOVES) % len(_SPINNER)]} " if self.busy else ""
        text = f"{mark}{self._status()}"
        return [("class:status", next(wrapped(text, self.width - 1), ""))]

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def _enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
                buffer.complete_state = None  # the choice was made; the next Enter sends
            elif buffer.document.current_line_before_cursor.endswith("\\") and self._draft is None:
                buffer.delete_before_cursor(1)
                buffer.insert_text("\n")
            elif self._draft is not None:  # an answer is not kept among the messages
                text = buffer.text
                buffer.reset()
                self._typed(text)
            else:
                buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _interrupt(event: KeyPressEvent) -> None:
            self._stop(event.current_buffer)

        @keys.add("c-d")
        def _end(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.delete()
            else:
                self.leave()

        @keys.add("c-z", filter=Condition(suspend_to_background_supported))
        def _suspend(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        return keys

    def _accepted(self, buffer: Buffer) -> bool:
        self._left_at = 0.0
        self._typed(buffer.text)
        return False  # the line is empty again

    def _stop(self, buffer: Buffer) -> None:
        if buffer.text and self._draft is None and not self.busy:
            buffer.reset()
            return
        now = monotonic()
        if self._interrupted() or now - self._left_at < _AGAIN:
            self.leave()
            return
        self._left_at = now


class _KeptOutput(Vt100_Output):
    """A terminal that goes on marking what is pasted while lines are printed: a paste must not be sent line by line."""

    def disable_bracketed_paste(self) -> None:
        """Not before the end."""


def wrapped(text: str, width: int) -> Iterator[str]:
    """A line in parts that fit, by the columns that its characters take."""
    part, used = "", 0
    for character in text:
        columns = get_cwidth(character)
        if used + columns > width:
            yield part
            part, used = "", 0
        part += character
        used += columns
    yield part
