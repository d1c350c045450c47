"""A conversation as lines: the agent's words on stdout as they come, everything else beside them on stderr.

For one message, for a session that is followed, and for terminals on which nothing can be moved. Questions are asked with
`Context.ask`, on stderr; what was typed before a question is not an answer to it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from operable.cli.terminal.question import interview
from operable.kernel.errors import Fail

if TYPE_CHECKING:
    from operable.cli.terminal.partner import AnswerDesk
    from operable.cli.terminal.transcript import ChatTranscript
    from operable.gate.approvals import Ask
    from operable.tool import Context

# How an answer to a question that does not wait any more is refused.
TOO_LATE = ("ALREADY_ANSWERED", "NO_SUCH_ASK", "QUESTION_WITHDRAWN")


class LineOutput:
    """See the module."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._console = _console(plain=context.plain)
        self._open = False  # the last line on stdout has no end yet
        self._status: Any = None

    @property
    def width(self) -> int:
        return self._console.width if self._console is not None else 0

    def line(self, text: str, style: str = "") -> None:
        self.rest()
        if sys.stderr is None:
            return
        try:
            if self._console is not None:
                from rich.text import Text

                self._console.print(Text(text, style=style), soft_wrap=True)
            else:
                sys.stderr.write(f"{text}\n")
                sys.stderr.flush()
        except OSError:
            return  # it has no reader; the conversation goes on

    def answer(self, text: str) -> None:
        self.rest()
        self._context.show(text)
        self._open = not text.endswith("\n") if text else self._open

    def close(self) -> None:
        self.rest()
        if self._open:
            self._context.show("\n")
            self._open = False

    def wait(self) -> None:
        """Something is expected; show that, until the next line is."""
        if self._console is not None and self._status is None and not self._open:
            self._status = self._console.status("")
            self._status.start()

    def rest(self) -> None:
        """No spinner from here on."""
        if self._status is not None:
            self._status.stop()
            self._status = None


def _console(*, plain: bool) -> Any:
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True, highlight=False, no_color=plain or None)


def settle(
    desk: AnswerDesk, ask: Ask, context: Context, transcript: ChatTranscript, call_id: str | None = None
) -> None:
    """Ask the person at the terminal; without one, say where the question can be answered."""
    transcript.ask(ask, call_id)
    line = desk.elsewhere(ask)
    if not context.person:
        if line:
            transcript.say(f"  waits for: {line} (or --deny)", "yellow")
        return
    try:
        _interviewed(desk, ask, context, transcript, line)
    except Fail as problem:
        if problem.code not in TOO_LATE:
            raise
        transcript.say(problem.message, "dim")


def _interviewed(desk: AnswerDesk, ask: Ask, context: Context, transcript: ChatTranscript, line: str) -> None:
    talk = interview(ask, desk.lasting(ask))
    prompt = next(talk)
    while True:
        if prompt.complaint:
            transcript.say(f"  {prompt.complaint}", "yellow")
        for key, meaning in prompt.offers:
            transcript.say(f"  {key}  {meaning}", "dim")
        fresh = ask.kind != "input"
        typed = context.ask(
            f"  {prompt.text}:", hint=line, fresh=fresh, withdrawn=lambda: not desk.waits(ask)
        )
        try:
            prompt = talk.send(typed)
        except StopIteration as ended:
            if ended.value is None:
                desk.give_up(ask)
            else:
                desk.answer(ask, ended.value)
            return
