"""May a session start another one? Decided here, before any process is made, from the session that was authenticated.

`refusal` is the only predicate: a spawn obeys it, and introspection (`allowed_targets`) asks the same one. What a session
may delegate to is the `delegates_to` of its AGENT.md as it was when the session began: a closed list, empty without an
AGENT.md, so that an agent which edits the file does not widen its own rights. `tree_below` shows who
asked whom, at what cost. No I/O.

It is a gate for spawns through Operable. What an agent does in its own shell, or with sub-agents of its own, is for its
sandbox and its rules.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from operable.kernel.errors import Fail
from operable.serve.session.view import SessionView, State, TokenCount

# A tree of three levels is a lead, its workers and their helpers; more is a loop more often than a plan.
MAX_DEPTH: Final = 3
# At a time. Each is an agent process with a context of its own.
MAX_CHILDREN: Final = 8
_DEEPEST: Final = 64  # of a tree that is shown; the delegation gate allows far less


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


class SessionTree(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """One session and those that it started. `total…` has theirs in it; a cost of None is not reported."""

    id: str
    adapter_slug: str
    agent_slug: str | None
    label: str | None
    status: str
    state: State
    tokens: TokenCount
    cost_usd: float | None
    total_tokens: TokenCount
    total_cost_usd: float | None
    children: "tuple[SessionTree, ...]" = ()


def tree_below(root_id: str, views: Iterable[SessionView]) -> SessionTree:
    """The tree below a session. Fail not_found/NO_SUCH_SESSION if it is not among the views."""
    by_parent: dict[str | None, list[SessionView]] = defaultdict(list)
    root: SessionView | None = None
    for view in views:
        by_parent[view.parent_session_id].append(view)
        if view.id == root_id:
            root = view
    if root is None:
        raise Fail("not_found", "NO_SUCH_SESSION", f"{root_id!r} is not a session", target=root_id)
    return _tree(root, by_parent, 0)


def is_below(session_id: str, above: str, parents: dict[str, str | None]) -> bool:
    """Whether a session is another one or was started by it, directly or not."""
    current: str | None = session_id
    for _ in range(_DEEPEST):
        if current is None or current == above:
            return current == above
        current = parents.get(current)
    return False


def _tree(view: SessionView, by_parent: dict[str | None, list[SessionView]], depth: int) -> SessionTree:
    below = by_parent[view.id] if depth < _DEEPEST else []
    children = tuple(
        _tree(child, by_parent, depth + 1) for child in sorted(below, key=lambda each: each.started_at)
    )
    costs = [
        cost for cost in (view.cost_usd, *(each.total_cost_usd for each in children)) if cost is not None
    ]
    return SessionTree(
        id=view.id,
        adapter_slug=view.adapter_slug,
        agent_slug=view.agent_slug,
        label=view.label,
        status=view.status,
        state=view.state,
        tokens=view.tokens,
        cost_usd=view.cost_usd,
        total_tokens=TokenCount(
            view.tokens.input + sum(each.total_tokens.input for each in children),
            view.tokens.output + sum(each.total_tokens.output for each in children),
        ),
        total_cost_usd=sum(costs) if costs else None,
        children=children,
    )
