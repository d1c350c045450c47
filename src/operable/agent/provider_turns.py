"""What every provider does to turns on their way out, and to calls on their way in."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from operable.agent.history import Text, Turn
from operable.agent.model import Called

_CONTINUED = Turn("user", (Text("(The beginning of the conversation is not shown.)"),))


def merged(turns: Sequence[Turn]) -> list[Turn]:
    """Turns that alternate and begin with the user, as vendors want them; our notices and interruptions do not."""
    result: list[Turn] = []
    for turn in turns:
        if result and result[-1].role == turn.role:
            result[-1] = Turn(turn.role, (*result[-1].blocks, *turn.blocks))
        else:
            result.append(turn)
    if result and result[0].role == "assistant":
        result.insert(0, _CONTINUED)
    return result


def called(call_id: str, name: str, arguments: str) -> Called:
    """A call whose arguments came as text; no text at all means no arguments."""
    parsed: Any
    try:
        parsed = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, Mapping):
        return Called(call_id, name, {}, malformed=arguments)
    return Called(call_id, name, parsed)
