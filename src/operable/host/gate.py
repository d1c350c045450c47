"""Governance of one session: what the rules say about a question, what people said before, what ran without asking.

Theory of operation. Every question of the agent passes `rule`: the policy answers, or a remembered decision does, or it
becomes an `Ask` for the desk. Every tool call is followed from its announcement to its result. A call of a mutating kind
that ran to success although nobody was asked, and that the policy does not allow, trips the alarm: in a mode that asks,
such a call means that the agent does not do what its manifest says, and the session stops.

A failed result does not trip it: agents check arguments before they ask, and report that as a failed call. Everything
decided and everything that ran is in the audit chain before it takes effect.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from operable.host.approvals import Ask, Decision, argument_digest, needs_option
from operable.host.audit import Audit
from operable.host.policy import ALLOW, ASK, DENY, Policy, Rule, Ruling
from operable.host.tool_call import Call
from operable.kernel.redact import Known, Redactor
from operable.wire.events import MUTATING_KINDS, AgentPrompt, ToolCall, ToolResult, TurnEnd


class Gate:
    """The rules of one session, and its books of what was asked and what ran."""

    def __init__(
        self,
        *,
        session_id: str,
        workspace: str,
        seen_as: str = "",
        policy: Policy,
        audit: Audit,
        attended: bool,
        asking: bool,
        quirks: Mapping[str, Any],
        secrets: Known | Iterable[str] = (),
    ) -> None:
        self.workspace = workspace
        self.seen_as = seen_as or workspace  # as the agent calls it: a sandbox may show it elsewhere
        self.policy = policy
        self.attended = attended  # somebody may answer; else what no rule allows is denied at once
        self.asking = asking  # the agent is expected to ask before it changes anything
        self._session_id = session_id
        self._audit = audit
        self._quirks = quirks
        self._redactor = Redactor(secrets)
        self._remembered: set[str] = set()
        self._open: dict[str, ToolCall] = {}
        self._approval: dict[str, str] = {}  # call id -> who allowed or denied it
        self._asked: set[str] = set()  # ids and digests of the calls that were asked about in this turn
        self._credit: Counter[str] = Counter()  # questions that name no known call, by kind
        self._made = 0  # questions of our own; an id is never used twice
        self._granted: list[tuple[str, str]] = []  # (kind, text of the arguments) allowed in this turn

    # --- questions

    def rule(self, prompt: AgentPrompt) -> Decision | Ask:
        """The answer, or the question for the desk."""
        if not prompt.tool_name:
            return self._input(prompt)
        sealed = argument_digest(prompt.tool_name, prompt.arguments)
        self._note_asked(prompt, sealed)
        if sealed in self._remembered:
            return Decision(True, "allowed before, for this session", by="session")
        ruling = self._ruling(prompt)
        if ruling.effect == DENY or (ruling.effect == ASK and not self.attended):
            return Decision(False, ruling.reason, by=_reference(ruling))
        if ruling.effect == ALLOW:
            if self._quirks.get("allow_option") or not needs_option(prompt.options):
                return Decision(
                    True, ruling.reason, by=_reference(ruling), option_id=self._quirks.get("allow_option")
                )
            if not self.attended:
                text = "the agent offers no plain one-time permission, and none is picked for it"
                return Decision(False, text, by=_reference(ruling))
        why = ruling.reason if ruling.effect == ASK else "the agent offers no plain one-time permission"
        return self._ask_about(prompt, sealed, why)

    def decided(self, prompt: AgentPrompt, decision: Decision) -> None:
        """A question was answered: remember what is to be remembered, write it down."""
        sealed = argument_digest(prompt.tool_name, prompt.arguments)
        if decision.allowed and decision.remember == "call":
            self._remembered.add(sealed)
        elif decision.remember:
            effect = ALLOW if decision.allowed else DENY
            rule = Rule(effect, decision.remember, f"decided in this session by {decision.by or 'somebody'}")
            self.policy = self.policy.with_rules([rule])
        if decision.allowed:
            self._granted.append((prompt.kind, _text(prompt.arguments)))
        if prompt.call_id is not None:
            self._approval[prompt.call_id] = decision.by or "somebody"
        self._audit.record(
            "agent.decision",
            subject={"kind": "tool" if prompt.tool_name else "input", "ref": prompt.tool_name or "question"},
            input={"digest": sealed, "arguments": prompt.arguments},
            output={"reason": decision.reason, "option": decision.option_id, "remember": decision.remember},
            decision=(decision.by or "somebody", "allow" if decision.allowed else "deny"),
            metadata={"session": self._session_id, "request": prompt.tool_call_id},
        )

    def budget_ask(self, text: str) -> Decision | Ask:
        if not self.attended:
            return Decision(False, text, by="budget")
        sealed = argument_digest("budget", text)
        return Ask(
            self._own_id("budget"),
            self._session_id,
            "budget",
            f"{text}; go on?",
            digest=sealed,
            why="a limit is reached",
        )

    # --- what the host does for the agent

    def rule_own(self, tool: str, kind: str, arguments: Mapping[str, Any], needle: str) -> Decision | Ask:
        """May the host itself do this (write a file, run a command)? A question about it may have been answered already."""
        ruling = self.policy.decide(Call(tool, kind, dict(arguments)), self.workspace, self.seen_as)
        if ruling.effect == ALLOW:
            return Decision(True, ruling.reason, by=_reference(ruling))
        if any(granted == kind and needle in text for granted, text in self._granted):
            return Decision(True, "allowed when the agent asked for it", by="turn")
        if ruling.effect == DENY or not self.attended:
            return Decision(False, ruling.reason, by=_reference(ruling))
        prompt = AgentPrompt(
            self._session_id, self._own_id("host"), tool_name=tool, arguments=dict(arguments), kind=kind
        )
        return self._ask_about(prompt, argument_digest(tool, dict(arguments)), ruling.reason)

    # --- what ran

    def begin_turn(self) -> None:
        self._asked.clear()
        self._approval.clear()
        self._credit.clear()
        self._granted.clear()

    def tool_called(self, call: ToolCall) -> None:
        self._open[call.tool_call_id] = call

    def tool_finished(self, result: ToolResult) -> str | None:
        """Write the call down; the text of the alarm, if it must be raised."""
        call = self._open.pop(result.tool_call_id, None)
        if call is None:
            return None
        self._audit.record(
            "agent.tool-call",
            subject={"kind": "tool", "ref": call.tool_name},
            input={"arguments": call.arguments, "kind": call.kind},
            output=result.result if not result.denied else {"denied": True},
            decision=(self._approval.pop(call.tool_call_id, "auto"), "deny" if result.denied else "allow"),
            metadata={"session": self._session_id, "call": call.tool_call_id, "error": result.is_error},
        )
        if self._is_unasked(call, result):
            return f"{call.tool_name} ({call.kind}) ran without having asked, in a mode that asks"
        return None

    def open_calls(self) -> list[ToolCall]:
        return list(self._open.values())

    def turn_ended(self, end: TurnEnd, text: str) -> None:
        self._audit.record(
            "agent.turn",
            subject={"kind": "session", "ref": self._session_id},
            input={"digest": argument_digest("turn", text), "characters": len(text)},
            output={"reason": end.reason, "usage": msgspec.to_builtins(end.usage)},
        )

    def note(self, action: str, text: str, **facts: Any) -> None:
        """Anything else that belongs into the chain: an alarm, the use of a secret, a denied connection."""
        self._audit.record(
            action, subject={"kind": "session", "ref": self._session_id}, output={"text": text, **facts}
        )

    def _own_id(self, what: str) -> str:
        self._made += 1
        return f"{what}-{self._made}"

    def _is_unasked(self, call: ToolCall, result: ToolResult) -> bool:
        if not self.asking or call.kind not in MUTATING_KINDS or result.is_error or result.denied:
            return False
        sealed = argument_digest(call.tool_name, call.arguments)
        if call.tool_call_id in self._asked or sealed in self._asked:
            return False
        if self._credit[call.kind]:
            self._credit[call.kind] -= 1
            return False
        ruling = self.policy.decide(
            Call(call.tool_name, call.kind, call.arguments, call.locations), self.workspace, self.seen_as
        )
        return ruling.effect != ALLOW

    def _note_asked(self, prompt: AgentPrompt, sealed: str) -> None:
        self._asked.add(sealed)
        if prompt.call_id is not None:
            self._asked.add(prompt.call_id)
        if prompt.call_id is None or prompt.call_id not in self._open:
            # Some agents ask under another id than the one under which the call then runs.
            self._credit[prompt.kind] += 1

    def _ruling(self, prompt: AgentPrompt) -> Ruling:
        known = self._open.get(prompt.call_id or "")
        kind = known.kind if known is not None and prompt.kind == "other" else prompt.kind
        locations = known.locations if known is not None else ()
        return self.policy.decide(
            Call(prompt.tool_name, kind, prompt.arguments, locations), self.workspace, self.seen_as
        )

    def _input(self, prompt: AgentPrompt) -> Decision | Ask:
        if not self.attended:
            return Decision(False, "nobody is there to answer", by="policy")
        return self._ask_about(prompt, argument_digest("input", prompt.text), "the agent asks for input")

    def _ask_about(self, prompt: AgentPrompt, sealed: str, why: str) -> Ask:
        return Ask(
            prompt.tool_call_id,
            self._session_id,
            "permission" if prompt.tool_name else "input",
            self._redactor.text(prompt.text),
            prompt.tool_name,
            prompt.kind,
            self._redactor.value(prompt.arguments),
            prompt.options,
            prompt.schema,
            prompt.url,
            sealed,
            why=why,
        )


def _reference(ruling: Ruling) -> str:
    return "policy" if ruling.rule is None else f"policy:{ruling.rule.effect} {ruling.rule.pattern}"


def _text(arguments: Any) -> str:
    return msgspec.json.encode(arguments).decode() if not isinstance(arguments, str) else arguments
