"""A conversation of a person with an agent, on the best terminal that there is: with a line that stays, or line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operable.cli.terminal.line_output import LineOutput, settle
from operable.cli.terminal.partner import ChatMessage
from operable.cli.terminal.slash import SlashCommands
from operable.cli.terminal.transcript import ChatTranscript
from operable.kernel.errors import Fail
from operable.wire import events as e

if TYPE_CHECKING:
    from operable.cli.terminal.partner import ChatPartner
    from operable.tool import Context


def converse(partner: ChatPartner, context: Context, *, thoughts: bool) -> None:
    """Until the person leaves, or the agent does (Fail)."""
    context.show("")  # nothing of this is to be counted at the end
    import os
    import sys

    moves = os.environ.get("TERM", "") not in ("", "dumb", "unknown")
    if moves and sys.stdin.isatty() and sys.stderr.isatty():
        from operable.cli.terminal.dialogue import Dialogue

        Dialogue(partner, plain=context.plain, thoughts=thoughts).hold()
    else:
        _Lines(partner, context, thoughts=thoughts).hold()


class _Lines:
    """A terminal on which nothing can be moved: one line after the other, and no line while a turn runs."""

    def __init__(self, partner: ChatPartner, context: Context, *, thoughts: bool) -> None:
        self._partner = partner
        self._context = context
        self._out = LineOutput(context)
        self._transcript = ChatTranscript(self._out, partner.workspace, thoughts=thoughts)
        self._slash = SlashCommands(partner, self._transcript, None, partner.workspace)
        partner.listen(self._transcript.heard)

    def hold(self) -> None:
        self._transcript.say(self._partner.greeting, "dim")
        while self._partner.alive:
            try:
                text = self._message()
            except Fail as ended:
                if ended.code != "INTERACTIVE_REQUIRED":
                    raise
                return  # the end of the input
            said = self._slash.said(text) if text.startswith("/") else None
            if said is False:
                return
            if text and said is None:
                self._turn(text)

    def _message(self) -> str:
        """A line, and those that a backslash at its end announces."""
        text = self._context.ask(">", hint="").strip()
        while text.endswith("\\"):
            text = f"{text[:-1]}\n{self._context.ask('>', hint='').rstrip()}"
        return text

    def _turn(self, text: str) -> None:
        line = text[1:].strip() if text.startswith("!") else ""
        said = ChatMessage(text).after("" if line else self._slash.take_notes())
        turn = self._slash.shell(line, lambda *_: None) if line else self._partner.turn(said)
        try:
            for event in turn:
                self._transcript.show(event)
                if isinstance(event, e.AgentPrompt) and (ask := self._partner.question(event)) is not None:
                    settle(self._partner, ask, self._context, self._transcript, event.call_id)
        except Fail as problem:
            self._transcript.fail(problem)
            if not self._partner.alive:
                raise
