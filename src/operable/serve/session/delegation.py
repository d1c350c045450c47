"""May a session start another one? Decided here, before any process is made, from the session that was authenticated.

`refusal` is the only predicate: a spawn obeys it, and introspection (`allowed_targets`) asks the same one. What a session
may delegate to is the `delegates_to` of its AGENT.md as it was when the session began: a closed list, empty without an
AGENT.md, so that an agent which edits the file does not widen its own rights. No I/O.

It is a gate for spawns through Operable. What an agent does in its own shell, or with sub-agents of its own, is for its
sandbox and its rules.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from operable.kernel.errors import Fail

# A tree of three levels is a lead, its workers and their helpers; more is a loop more often than a plan.
MAX_DEPTH: Final = 3
# At a time. Each is an agent process with a context of its own.
MAX_CHILDREN: Final = 8


class Delegator(NamedTuple):
    """The calling session: what the gate knows of it."""

    session_id: str
    agent: str | None
    delegates_to: frozenset[str]
    depth: int
    children: int  # that live
    max_depth: int = MAX_DEPTH
    max_children: int = MAX_CHILDREN


def refusal(caller: Delegator, agent: str | None, known: Iterable[str]) -> Fail | None:
    """Why the caller may not start this agent, with the code of AIP-46 in `aip_code`. Returns None if it may.

    `agent` is the slug of an AGENT.md, `known` are those that exist.
    """
    if not agent or agent not in known:
        text = "a nested spawn names an agent" if not agent else f"there is no agent {agent!r}"
        return Fail("usage", "INVALID_AGENT", text, target=agent, aip_code="invalid_agent")
    if agent not in caller.delegates_to:
        who = f"the agent {caller.agent!r}" if caller.agent else "a session without an agent"
        return denied(f"{who} may not delegate to {agent!r}", agent)
    if caller.depth + 1 > caller.max_depth:
        text = f"the session would be {caller.depth + 1} deep, and {caller.max_depth} are allowed"
        return Fail("authz", "MAX_DEPTH_EXCEEDED", text, target=agent, aip_code="max_depth_exceeded")
    if caller.children >= caller.max_children:
        text = f"{caller.children} sessions of the caller run, and {caller.max_children} are allowed"
        return Fail("authz", "CHILD_QUOTA_EXCEEDED", text, target=agent, aip_code="child_quota_exceeded")
    return None


def denied(text: str, target: str) -> Fail:
    """The refusal of what a session may not choose."""
    return Fail("authz", "DELEGATION_DENIED", text, target=target, aip_code="delegation_denied")


def require(caller: Delegator, agent: str | None, known: Iterable[str]) -> None:
    """Raise the refusal, if there is one."""
    refused = refusal(caller, agent, known)
    if refused is not None:
        raise refused


def allowed_targets(caller: Delegator, known: Iterable[str]) -> dict[str, Fail | None]:
    """What the gate would say now about each agent that exists; None: it may be started."""
    agents = sorted(known)
    return {agent: refusal(caller, agent, agents) for agent in agents}
