"""A chat on a terminal: the agent's words on stdout as they come, everything else beside them on stderr.

On a terminal, changes are shown as coloured diffs and a spinner moves while nothing comes; without rich, or
without a terminal, the same lines are plain. What a model says is untrusted: nothing in it may act on the terminal.
"""

import difflib
import sys
from typing import Any

from operable.agent.tool import presentation
from operable.tool.human.mode import cell, visible
from operable.tool.run.context import Context
from operable.wire import events as e

_LINES = 60  # of a diff or an output; more is more than a screen
_BRIEF = 160
_MARKS = {"+": "green", "-": "red", "@": "cyan"}


class ChatScreen:
    """Shows the events of one chat."""

    def __init__(self, context: Context, workspace: str, *, thoughts: bool = False) -> None:
        self._context = context
        self._workspace = workspace
        self._thoughts = thoughts
        self._console = _console(plain=context.plain)
        self._status: Any = None
        self._open = False  # the last line on stdout has no end yet
        self._thinking = False  # the same of a thought on stderr

    def show(self, event: e.AnyEvent) -> None:
        self.rest()
        if self._thinking and not isinstance(event, e.Thought):
            self._thinking = False
            self._write("\n")
        match event:
            case e.TextDelta(text=text):
                self._context.show(text)
                self._open = not text.endswith("\n") if text else self._open
            case e.Thought(text=text):
                self._thought(text)
            case e.ToolCall():
                self.aside(f"● {event.title}", "bold")
            case e.AgentPrompt():
                self._proposal(event)
            case e.ToolResult():
                self._result(event)
            case e.AgentError(error=error):
                self.aside(f"✗ {error.message}", "bold red")
            case e.Notice(message=message):
                self.aside(message, "dim")
            case e.TurnEnd():
                self._end(event)

    def wait(self) -> None:
        """Something is expected; show that, until the next event is."""
        if self._console is not None and self._status is None and not self._open:
            self._status = self._console.status("")
            self._status.start()

    def rest(self) -> None:
        """No spinner from here on."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def aside(self, text: str, style: str = "") -> None:
        """A line beside the answer."""
        self.end_line()
        self._write(f"{visible(text)}\n", style)

    def end_line(self) -> None:
        if self._open:
            self._context.show("\n")
            self._open = False

    def _thought(self, text: str) -> None:
        if self._thoughts:
            self.end_line()
            self._thinking = not text.endswith("\n")
            self._write(visible(text), "dim italic")

    def _proposal(self, prompt: e.AgentPrompt) -> None:
        """What the user is about to be asked about."""
        change = presentation.change_of(prompt.tool_name, prompt.arguments, self._workspace)
        if change is not None:
            before = (change.before or "").splitlines()
            self._diff(difflib.unified_diff(before, change.after.splitlines(), lineterm="", n=2))
        elif isinstance(prompt.arguments, dict) and not _says_all(prompt):
            # Whole: nothing runs that the user could not see.
            self.aside(f"  {prompt.tool_name} {cell(prompt.arguments)}", "dim")

    def _result(self, result: e.ToolResult) -> None:
        reported = result.result
        if result.denied:
            self.aside(f"  denied: {cell(reported)[:_BRIEF]}", "yellow")
        elif isinstance(reported, dict) and reported.get("type") == "diff" and not result.is_error:
            self._diff(str(reported.get("output", "")).splitlines())
        elif result.is_error:
            self.aside(f"  {_first_lines(str(reported))}", "red")

    def _diff(self, lines: Any) -> None:
        shown = [line for line in lines if not line.startswith(("---", "+++"))]
        self.end_line()
        for line in shown[:_LINES]:
            self._write(f"  {visible(line)}\n", _MARKS.get(line[:1], "dim"))
        if len(shown) > _LINES:
            self._write(f"  … {len(shown) - _LINES} more lines\n", "dim")

    def _end(self, end: e.TurnEnd) -> None:
        self.end_line()
        if end.reason == e.CANCELLED:
            self.aside("Stopped.", "yellow")

    def _write(self, text: str, style: str = "") -> None:
        if self._console is not None:
            from rich.text import Text

            self._console.print(Text(text, style=style), end="", soft_wrap=True)
            return
        sys.stderr.write(text)
        sys.stderr.flush()


def _says_all(prompt: e.AgentPrompt) -> bool:
    """Whether the text of a question has the tool and every argument in it."""
    said = (prompt.tool_name, *map(cell, prompt.arguments.values()))
    return all(text in cell(prompt.text) for text in said)


def _first_lines(text: str, limit: int = 5) -> str:
    lines = text.splitlines()
    more = [f"… {len(lines) - limit} more lines"] if len(lines) > limit else []
    return "\n  ".join([*(line[:_BRIEF] for line in lines[:limit]), *more])


def _console(*, plain: bool) -> Any:
    """Rich, if the output is a terminal and rich is installed."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:  # the extra `people` is not installed
        return None
    return Console(stderr=True, highlight=False, no_color=plain or None)
