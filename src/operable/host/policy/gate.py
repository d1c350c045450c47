"""Governance of one session: what the rules say about a question, what people said before, what the host may do itself.

Theory of operation. Every question of the agent passes `rule`: the policy answers, or a remembered decision does, or it
becomes an `Ask` for the queue. A rule that denies comes before every yes that was given. Every tool call passes
`tool_called` and `tool_finished`, which return an `Alarm` where the agent did not keep to what was decided
(`operable.host.policy.call_watch`); the caller stops the session then. Everything decided and everything that ran is in
the audit chain before it takes effect (`record`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from operable.host.audit.chain import Audit
from operable.host.policy.call_watch import Alarm, CallWatch, call_of, reference
from operable.host.policy.grants import Grants
from operable.host.policy.pattern import ALLOW, ASK, DENY, parse
from operable.host.policy.rules import Policy, Rule, Ruling
from operable.host.policy.session_record import SessionRecord
from operable.host.policy.tool_call import Call, Facts
from operable.host.policy.tool_map import ToolMap
from operable.host.session.approvals import Ask, Decision, argument_digest, needs_option
from operable.kernel.redact import Known, Redactor
from operable.wire.events import AgentPrompt, ToolCall, ToolResult


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
        kinds_of_mode: frozenset[str] = frozenset(),
        secrets: Known | Iterable[str] = (),
    ) -> None:
        self.workspace = workspace
        self.seen_as = seen_as or workspace  # as the agent calls it: a sandbox may show it elsewhere
        self.policy = policy
        self.attended = attended  # a user may answer; else what no rule allows is denied at once
        self.asking = asking  # the agent is expected to ask before it changes anything
        self.record = SessionRecord(audit, session_id)
        self._session_id = session_id
        self._quirks = quirks
        self._kinds_of_mode = kinds_of_mode
        self._redactor = Redactor(secrets)
        self._remembered: set[str] = set()
        self._tools = ToolMap(quirks.get("tools"))
        self._watch = CallWatch(self._facts)
        self._made = 0  # questions of our own; an id is never used twice
        self._grants = Grants()

    # --- questions

    def rule(self, prompt: AgentPrompt) -> Decision | Ask:
        """The answer, or the question for the queue."""
        if not prompt.tool_name:
            return self._input(prompt)
        sealed = argument_digest(prompt.tool_name, prompt.arguments)
        facts = self._facts(call_of(prompt, *self._told_before(prompt)))
        ruling = self._judge_question(facts)
        self._watch.asked(prompt, facts, ruling)
        if ruling.effect == DENY and ruling.rule is not None:
            return Decision(False, ruling.reason, by=reference(ruling))
        if ruling.effect != ALLOW and sealed in self._remembered:
            return Decision(True, "allowed before, for this session", by="session")
        if ruling.effect == DENY or (ruling.effect == ASK and not self.attended):
            return Decision(False, ruling.reason, by=reference(ruling))
        if ruling.effect == ALLOW:
            if self._quirks.get("allow_option") or not needs_option(prompt.options):
                return Decision(
                    True, ruling.reason, by=reference(ruling), option_id=self._quirks.get("allow_option")
                )
            if not self.attended:
                text = "the agent offers no plain one-time permission, and none is picked for it"
                return Decision(False, text, by=reference(ruling))
        why = ruling.reason if ruling.effect == ASK else "the agent offers no plain one-time permission"
        return self._ask_about(prompt, sealed, why)

    def _judge_question(self, facts: Facts) -> Ruling:
        """What the rules say, except for a question that goes beyond the mode of the agent.

        A mode that edits without asking, and asks about this edit, has found something special: a file that becomes
        execution, or one outside. A rule about all edits was not written for that.
        """
        ruling = self.policy.judge(facts)
        is_beyond = bool(facts.kinds) and self._kinds_of_mode.issuperset(facts.kinds) and self.policy.asks
        if ruling.effect != ALLOW or not is_beyond:
            return ruling
        if ruling.rule is not None and parse(ruling.rule.pattern).names_one:
            return ruling
        why = f"the agent asks although its mode does not ask about every {' or '.join(facts.kinds)}"
        return Ruling(ASK, ruling.rule, f"{why}: only a rule that names it, or a person, allows it")

    def decided(self, prompt: AgentPrompt, decision: Decision) -> None:
        """A question was answered: remember what is to be remembered, write it down."""
        question = self._watch.answered(prompt.tool_call_id, decision)
        if decision.allowed and decision.remember == "call":
            if question is not None and question.lasting:
                self._remembered.add(question.sealed)
        elif decision.remember:
            effect = ALLOW if decision.allowed else DENY
            rule = Rule(effect, decision.remember, f"decided in this session by {decision.by or 'somebody'}")
            self.policy = self.policy.with_rules([rule])
        if decision.allowed and question is not None:
            self._grants.add(question.about)
        self.record.decision(prompt, decision)

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
            return Decision(False, ruling.reason, by=reference(ruling))
        # Used up also where a rule allows it: the yes was for this.
        was_allowed = self._grants.use(facts)
        if ruling.effect == ALLOW:
            return Decision(True, ruling.reason, by=reference(ruling))
        if was_allowed:
            return Decision(True, "allowed when the agent asked for it", by="turn")
        return self._refuse_or_ask(tool, kind, arguments, ruling)

    def rule_reading(self, tool: str, arguments: Mapping[str, Any]) -> Decision | Ask:
        """May the host read this for the agent? Yes, unless a rule or the level of autonomy says something else."""
        ruling = self.policy.judge(self._own(tool, "read", arguments))
        if ruling.effect == ALLOW or (ruling.rule is None and self.policy.autonomy > 0):
            return Decision(True, ruling.reason, by=reference(ruling))
        return self._refuse_or_ask(tool, "read", arguments, ruling)

    def _refuse_or_ask(
        self, tool: str, kind: str, arguments: Mapping[str, Any], ruling: Ruling
    ) -> Decision | Ask:
        if ruling.effect == DENY or not self.attended:
            return Decision(False, ruling.reason, by=reference(ruling))
        prompt = AgentPrompt(
            self._session_id, self._own_id("host"), tool_name=tool, arguments=dict(arguments), kind=kind
        )
        return self._ask_about(prompt, argument_digest(tool, dict(arguments)), ruling.reason)

    # --- what ran

    def begin_turn(self, text: str) -> None:
        """Before the message is sent; Fail: it must not be."""
        self._watch.begin_turn()
        self._grants.clear()
        self.record.begin_turn(text)

    def tool_called(self, call: ToolCall) -> Alarm | None:
        """An agent says that it calls a tool, or announces a call again in another form.

        In the chain with `record.flush`, before the agent gets another word of us.
        """
        if not self._watch.forms(call.tool_call_id):
            self.record.begin_call(call)
        return self._watch.told(call, self.policy)

    def tool_finished(self, result: ToolResult) -> Alarm | None:
        """Write the call down; the alarm, if it must be raised."""
        if not self._watch.is_open(result.tool_call_id):
            return None
        forms = self._watch.forms(result.tool_call_id)
        decision, alarm = self._watch.finished(result, self.policy, expects_questions=self.asking)
        self.record.end_call(forms[-1], result, decision, len(forms) - 1)
        return alarm

    def open_calls(self) -> list[ToolCall]:
        return self._watch.open_calls

    def _own_id(self, what: str) -> str:
        self._made += 1
        return f"{what}-{self._made}"

    def _told_before(self, prompt: AgentPrompt) -> list[ToolCall]:
        """What the agent said about the call of a question; of a call that is still open."""
        call_id = prompt.call_id or ""
        return self._watch.forms(call_id) if self._watch.is_open(call_id) else []

    def _own(self, tool: str, kind: str, arguments: Mapping[str, Any]) -> Facts:
        at_work = tuple(call.tool_name for call in self._watch.open_calls)
        return self._facts(Call(tool, kind, dict(arguments), meanwhile=at_work))

    def _facts(self, call: Call) -> Facts:
        return Facts(call, self.workspace, self.seen_as, self._tools)

    def _input(self, prompt: AgentPrompt) -> Decision | Ask:
        if not self.attended:
            return Decision(False, "no user is there to answer", by="policy")
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
