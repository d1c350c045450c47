"""The last turns, as text, in front of the message; a fresh session for every turn.

Costs tokens, keeps nothing, survives restarts. What is quoted is bounded and marked as a record
(`operable.host.session.transcript`). The caller's own history, when given, is used instead of what this process
received.
"""

from dataclasses import replace

from operable.host.arm import Message
from operable.host.continuation import ConversationState, Strategy, TurnRequest, closed, fresh
from operable.host.session.transcript import quoted


def _quoted(request: TurnRequest, kept: ConversationState) -> Message:
    history = list(request.history) or kept.history
    return replace(request.message, text=quoted(history, request.message.text))


CONTINUATION = Strategy(
    "transcript", "The last turns as text before the message", fresh, _quoted, closed, quotes=True
)
