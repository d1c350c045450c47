"""The history of a session as the updates that a client would have seen: what `session/load` sends before it answers."""

from collections.abc import Iterator, Sequence
from typing import Any

import acp

from operable.agent.acp import calls
from operable.agent.session.conversation import Conversation
from operable.agent.session.history import Image, Text, Thinking, ToolOutput, ToolUse, Turn

_OURS = ("[notice]", "[history]")  # words of the agent to the model, not of the user


def replay(conversation: Conversation) -> Iterator[Any]:
    """Update after update, oldest first."""
    outputs = _outputs(conversation.turns)
    for turn in conversation.turns:
        for block in turn.blocks:
            match block:
                case Text(text=text) if turn.role == "assistant":
                    yield acp.update_agent_message_text(text)
                case Text(text=text) if not text.startswith(_OURS):
                    yield acp.update_user_message_text(text)
                case Image(media_type=kind, data=data):
                    yield acp.update_user_message(acp.image_block(data, kind))
                case Thinking(text=text) if text:
                    yield acp.update_agent_thought_text(text)
                case ToolUse(call_id=call_id):
                    yield calls.replayed(shown(conversation, block), outputs.get(call_id))


def shown(conversation: Conversation, use: ToolUse) -> calls.Shown:
    """A call of the model, as the client sees it."""
    ability = conversation.ability(use.name)
    arguments = use.arguments if isinstance(use.arguments, dict) else {}
    return calls.shown(
        use.call_id,
        use.name,
        use.arguments,
        conversation.workspace,
        category=ability.category if ability else "",
        description=ability.describe(arguments) if ability else "",
    )


def _outputs(turns: Sequence[Turn]) -> dict[str, ToolOutput]:
    return {block.call_id: block for turn in turns for block in turn.blocks if isinstance(block, ToolOutput)}
