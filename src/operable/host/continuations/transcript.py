"""The last turns, as text, in front of the message; a fresh session for every turn.

Costs tokens, keeps nothing, survives restarts. What is quoted is bounded (the newest LIMIT characters, whole turns) and is
marked as a record: text of an agent is untrusted, and a turn that it wrote must not read like one of the user's.
The caller's own history, when given, is used instead of what was heard in this process.
"""

from dataclasses import replace

from operable.host.arm import Message
from operable.host.strategy import Kept, Said, Strategy, TurnRequest, closed, fresh

# About 8,000 tokens: enough for the thread of a conversation, a small part of any window.
LIMIT = 32_000


def _quoted(request: TurnRequest, kept: Kept) -> Message:
    history = list(request.history) or kept.history
    turns: list[str] = []
    size = 0
    for said in reversed(history):
        text = _turn(said)
        size += len(text)
        if size > LIMIT:
            break
        turns.append(text)
    if not turns:
        return request.message
    record = "\n".join(reversed(turns))
    preamble = f"<conversation-so-far>\n{record}\n</conversation-so-far>\n\n"
    return replace(request.message, text=preamble + request.message.text)


def _turn(said: Said) -> str:
    # The closing mark inside a quoted text would end the record early.
    return f"[{said.who}] " + said.text.replace("</conversation-so-far>", "< /conversation-so-far>")


CONTINUATION = Strategy("transcript", "The last turns as text before the message", fresh, _quoted, closed)
