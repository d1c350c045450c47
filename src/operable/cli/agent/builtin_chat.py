"""What `operable chat` does between meta and summary: one turn for the caller, or a conversation with a person.

The options are those of `operable-agent`, read by its own reader, so that both mean the same by them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from operable.agent.chat.conversation import Chat
from operable.agent.chat.dialogue import Dialogue, unattended
from operable.agent.chat.screen import ChatScreen
from operable.agent.options import read_options
from operable.cli.agent.manifests import read_text
from operable.cli.agent.wire import Said, row
from operable.kernel.errors import Fail
from operable.tool import Warn
from operable.tool.run.context import interactive_required
from operable.wire import events as e

if TYPE_CHECKING:
    from operable.tool import Context
    from operable.wire.json_stream import FrameProblem


def chatted(
    context: Context,
    words: Mapping[str, Any],
    message: Sequence[str],
    *,
    mode: str | None = None,
    thoughts: bool = False,
) -> Iterator[Said | Warn]:
    """The events of the turn, for machines; people see them."""
    if not message and not context.person:
        raise interactive_required("a conversation is typed", "give a message, or - to read one")
    text = read_text("-") if list(message) == ["-"] else " ".join(message)
    if message and not text.strip():
        raise Fail("usage", "EMPTY_MESSAGE", "the message is empty")
    environment = dict(os.environ)
    with Chat(read_options(_line(words), environment), environment) as chat:
        if mode is not None:
            chat.conversation.desk.permissions.mode = mode
        context.conclude(session=chat.session_id)
        screen = ChatScreen(context, chat.conversation.workspace, thoughts=thoughts)
        dialogue = Dialogue(chat, screen) if context.person else None
        if dialogue is not None and not message:
            context.show("")
            dialogue.hold()
            context.conclude(session=chat.session_id)
        else:
            yield from _turn(context, chat, screen, dialogue, text)


def _turn(
    context: Context, chat: Chat, screen: ChatScreen, dialogue: Dialogue | None, text: str
) -> Iterator[Said | Warn]:
    """One message; Fail unless it was answered."""
    denied = 0
    try:
        if not context.machine:
            screen.wait()
        for event in chat.turn(text):
            if isinstance(event, e.AgentPrompt) and dialogue is None:
                denied += 1
                unattended(chat, event)
            elif context.machine:
                yield row(event)
            else:
                _show(event, screen, dialogue)
    finally:
        screen.rest()
    context.conclude(denied=denied)
    if denied:
        said = "tool call was" if denied == 1 else "tool calls were"
        yield Warn("ASKS_DENIED", f"{denied} {said} denied: no user could be asked; see --allow, --mode")
    if chat.problem is not None:
        raise _failure(chat.problem)


def _show(event: e.AnyEvent, screen: ChatScreen, dialogue: Dialogue | None) -> None:
    screen.show(event)
    if isinstance(event, e.AgentPrompt) and dialogue is not None:
        dialogue.ask(event)
    elif not isinstance(event, e.TurnEnd):
        screen.wait()
    elif event.reason == e.CANCELLED:
        raise Fail("cancelled", "TURN_CANCELLED", "the turn was stopped")


def _failure(problem: FrameProblem) -> Fail:
    if problem.code == "tool_error":
        return Fail("partial", "TURN_ABORTED", problem.message)
    if problem.code == "provider_error":
        category = "temporary" if problem.retryable else "io"
        return Fail(category, "PROVIDER_ERROR", problem.message, retryable=problem.retryable)
    return Fail("internal", "TURN_FAILED", problem.message)


def _line(words: Mapping[str, Any]) -> list[str]:
    """The same as words of a command line."""
    line: list[str] = []
    for flag, value in words.items():
        if value is True:
            line.append(flag)
        elif isinstance(value, list):
            line += [f"{flag}={each}" for each in value]
        elif value is not None and value is not False:
            line.append(f"{flag}={value}")
    return line
