"""What one session writes into the audit chain: each thing before it begins, and how it ended.

A record of something that begins is on disk before the method returns; `Fail` means that it must not begin. What an agent
reports of its own calls is due with the next record or with `flush`, which comes before the agent gets another word.
The form of a record is that of `operable.gate.audit.chain`; here is which records a session has.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from operable.gate.approvals import Decision, argument_digest
from operable.gate.audit.chain import Audit, OpenRecord
from operable.host.policy.judged_question import JudgedQuestion
from operable.wire.events import AgentPrompt, ToolCall, ToolResult, TurnEnd

_SESSION, _TURN = "session", "turn"


class SessionRecord:
    """The records of one session. Beginnings are kept until they are closed."""

    def __init__(self, audit: Audit, session_id: str) -> None:
        self._audit = audit
        self._session_id = session_id
        self._begun: dict[str, OpenRecord] = {}  # calls by their id, "turn", "session"

    @property
    def _subject(self) -> dict[str, str]:
        return {"kind": "session", "ref": self._session_id}

    def begin_session(self, text: str, **facts: Any) -> None:
        """Before the agent is started."""
        self._begun[_SESSION] = self._audit.begin(
            "session.start", subject=self._subject, input={"text": text, **facts}
        )

    def end_session(self, text: str, **facts: Any) -> None:
        self._audit.record(
            "session.end",
            subject=self._subject,
            output={"text": text, **facts},
            closes=self._begun.pop(_SESSION, None),
        )

    def begin_turn(self, text: str) -> None:
        """Before the message is sent. Whatever the agent then does comes after this record."""
        self._begun[_TURN] = self._audit.begin(
            "agent.turn.started", subject=self._subject, input=_message(text)
        )

    def end_turn(self, end: TurnEnd, text: str) -> None:
        self._audit.record(
            "agent.turn",
            subject=self._subject,
            input=_message(text),
            output={"reason": end.reason, "usage": msgspec.to_builtins(end.usage)},
            closes=self._begun.pop(_TURN, None),
        )

    def begin_call(self, call: ToolCall) -> None:
        """The agent announced a call."""
        self._begun[f"call {call.tool_call_id}"] = self._audit.begin(
            "agent.tool-call.started",
            subject={"kind": "tool", "ref": call.tool_name},
            input={"arguments": call.arguments, "kind": call.kind},
            metadata={"session": self._session_id, "call": call.tool_call_id},
            later=True,
        )

    def end_call(self, call: ToolCall, result: ToolResult, decision: tuple[str, str], revisions: int) -> None:
        """`call` is the last form that the agent gave the call, `revisions` how often the agent changed it."""
        more = {"revisions": revisions} if revisions else {}
        self._audit.record(
            "agent.tool-call",
            subject={"kind": "tool", "ref": call.tool_name},
            input={"arguments": call.arguments, "kind": call.kind},
            output=result.result if not result.denied else {"denied": True},
            decision=decision,
            metadata={
                "session": self._session_id,
                "call": call.tool_call_id,
                "error": result.is_error,
                **more,
            },
            closes=self._begun.pop(f"call {call.tool_call_id}", None),
            later=True,
        )

    def decision(self, prompt: AgentPrompt, decision: Decision, judged: JudgedQuestion | None) -> None:
        """Before the answer is sent. `judged` None: the agent asked for input."""
        digest = argument_digest("input", prompt.text) if judged is None else judged.digest
        shown = {} if judged is None else judged.shown
        self._audit.record(
            "agent.decision",
            subject={"kind": "tool" if prompt.tool_name else "input", "ref": prompt.tool_name or "question"},
            input={
                "digest": digest,
                "arguments": prompt.arguments,
                **{
                    name: shown[name]
                    for name in ("diffs", "locations", "announced", "commands")
                    if name in shown
                },
            },
            output={"reason": decision.reason, "option": decision.option_id, "remember": decision.remember},
            decision=(decision.by or "somebody", "allow" if decision.allowed else "deny"),
            metadata={"session": self._session_id, "request": prompt.tool_call_id},
        )

    def alarm(self, text: str, asked: Any, reported: Any) -> None:
        """Both forms of the call: what was asked about (None: nothing was), and what the agent says that it did."""
        self._audit.record(
            "agent.alarm",
            subject=self._subject,
            input={"asked": asked, "told": reported},
            output={"text": text},
        )

    def unasked_change(self, tool: str, paths: list[str]) -> None:
        """A call that no question preceded has changed files that become execution."""
        self._audit.record(
            "agent.execution-file", subject={"kind": "tool", "ref": tool}, output={"paths": paths}, later=True
        )

    def begin_own(self, tool: str, arguments: Mapping[str, Any], decision: Decision) -> OpenRecord:
        """Before the host itself does something for the agent."""
        return self._audit.begin(
            "agent.host-call.started",
            subject={"kind": "tool", "ref": tool},
            input={"arguments": dict(arguments), "reason": decision.reason},
            decision=(decision.by or "somebody", "allow"),
            metadata={"session": self._session_id},
        )

    def end_own(self, begun: OpenRecord, tool: str, *, later: bool = False, **facts: Any) -> None:
        self._audit.record(
            "agent.host-call",
            subject={"kind": "tool", "ref": tool},
            output=facts,
            metadata={"session": self._session_id},
            closes=begun,
            later=later,
        )

    def note(self, action: str, text: str, **facts: Any) -> None:
        """Anything else that belongs into the chain: a spent budget, the use of a secret, a denied connection."""
        self._audit.record(action, subject=self._subject, output={"text": text, **facts})

    def flush(self) -> None:
        """Put on disk what is due."""
        self._audit.flush()


def _message(text: str) -> dict[str, Any]:
    return {"digest": argument_digest("turn", text), "characters": len(text)}
