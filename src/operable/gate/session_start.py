"""The start of a session of an agent, as the gate sees it: the call `agent/NAME/prompt`, whatever side asks for it.

A session is more than one call, and what its agent does is judged call by call under the rules for sessions. That it
begins is one call: it is judged and recorded before a process is made, by the same rule that is about the agent as a tool
of MCP. An agent has up to three names, that of its folder, its id and that of its AGENT.md; the strictest ruling about any
of them counts. A start counts as a change, so that it is free unless the policy file says otherwise. Without a file it has
no record of its own: the session's `session.start` is one.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, Final

from operable.gate.approvals import Decision, OnAsk
from operable.gate.call import CHANGE, CallerId, GatedCall, SessionBounds
from operable.gate.call_gate import CallGate
from operable.gate.policy.pattern import ALLOW, ASK, DENY

ACTION: Final = "prompt"
_STRENGTH = {ALLOW: 0, ASK: 1, DENY: 2}


class SessionStart:
    """One start. `names` are those of the agent, as the catalog has it first; `asked` is what it is started with."""

    def __init__(
        self,
        caller: CallerId,
        names: Sequence[str],
        workspace: str,
        asked: Mapping[str, Any] | None = None,
        bounds: SessionBounds | None = None,
    ) -> None:
        # A session that is started by another one is in the same sandbox.
        own = None if bounds is None else replace(bounds, is_confined=False)
        self._calls = [
            GatedCall(caller, "agent", name, ACTION, asked or {}, CHANGE, workspace, bounds=own)
            for name in dict.fromkeys(names)
        ]

    @asynccontextmanager
    async def admitted(
        self, gate: CallGate, *, on_ask: OnAsk | None = None, timeout: float | None = None
    ) -> AsyncIterator[None]:
        """Around the start. Raises Fail authz/CALL_DENIED or CALL_UNANSWERED: it must not begin."""
        if gate.policy.path is None:
            yield
            return
        async with await gate.admit(self._judged(gate), on_ask=on_ask, timeout=timeout):
            yield

    @contextmanager
    def admitted_now(
        self, gate: CallGate, *, on_ask: OnAsk | None = None, answered_by: str = ""
    ) -> Iterator[None]:
        """`admitted` for a thread without an event loop. `answered_by`: a person who has agreed to exactly this already."""
        if gate.policy.path is None:
            yield
            return
        call = self._judged(gate)
        answer = Decision(True, by=answered_by, digest=call.digest) if answered_by else None
        with gate.admit_now(call, on_ask=on_ask, answer=answer):
            yield

    def _judged(self, gate: CallGate) -> GatedCall:
        """The call under the name that the rules are strictest about."""
        if len(self._calls) == 1:
            return self._calls[0]
        return max(self._calls, key=lambda call: _STRENGTH[gate.judge(call).effect])
