"""What was spoken in a conversation: in words, from its log, and quoted before a message that goes on with it.

The record is bounded (the newest LIMIT characters, whole turns) and marked: the text of an agent is untrusted, and what it
wrote must not read like a turn of the user's. So only the host writes at the beginning of a line: every further line of a
quoted text is indented, and the record's own marks are broken in it. A message that begins with such a record is taken back
to its own words before it is quoted again, so that records do not grow into each other.
"""

import re
from collections.abc import Iterable, Sequence

from operable.host.session.log_files import USER_MESSAGE, Record
from operable.kernel.data_class import dataclass
from operable.wire.events import AnyEvent, Notice, TextDelta, ToolCall, TurnEnd

# About 8,000 tokens: enough for the thread of a conversation, a small part of any window.
LIMIT = 32_000
_BEGIN, _END = "<conversation-so-far>", "</conversation-so-far>"
# As a model reads it: in any case, with blanks.
_MARK = re.compile(r"<(?=\s*/?\s*conversation-so-far)", re.IGNORECASE)
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Said:
    """One side of an earlier turn. `who`: user or agent."""

    who: str
    text: str


def spoken(records: Iterable[Record]) -> list[Said]:
    """Both sides of a conversation, in order; a side that said nothing in a turn is left out."""
    found: list[Said] = []
    words: list[str] = []
    has_called = False  # since the last words: what follows a call is a paragraph of its own
    for record in records:
        event = record.event
        if isinstance(event, TextDelta):
            if has_called and words and not words[-1].endswith("\n"):
                words.append("\n\n")
            words.append(event.text)
            has_called = False
        elif isinstance(event, ToolCall):
            has_called = True
        elif isinstance(event, TurnEnd):
            has_called = False
            found.append(Said("agent", "".join(words)))
            words.clear()
        elif (said := user_words(event)) is not None:
            found.append(Said("user", said))
    return [said for said in found if said.text]


def user_words(event: AnyEvent) -> str | None:
    """What the user said, without what was quoted before it; None when the event is something else."""
    if isinstance(event, Notice) and event.code == USER_MESSAGE and isinstance(event.data, dict):
        return _own_words(str(event.data.get("text", "")))
    return None


def quoted(history: Sequence[Said], text: str) -> str:
    """The message with the newest turns before it."""
    turns: list[str] = []
    size = 0
    for said in reversed(history):
        turn = _turn(said)
        size += len(turn)
        if size > LIMIT:
            break
        turns.append(turn)
    if not turns:
        return text
    record = "\n".join(reversed(turns))
    return f"{_BEGIN}\n{record}\n{_END}\n\n{text}"


def _own_words(text: str) -> str:
    record, end, words = text.partition(f"\n{_END}\n\n")
    return words if end and record.startswith(f"{_BEGIN}\n") else text


def _turn(said: Said) -> str:
    # `splitlines`: whatever a model could take for a new line.
    lines = _MARK.sub("< ", said.text).splitlines()
    return f"[{said.who}] " + f"\n{_INDENT}".join(lines)
