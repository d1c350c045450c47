"""Governance of one session: what the rules say about a question, what people said before, what ran without asking.

Theory of operation. Every question of the agent passes `rule`: the policy answers, or a remembered decision does, or it
becomes an `Ask` for the desk. A rule that denies comes before every yes that was given. Every tool call is followed from its
announcement to its result. A call of a mutating kind, or of a kind that nobody knows, that ran to success although nobody
was asked, and that the policy does not allow, trips the alarm: in a mode that asks, such a call means that the agent does
not do what its manifest says, and the session stops. One question covers one call.

A failed result does not trip it: agents check arguments before they ask, and report that as a failed call. Everything
decided and everything that ran is in the audit chain before it takes effect.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from operable.host.approvals import Ask, Decision, argument_digest, needs_option
from operable.host.audit import Audit, Opened
from operable.host.policy.grants import Grants, Thing, things
from operable.host.policy.pattern import ALLOW, ASK, DENY
from operable.host.policy.rules import Policy, Rule, Ruling
from operable.host.policy.tool_call import Call, Facts
from operable.host.policy.tool_map import ToolMap
from operable.kernel.redact import Known, Redactor
from operable.wire.events import MUTATING_KINDS, AgentPrompt, ToolCall, ToolResult, TurnEnd

# What changes something, and what nobody knows.
_WATCHED = MUTATING_KINDS | {"other"}
_SESSION, _TURN = "session", "turn"


@dataclass(slots=True)
class _Question:
    """A question of this turn: what it was about, and whether a call has used it up."""

    call_id: str | None
    sealed: str
    kind: str
    about: list[Thing]
    lasting: bool  # the agent tells enough to know the same call again
    elsewhere: bool  # it names no call that is known: some agents ask under another id than the call then has
    used: bool = False


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
        self._tools = ToolMap(quirks.get("tools"))
        self._open: dict[str, ToolCall] = {}
        self._begun: dict[
            str, Opened
        ] = {}  # in the chain, and not closed: calls by their id, "turn", "session"
        self._approval: dict[str, str] = {}  # call id -> who allowed or denied it
        self._questions: dict[str, _Question] = {}  # by the id of the request
        self._made = 0  # questions of our own; an id is never used twice
        self._grants = Grants()

    # --- questions

    def rule(self, prompt: AgentPrompt) -> Decision | Ask:
        """The answer, or the question for the desk."""
        if not prompt.tool_name:
            return self._input(prompt)
        sealed = argument_digest(prompt.tool_name, prompt.arguments)
        facts = self._asked(prompt)
        self._note_asked(prompt, sealed, facts)
        ruling = self.policy.judge(facts)
        if ruling.effect == DENY and ruling.rule is not None:
            return Decision(False, ruling.reason, by=_reference(ruling))
        if ruling.effect != ALLOW and sealed in self._remembered:
            return Decision(True, "allowed before, for this session", by="session")
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
        question = self._questions.get(prompt.tool_call_id)
        if decision.allowed and decision.remember == "call":
            if question is not None and question.lasting:
                self._remembered.add(sealed)
        elif decision.remember:
            effect = ALLOW if decision.allowed else DENY
            rule = Rule(effect, decision.remember, f"decided in this session by {decision.by or 'somebody'}")
            self.policy = self.policy.with_rules([rule])
        if decision.allowed and question is not None:
            self._grants.add(question.about)
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

    def rule_own(self, tool: str, kind: str, arguments: Mapping[str, Any]) -> Decision | Ask:
        """May the host itself do this (write a file, run a command)? A yes to exactly this may have been given already."""
        facts = self._own(tool, kind, arguments)
        ruling = self.policy.judge(facts)
        if ruling.effect == DENY and ruling.rule is not None:
            return Decision(False, ruling.reason, by=_reference(ruling))
        # Used up also where a rule allows it: the yes was for this.
        was_allowed = self._grants.use(facts)
        if ruling.effect == ALLOW:
            return Decision(True, ruling.reason, by=_reference(ruling))
        if was_allowed:
            return Decision(True, "allowed when the agent asked for it", by="turn")
        return self._refuse_or_ask(tool, kind, arguments, ruling)

    def rule_reading(self, tool: str, arguments: Mapping[str, Any]) -> Decision | Ask:
        """May the host read this for the agent? Yes, unless a rule or the level of autonomy says something else."""
        ruling = self.policy.judge(self._own(tool, "read", arguments))
        if ruling.effect == ALLOW or (ruling.rule is None and self.policy.autonomy > 0):
            return Decision(True, ruling.reason, by=_reference(ruling))
        return self._refuse_or_ask(tool, "read", arguments, ruling)

    def _refuse_or_ask(
        self, tool: str, kind: str, arguments: Mapping[str, Any], ruling: Ruling
    ) -> Decision | Ask:
        if ruling.effect == DENY or not self.attended:
            return Decision(False, ruling.reason, by=_reference(ruling))
        prompt = AgentPrompt(
            self._session_id, self._own_id("host"), tool_name=tool, arguments=dict(arguments), kind=kind
        )
        return self._ask_about(prompt, argument_digest(tool, dict(arguments)), ruling.reason)

    # --- what ran

    def begin_session(self, text: str, **facts: Any) -> None:
        """Before the agent is started; Fail: it must not be."""
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
        """Before the message is sent; Fail: it must not be. Whatever the agent then does comes after this record."""
        self._approval.clear()
        self._questions.clear()
        self._grants.clear()
        self._begun[_TURN] = self._audit.begin(
            "agent.turn.started",
            subject=self._subject,
            input={"digest": argument_digest("turn", text), "characters": len(text)},
        )

    def tool_called(self, call: ToolCall) -> None:
        """An agent says that it calls a tool: in the chain with `flush`, before the agent gets another word of us."""
        if call.tool_call_id not in self._open:
            self._begun[f"call {call.tool_call_id}"] = self._audit.begin(
                "agent.tool-call.started",
                subject={"kind": "tool", "ref": call.tool_name},
                input={"arguments": call.arguments, "kind": call.kind},
                metadata={"session": self._session_id, "call": call.tool_call_id},
                later=True,
            )
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
            closes=self._begun.pop(f"call {call.tool_call_id}", None),
            later=True,
        )
        if self._is_unasked(call, result):
            kind = "of unknown kind" if call.kind == "other" else call.kind
            return f"{call.tool_name} ({kind}) ran without having asked, in a mode that asks"
        return None

    def open_calls(self) -> list[ToolCall]:
        return list(self._open.values())

    def turn_ended(self, end: TurnEnd, text: str) -> None:
        self._audit.record(
            "agent.turn",
            subject=self._subject,
            input={"digest": argument_digest("turn", text), "characters": len(text)},
            output={"reason": end.reason, "usage": msgspec.to_builtins(end.usage)},
            closes=self._begun.pop(_TURN, None),
        )

    def begin_own(self, tool: str, arguments: Mapping[str, Any], decision: Decision) -> Opened:
        """Before the host itself does something for the agent; Fail: it must not."""
        return self._audit.begin(
            "agent.host-call.started",
            subject={"kind": "tool", "ref": tool},
            input={"arguments": dict(arguments), "reason": decision.reason},
            decision=(decision.by or "somebody", "allow"),
            metadata={"session": self._session_id},
        )

    def end_own(self, begun: Opened, tool: str, *, later: bool = False, **facts: Any) -> None:
        self._audit.record(
            "agent.host-call",
            subject={"kind": "tool", "ref": tool},
            output=facts,
            metadata={"session": self._session_id},
            closes=begun,
            later=later,
        )

    def flush(self) -> None:
        """Put on disk what is due of the chain."""
        self._audit.flush()

    def note(self, action: str, text: str, **facts: Any) -> None:
        """Anything else that belongs into the chain: an alarm, the use of a secret, a denied connection."""
        self._audit.record(action, subject=self._subject, output={"text": text, **facts})

    @property
    def _subject(self) -> dict[str, str]:
        return {"kind": "session", "ref": self._session_id}

    def _own_id(self, what: str) -> str:
        self._made += 1
        return f"{what}-{self._made}"

    def _is_unasked(self, call: ToolCall, result: ToolResult) -> bool:
        question = self._question_about(call)
        if question is not None:
            question.used = True
            return False
        if not self.asking or result.is_error or result.denied:
            return False
        facts = self._facts(_told(call))
        ruling = self.policy.judge(facts)
        if facts.kinds and not set(facts.kinds) & _WATCHED:
            # Reading and the like need no question, unless a rule is about just that, and certainly matches.
            rule = ruling.rule
            return ruling.effect != ALLOW and rule is not None and rule.pattern != "*" and ruling.is_certain
        return ruling.effect != ALLOW

    def _question_about(self, call: ToolCall) -> _Question | None:
        """The question that covers this call: by its id, by its arguments, else one of its kind about no known call."""
        sealed = argument_digest(call.tool_name, call.arguments)
        left = [question for question in self._questions.values() if not question.used]
        meant = (
            *(question for question in left if question.call_id == call.tool_call_id),
            *(question for question in left if question.sealed == sealed),
            *(question for question in left if question.elsewhere and question.kind == call.kind),
        )
        return meant[0] if meant else None

    def _note_asked(self, prompt: AgentPrompt, sealed: str, facts: Facts) -> None:
        self._questions[prompt.tool_call_id] = _Question(
            prompt.call_id,
            sealed,
            prompt.kind,
            things(facts),
            facts.distinct,
            elsewhere=prompt.call_id is None or prompt.call_id not in self._open,
        )

    def _asked(self, prompt: AgentPrompt) -> Facts:
        """What a question is about: what it says itself, and what was told of its call before."""
        known = self._open.get(prompt.call_id or "")
        return self._facts(
            Call(
                prompt.tool_name,
                prompt.kind,
                prompt.arguments,
                prompt.locations,
                (prompt.text,) if prompt.text else (),
                prompt.unnamed,
                told=() if known is None else (_told(known),),
            )
        )

    def _own(self, tool: str, kind: str, arguments: Mapping[str, Any]) -> Facts:
        at_work = tuple(call.tool_name for call in self._open.values())
        return self._facts(Call(tool, kind, dict(arguments), meanwhile=at_work))

    def _facts(self, call: Call) -> Facts:
        return Facts(call, self.workspace, self.seen_as, self._tools)

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


def _told(call: ToolCall) -> Call:
    shown = (call.title,) if call.title else ()
    return Call(call.tool_name, call.kind, call.arguments, call.locations, shown, call.unnamed)
