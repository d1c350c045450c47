"""An agent as a model: one prompt, one answer, nothing remembered.

The reference driver's stateless surface: `complete({system?, prompt}) -> {result}` over an ephemeral session. Whatever the
agent asks is denied, unless a policy says otherwise, so that a completion has no effects that were not allowed.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from operable.kernel.errors import Fail
from operable.wire.events import Usage

if TYPE_CHECKING:
    from operable.host.agent_cli import AgentCliHandle


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer. `reason` is the turn-end's: a refusal or a cut answer is one that says so."""

    result: str
    reason: str
    usage: Usage | None = None


async def complete(agent: "AgentCliHandle", *, prompt: str, system: str = "", **options: Any) -> Completion:
    """Ask once. Fail io/COMPLETION_FAILED when the turn ends in an error; `options` are those of `start`."""
    text = f"{system.strip()}\n\n{prompt}" if system.strip() else prompt
    async with await agent.start(**options) as session:
        turn = await session.send(text).result()
    if turn.reason in ("error", "timeout", "cancelled"):
        told = turn.errors[-1].message if turn.errors else f"the turn ended as {turn.reason}"
        raise Fail("io", "COMPLETION_FAILED", told, target=agent.id, reason=turn.reason)
    return Completion(turn.text, turn.reason, turn.usage)
