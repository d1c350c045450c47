"""The events of a session as lines of text, as AIP-46 streams them. No I/O.

    text              on newline boundaries                      stdout
    thought           `[thought] ` before each line              stdout
    tool-call         `[tool] NAME`                              stdout
    tool-result       `[tool-error] TEXT` if it is an error      stderr
    agent-prompt      `[awaiting input] TEXT`                    stdout
    turn-end          `── turn-end (REASON) ──`                  stdout
    error             `[error] MESSAGE`, then the agent's stderr stderr

Theory of operation. A line may need several records, and a record may give several lines, so the number of a record is
not enough to go on behind a line. The cursor of a line is `N`: everything up to record N has been given; or `N+K`: of
record N the first K characters (of a text) or lines (of anything else) have been given. `LineProjector(cursor)` goes on
exactly there: whatever the pieces of the text and wherever a reader left, no line is lost, repeated or cut.
"""

from typing import Final, NamedTuple

from operable.host.session.log_files import Record
from operable.kernel.errors import Fail
from operable.wire.events import (
    AgentError,
    AgentPrompt,
    AnyEvent,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    TurnEnd,
)

STDOUT: Final = "stdout"
STDERR: Final = "stderr"
# Characters of one line. A text without a line end becomes several lines, so that a reader's memory has a limit.
LINE_LIMIT: Final = 64 * 1024
_QUOTED: Final = 500  # characters of a failed result or of a question: enough to recognise it


class ProjectedLine(NamedTuple):
    """One line, and the cursor behind it."""

    cursor: str
    line: str
    stream: str = STDOUT


class LineProjector:
    """Records in, lines out. `after` is where the records that are fed begin."""

    def __init__(self, cursor: str = "0") -> None:
        record, skip = parse_cursor(cursor)
        self.after = record - 1 if skip else record
        self._skip = skip  # of the first record that is fed
        self._prefix = ""  # of the line that is not complete
        self._pending = ""
        self._last = self.after

    def feed(self, record: Record) -> list[ProjectedLine]:
        """The lines that are complete with this record."""
        skip, self._skip = self._skip, 0
        event = record.event
        if isinstance(event, TextDelta):
            found = self._text(record.id, "", event.text, skip)
        elif isinstance(event, Thought):
            found = self._text(record.id, "[thought] ", event.text, skip)
        else:
            found = self._others(record.id, event, skip)
        self._last = record.id
        return found

    def flush(self) -> list[ProjectedLine]:
        """The line that is not complete, at the end of the log."""
        return self._ended(self._last)

    def _text(self, number: int, prefix: str, text: str, skip: int) -> list[ProjectedLine]:
        if not text:
            return []
        found = self._ended(number - 1) if self._pending and prefix != self._prefix else []
        self._prefix = prefix
        at = skip
        while at < len(text):
            end = text.find("\n", at)
            room = at + LINE_LIMIT - len(self._pending)
            if 0 <= end <= room:
                behind, piece = end + 1, text[at:end]
            elif len(text) > room:  # the next piece could still begin with the line end
                behind, piece = room, text[at:room]
            else:
                self._pending += text[at:]
                break
            line = (self._pending + piece).removesuffix("\r") if 0 <= end <= room else self._pending + piece
            found.append(ProjectedLine(_place(number, behind, len(text)), prefix + line))
            self._pending, at = "", behind
        return found

    def _others(self, number: int, event: AnyEvent, skip: int) -> list[ProjectedLine]:
        lines = _lines(event)
        if not lines:
            return []  # what is not shown does not end a line either
        shown = enumerate(lines[skip:], skip + 1)
        return [
            *self._ended(number - 1),
            *(
                ProjectedLine(_place(number, count, len(lines)), line, stream)
                for count, (line, stream) in shown
            ),
        ]

    def _ended(self, number: int) -> list[ProjectedLine]:
        text, self._pending = self._pending, ""
        return [ProjectedLine(str(number), self._prefix + text)] if text else []


def parse_cursor(text: str) -> tuple[int, int]:
    """The record and how much of it; Fail usage/CURSOR_INVALID."""
    record, _, skip = text.partition("+")
    if not (_is_number(record) and _is_number(skip or "0")):
        raise Fail("usage", "CURSOR_INVALID", "a cursor is the id of an earlier message", target=text[:40])
    return int(record), int(skip or "0")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def _place(number: int, given: int, size: int) -> str:
    return str(number) if given >= size else f"{number}+{given}"


def _lines(event: AnyEvent) -> list[tuple[str, str]]:
    match event:
        case ToolCall():
            return [(f"[tool] {_flat(event.tool_name)}", STDOUT)]
        case ToolResult(is_error=True):
            text = _flat(event.result) if isinstance(event.result, str) else ""
            return [(f"[tool-error] {text}".rstrip(), STDERR)]
        case AgentPrompt():
            return [(f"[awaiting input] {_flat(event.text or event.tool_name)}".rstrip(), STDOUT)]
        case TurnEnd():
            return [(f"── turn-end ({event.reason}) ──", STDOUT)]
        case AgentError():
            return [(line, STDERR) for line in _error_lines(event)]
        case _:
            return []


def _error_lines(event: AgentError) -> list[str]:
    data = event.error.data
    stderr = data.get("stderr") if isinstance(data, dict) else None
    tail = stderr.splitlines() if isinstance(stderr, str) else []
    return [f"[error] {_flat(event.error.message)}", *tail]


def _flat(text: str) -> str:
    """In one line, and not longer than a reader needs to recognise it."""
    return " ".join(text.split())[:_QUOTED]
