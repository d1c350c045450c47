"""What a person sees of a conversation: each event as lines with a style, and what is still running.

What an agent says is untrusted: nothing in it may act on the terminal, so every text passes `visible` or `cell` here. The
output decides how lines are shown: `LineOutput` writes them, `LiveScreen` puts them above the prompt.
"""

from __future__ import annotations

import re
import textwrap
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from operable.cli.terminal.change import CHANGES, ShownChange, changes, diff_lines, in_workspace, numbered
from operable.cli.terminal.question import asked_lines
from operable.kernel.data_class import dataclass
from operable.tool.human.cells import cell, visible
from operable.wire import events as e

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from operable.gate.approvals import Ask
    from operable.kernel.errors import Fail

_HEAD, _TAIL = 4, 8  # lines of an output that is longer than both
_TITLE = 300
_ASKED = 1000  # lines of a change that is asked about; /output has the rest
_OUTPUTS = 20
_OUTPUT = 1024 * 1024  # characters of one that is kept
_LIVE = 6  # lines of a running command
# What every session begins and ends with: in the log, for a user who looks for it.
_QUIET = frozenset(
    {"enforcement", "session_closed", "drift", "user_message", "tool_revised", "commands", "title"}
)
_MARKS = {"completed": "☑", "in_progress": "◐"}
_ENDS = {
    e.CANCELLED: "Stopped.",
    e.REFUSAL: "The model refused.",
    e.MAX_TOKENS: "The answer was cut: it reached the limit of tokens.",
    e.MAX_TURNS: "The turn was cut: it reached the limit of rounds.",
    e.TIMEOUT: "The turn took too long, and was ended.",
}


class ChatOutput(Protocol):
    """Where the lines go."""

    @property
    def width(self) -> int:
        """Columns of the terminal; 0: it is not one."""

    def line(self, text: str, style: str = "") -> None:
        """A line beside the answer; a text that is visible."""

    def answer(self, text: str) -> None:
        """A piece of the agent's answer; a text that is visible."""

    def close(self) -> None:
        """The answer ends here, or is interrupted by something else."""


@dataclass(slots=True)
class RunningCall:
    """A call without a result."""

    title: str
    kind: str
    began: float
    changes: list[ShownChange]
    output: str = ""
    asked: bool = False  # its change was shown with the question


class ChatTranscript:
    """Shows the events of one conversation."""

    def __init__(self, out: ChatOutput, workspace: str, *, thoughts: bool = False) -> None:
        self._out = out
        self._workspace = workspace
        self._thoughts = thoughts
        self._thought = ""  # the line that has no end yet
        self._running: dict[str, RunningCall] = {}
        self._above: RunningCall | None = None  # the call whose title is the last line
        self._problem = ""  # what was said last to be wrong
        self.plan: tuple[e.PlanEntry, ...] = ()
        self.outputs: deque[tuple[str, str]] = deque(maxlen=_OUTPUTS)  # (title, all of it)

    def show(self, event: e.AnyEvent) -> None:
        if self._thought and not isinstance(event, e.Thought):
            self._end_thought()
        match event:
            case e.TextDelta(text=text) if text:
                self._above = None
                self._out.answer(visible(text))
            case e.Thought(text=text):
                self._think(text)
            case e.ToolCall():
                self._called(event)
            case e.ToolResult():
                self._returned(event)
            case e.AgentError(error=error):
                self._problem = error.message
                self.say(f"✗ {error.message}", "bold red")
            case e.Notice(code=code, message=message) if code not in _QUIET:
                self.say(message, "dim")
            case e.AgentPlan(entries=entries):
                self.plan = entries
            case e.TurnEnd(reason=reason):
                self._ended(reason)

    def say(self, text: str, style: str = "") -> None:
        """Lines beside the answer."""
        self._out.close()
        self._above = None
        for line in visible(text).split("\n"):
            for part in _at_words(line, self._out.width):
                self._out.line(part, style)

    def fail(self, problem: Fail) -> None:
        """Why a turn was not completed, unless its events have said so."""
        if problem.code != "TURN_CANCELLED" and problem.message != self._problem:
            self.say(f"✗ {problem.message}", "bold red")
        if problem.hint:
            self.say(f"  hint: {problem.hint}", "dim")

    def heard(self, call_id: str, text: str) -> None:
        """What a running command has printed."""
        call = self._running.get(call_id)
        if call is not None:
            call.output = (call.output + visible(text.replace("\r\n", "\n").replace("\r", "\n")))[-_OUTPUT:]

    # --- what runs

    def live(self) -> Iterator[tuple[str, str]]:
        """(line, style) of what is running now, and the plan."""
        for entry in self.plan:
            style = "" if entry.status == "in_progress" else "dim"
            yield f"{_MARKS.get(entry.status, '☐')} {cell(entry.content)}", style
        for call in self._running.values():
            lines = call.output.rstrip("\n").split("\n") if call.output else []
            if len(lines) > _LIVE:
                yield f"  … {len(lines) - _LIVE} lines above", "dim"
            for line in lines[-_LIVE:]:
                yield f"  {line.expandtabs(4)}", "dim"
            if (seconds := int(monotonic() - call.began)) > 0:
                yield f"● {call.title[:60]} … {seconds} s", "bold"

    # --- what is asked

    def ask(self, ask: Ask, call_id: str | None = None) -> None:
        """A question, in full; `call_id` is the call that it is about, where that is known."""
        shown = changes(ask.arguments, ask.diffs, self._workspace) if ask.kind == "permission" else []
        call = self._running.get(call_id or ask.id)
        is_above = call is not None and call is self._above
        if call is not None:
            call.asked = bool(shown)
        if call is None or not is_above or call.title != cell(ask.text):
            self.say(f"? {ask.text or ask.tool}", "bold yellow")
        for change in shown:
            self._change(change, _ASKED)
        for line in asked_lines(ask, shown, self._workspace, said=call.title if is_above and call else ""):
            self._out.line(f"  {line}")

    def end_plan(self) -> None:
        """Print the plan as it is, and forget it."""
        for entry in self.plan:
            self.say(f"{_MARKS.get(entry.status, '☐')} {cell(entry.content)}", "dim")
        self.plan = ()

    # --- what is done

    def _think(self, text: str) -> None:
        if not self._thoughts:
            return
        *lines, self._thought = (self._thought + visible(text)).split("\n")
        for line in lines:
            self.say(line, "dim italic")

    def _end_thought(self) -> None:
        text, self._thought = self._thought, ""
        self.say(text, "dim italic")

    def _called(self, call: e.ToolCall) -> None:
        title = cell(call.title or call.tool_name)
        if not call.title or call.title == call.tool_name:
            title = f"{title} {_brief(call.arguments, title)}".rstrip()
        if len(title) > _TITLE:
            title = f"{title[:_TITLE]}… ({len(title) - _TITLE} more characters)"
        shown = changes(call.arguments, (), self._workspace) if call.kind == "edit" else []
        running = self._running[call.tool_call_id] = RunningCall(title, call.kind, monotonic(), shown)
        if call.kind != "think" or call.tool_name != "UpdatePlan":
            self.say(f"● {title}", "bold")
            self._above = running

    def _returned(self, event: e.ToolResult) -> None:
        call = self._running.pop(event.tool_call_id, None)
        text = _text_of(event.result)
        if event.denied:
            self.say(f"  denied: {cell(text)[:_TITLE]}", "yellow")
        elif call is None:
            return
        elif event.is_error:
            self._fold(call, f"✗ {text}", "red", at_words=True)
        elif call.kind == "edit":
            self._edited(call, event.result, text)
        elif call.kind in ("read", "search"):
            count = len(text.splitlines())
            self._keep(call, text)
            self.say(f"  {count} {'line' if count == 1 else 'lines'}", "dim")
        elif call.title != "Update the plan":
            self._fold(call, text, "dim")

    def _edited(self, call: RunningCall, result: Any, text: str) -> None:
        if call.asked:
            self.say("  done", "dim")
            return
        is_diff = isinstance(result, dict) and result.get("type") == "diff"
        lines = list(numbered(str(result.get("output", "")).splitlines())) if is_diff else []
        lines = lines or [line for change in call.changes for line in diff_lines(change)]
        self._out.close()
        for line, style in lines[:_ASKED]:
            self._out.line(line, style)
        if not lines:
            self._fold(call, text, "dim")

    def _change(self, change: ShownChange, limit: int) -> None:
        lines = list(diff_lines(change))
        self._out.line(f"  {cell(in_workspace(change.path, self._workspace))}", "bold")
        for line, style in lines[:limit] or [("     (nothing changes)", "dim")]:
            self._out.line(line, style)
        if len(lines) > limit:
            self.outputs.append((change.path, "\n".join(line for line, _ in lines)))
            self._out.line(f"  … {len(lines) - limit} more lines: /output shows all", "yellow")

    def _fold(self, call: RunningCall, text: str, style: str, *, at_words: bool = False) -> None:
        """`at_words`: lines that are too long go on in the next one, as those of what is said; output stays as it is."""
        self._keep(call, text)
        lines = visible(text).rstrip("\n").split("\n") if text.strip() else []
        if len(lines) > _HEAD + _TAIL:
            left = len(lines) - _HEAD - _TAIL
            lines = [*lines[:_HEAD], f"… {left} lines folded: /output shows all", *lines[-_TAIL:]]
        self._out.close()
        for line in lines:
            text = f"  {line.expandtabs(4)}"
            for part in _at_words(text, self._out.width if at_words else 0):
                self._out.line(part, style)

    def _keep(self, call: RunningCall, text: str) -> None:
        self.outputs.append((call.title, visible(text[-_OUTPUT:])))

    def _ended(self, reason: str) -> None:
        self._running.clear()
        self._out.close()
        self.end_plan()
        if (text := _ENDS.get(reason)) is not None:
            self.say(text, "yellow")


def _at_words(line: str, width: int) -> Sequence[str]:
    """A line that is too long, continued below its first word; a word that is too long is left to the terminal."""
    if not width or len(line) <= width:
        return (line,)
    margin = re.match(r"\s*(?:[●?>»✗]|[a-z/!@]\S*\s\s+|[a-z1-9]\s\s)?\s*", line)
    indent = " " * min(len(margin[0]) if margin else 0, width // 2)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )


def _brief(arguments: Any, title: str) -> str:
    """The arguments in one line, without what is shown as a change or is the title itself."""
    if isinstance(arguments, dict):
        arguments = {
            name: value for name, value in arguments.items() if name not in CHANGES and value != title
        }
        values: Sequence[Any] = list(arguments.values())
        if len(values) == 1 and isinstance(values[0], str):
            return cell(values[0])
    return cell(arguments) if arguments else ""


def _text_of(result: Any) -> str:
    """What a result says, whatever its form."""
    if isinstance(result, str):
        return result.removeprefix("Exit code: 0\n").removeprefix("STDOUT:\n")
    if isinstance(result, dict):
        if result.get("type") == "image":
            return "(an image)"
        for name in ("output", "stdout", "formatted_output", "text", "content"):
            if isinstance(result.get(name), str):
                return str(result[name])
    if isinstance(result, list):
        texts = [each.get("text") for each in result if isinstance(each, dict)]
        if texts and all(isinstance(text, str) for text in texts):
            return "\n".join(map(str, texts))
    return cell(result)
