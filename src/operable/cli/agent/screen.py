"""A conversation on a terminal: the agent's words on stdout as they come, everything else beside them on stderr.

What an agent says is untrusted: nothing in it may act on the terminal. The marks in front of the other events are those of
AIP-46, so that people see the same words in every host.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from operable.tool.human.mode import cell
from operable.wire import events as e

if TYPE_CHECKING:
    from operable.tool import Context

# A line of a terminal or two: what is longer is in the log.
_SHOWN = 160


class Screen:
    """Shows the events of one conversation after the other."""

    def __init__(self, context: Context, *, thoughts: bool = False) -> None:
        self._context = context
        self._thoughts = thoughts
        self._open = False  # the last line of text has no end yet

    def show(self, event: e.AnyEvent) -> None:
        match event:
            case e.TextDelta(text=text):
                self._context.show(text)
                self._open = not text.endswith("\n") if text else self._open
            case e.Thought(text=text):
                if self._thoughts:
                    self.aside(f"[thought] {text}")
            case e.ToolCall():
                self.aside(f"[tool] {event.title or event.tool_name} {_brief(event.arguments)}")
            case e.ToolResult():
                if event.denied or event.is_error:
                    mark = "[tool-denied]" if event.denied else "[tool-error]"
                    self.aside(f"{mark} {_brief(event.result)}")
            case e.AgentError(error=error):
                self.aside(f"[error] {error.message}")
            case e.TurnEnd():
                self.end()
            case e.Notice(code=code, message=message) if code not in _QUIET:
                self.aside(f"[notice] {message}")

    def aside(self, text: str) -> None:
        """A line beside the conversation."""
        self.end()
        if sys.stderr is not None:
            try:
                sys.stderr.write(f"{cell(text)}\n")
                sys.stderr.flush()
            except OSError:
                return  # it has no reader; the conversation goes on

    def end(self) -> None:
        """Begin a new line, if one is open."""
        if self._open:
            self._context.show("\n")
            self._open = False


# What every session begins and ends with: in the log, for a user who looks for it.
_QUIET = frozenset({"enforcement", "session_closed", "drift"})


def _brief(value: Any) -> str:
    text = cell(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
