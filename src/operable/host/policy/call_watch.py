"""Follows the tool calls of a turn, from their announcement to their result, and raises the alarm.

Theory of operation. Every announcement of a call is kept. A question covers one call: the one with its id, with its
arguments, or, where it names no call that is known, one of its kind that does not contradict it. Three things raise the
alarm. A call of a mutating kind, or of an unknown kind, succeeded without a question, and the policy does not allow it.
A call succeeded although its question was denied or not answered. A call was rewritten: a later announcement contradicts
what the question said, or the policy that answered the question would not allow it (`operable.host.policy.call_form`
says what is a refinement). A rewritten call raises the alarm as soon as it is announced, since the agent can perhaps
still be stopped.

A failed result does not raise it: agents check arguments before they ask, and report that as a failed call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from operable.host.policy.call_form import TITLE, TOOL, Form
from operable.host.policy.grants import Thing, things
from operable.host.policy.pattern import ALLOW, DENY
from operable.host.policy.rules import Policy, Ruling
from operable.host.policy.tool_call import Call, Facts
from operable.host.session.approvals import Decision, argument_digest
from operable.wire.events import MUTATING_KINDS, AgentPrompt, ToolCall, ToolResult

# What changes something, and what is unknown.
_WATCHED = MUTATING_KINDS | {"other"}
UNASKED, UNANSWERED = "unasked", "unanswered"


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why a session must stop; `asked` and `told` are the two forms of the call. `asked` None: nothing was asked."""

    text: str
    asked: Any
    told: Any


@dataclass(slots=True)
class CallQuestion:
    """A question of this turn, and its answer once it has one."""

    call_id: str | None
    sealed: str
    kind: str
    form: Form  # what the question itself says
    shown: Any  # the same for the record
    about: list[Thing]
    lasting: bool  # the agent reports enough to recognise the same call
    elsewhere: bool  # it names no call that is known: some agents ask under another id than the call then has
    by_rule: bool  # a rule allowed it
    answer: Decision | None = None
    used: bool = False

    @property
    def is_denied(self) -> bool:
        return self.answer is not None and not self.answer.allowed


@dataclass(slots=True)
class _Followed:
    """A call in every form in which it was announced."""

    forms: list[ToolCall] = field(default_factory=list)
    is_open: bool = True


class CallWatch:
    """The calls and questions of one turn. `facts` works out what a call is about."""

    def __init__(self, facts: Callable[[Call], Facts]) -> None:
        self._facts = facts
        self._calls: dict[str, _Followed] = {}
        self._questions: dict[str, CallQuestion] = {}  # by the id of the request

    def begin_turn(self) -> None:
        """Nothing of an earlier turn counts any more; calls that are still open stay known."""
        self._calls = {name: call for name, call in self._calls.items() if call.is_open}
        self._questions.clear()

    # --- questions

    def asked(self, prompt: AgentPrompt, facts: Facts, ruling: Ruling) -> CallQuestion:
        """Keep a question. `facts` also has what was reported of its call before."""
        known = self._calls.get(prompt.call_id or "")
        own = self._facts(call_of(prompt))
        question = self._questions[prompt.tool_call_id] = CallQuestion(
            prompt.call_id,
            argument_digest(prompt.tool_name, prompt.arguments),
            prompt.kind,
            Form.of(own),
            _shown(prompt.tool_name, prompt.kind, prompt.arguments, prompt.locations),
            things(facts),
            facts.distinct,
            elsewhere=known is None or not known.is_open,
            by_rule=ruling.effect == ALLOW,
        )
        return question

    def answered(self, request_id: str, decision: Decision) -> CallQuestion | None:
        question = self._questions.get(request_id)
        if question is not None:
            question.answer = decision
        return question

    # --- calls

    @property
    def open_calls(self) -> list[ToolCall]:
        return [call.forms[-1] for call in self._calls.values() if call.is_open]

    def is_open(self, call_id: str) -> bool:
        return call_id in self._calls and self._calls[call_id].is_open

    def forms(self, call_id: str) -> list[ToolCall]:
        """Every form in which a call was announced; the last one is how it ends."""
        return self._calls[call_id].forms if call_id in self._calls else []

    def told(self, call: ToolCall, policy: Policy) -> Alarm | None:
        """The agent says what a call is: for the first time, or again."""
        known = self._calls.get(call.tool_call_id)
        if known is not None and not known.is_open:
            return self._told_after_its_end(known, call, policy)
        known = self._calls.setdefault(call.tool_call_id, _Followed())
        known.forms.append(call)
        return self._rewritten(call, policy)

    def finished(
        self, result: ToolResult, policy: Policy, *, expects_questions: bool
    ) -> tuple[tuple[str, str], Alarm | None]:
        """Who decided and what, for the record; and the alarm, if it must be raised."""
        known = self._calls[result.tool_call_id]
        known.is_open = False
        call = known.forms[-1]
        questions = self._questions_about(call)
        for question in questions:
            question.used = True
        succeeded = not result.is_error and not result.denied
        if questions:
            return self._judge_asked(call, questions, policy, succeeded=succeeded)
        if result.denied:
            return ("agent", "deny"), None
        facts = self._facts(self._all_of(call))
        ruling = policy.judge(facts)
        alarm = None
        if succeeded and expects_questions and _needs_question(facts, ruling):
            kind = "of unknown kind" if call.kind == "other" else call.kind
            text = f"{call.tool_name} ({kind}) ran without having asked, in a mode that asks"
            alarm = _alarm(text, None, call)
        return (reference(ruling), UNASKED), alarm

    # --- inside

    def _judge_asked(
        self, call: ToolCall, questions: list[CallQuestion], policy: Policy, *, succeeded: bool
    ) -> tuple[tuple[str, str], Alarm | None]:
        denied = [question for question in questions if question.is_denied]
        answers = [question.answer for question in (denied or questions) if question.answer is not None]
        if not answers:
            ruling = policy.judge(self._facts(self._all_of(call)))
            text = f"{call.tool_name} ran before its question was answered"
            alarm = _alarm(text, questions[-1], call) if succeeded and ruling.effect != ALLOW else None
            return ("nobody", UNANSWERED), alarm
        by = answers[-1].by or "somebody"
        if denied:
            text = f"{call.tool_name} ran although it was denied"
            return (by, "deny"), _alarm(text, denied[-1], call) if succeeded else None
        # Agents ask under another title than the one that they announced before.
        return (by, "allow"), self._rewritten(call, policy, ignored=(TITLE,)) if succeeded else None

    def _rewritten(self, call: ToolCall, policy: Policy, ignored: Sequence[str] = ()) -> Alarm | None:
        """The alarm for a call that is no longer what any question about it was."""
        covering = [
            question
            for question in self._questions.values()
            if question.call_id == call.tool_call_id and not question.is_denied
        ]
        reasons = [self._departure(question, call, policy, ignored) for question in covering]
        if not reasons or not all(reasons):
            return None
        return _alarm(f"{call.tool_name} is not what was asked about: {reasons[-1]}", covering[-1], call)

    def _departure(
        self, question: CallQuestion, call: ToolCall, policy: Policy, ignored: Sequence[str]
    ) -> str:
        """Why a question does not cover this form of a call; nothing: it does."""
        difference = question.form.difference(Form.of(self._facts(told_call(call))))
        if not difference.adds:
            return ""
        ruling = policy.judge(self._facts(self._all_of(call)))
        if ruling.effect == ALLOW:
            return ""
        changed = [what for what in difference.contradictions if what not in ignored]
        if changed:
            return f"the agent changed {' and '.join(changed)}"
        if question.by_rule or (ruling.effect == DENY and ruling.rule is not None and ruling.is_certain):
            return ruling.reason
        return ""

    def _told_after_its_end(self, known: _Followed, call: ToolCall, policy: Policy) -> Alarm | None:
        """An agent may repeat itself. Another call under the id of one that has ended is one that was not asked about."""
        before = Form.of(self._facts(told_call(known.forms[-1])))
        facts = self._facts(told_call(call))
        if not before.difference(Form.of(facts)).contradictions or not _needs_question(
            facts, policy.judge(facts)
        ):
            return None
        asked = _shown_call(known.forms[-1])
        return Alarm(
            f"{call.tool_name} was announced as another call after its end", asked, _shown_call(call)
        )

    def _questions_about(self, call: ToolCall) -> list[CallQuestion]:
        """The questions that cover a call: by its id, else one by its arguments, else one of its kind that names no call."""
        left = [question for question in self._questions.values() if not question.used]
        by_id = [question for question in left if question.call_id == call.tool_call_id]
        if by_id:
            return by_id
        sealed = argument_digest(call.tool_name, call.arguments)
        form = Form.of(self._facts(told_call(call)))
        meant = (
            *(question for question in left if question.sealed == sealed),
            *(
                question
                for question in left
                if question.elsewhere
                and question.kind == call.kind
                and not {*question.form.difference(form).contradictions} - {TOOL}
            ),
        )
        return list(meant[:1])

    def _all_of(self, call: ToolCall) -> Call:
        """The call with everything that was reported of it."""
        latest, told = told_call(call), self.forms(call.tool_call_id)
        return Call(
            latest.tool,
            latest.kind,
            latest.arguments,
            latest.locations,
            latest.shown,
            latest.unnamed,
            told=tuple(told_call(form) for form in told if form is not call),
        )


def reference(ruling: Ruling) -> str:
    """How the record names the rule that decided."""
    return "policy" if ruling.rule is None else f"policy:{ruling.rule.effect} {ruling.rule.pattern}"


def told_call(call: ToolCall) -> Call:
    """What the agent announced, for the rules."""
    shown = (call.title,) if call.title else ()
    return Call(call.tool_name, call.kind, call.arguments, call.locations, shown, call.unnamed)


def call_of(prompt: AgentPrompt, *told: ToolCall) -> Call:
    """What a question is about: what it says itself, and what was reported of its call before."""
    return Call(
        prompt.tool_name,
        prompt.kind,
        prompt.arguments,
        prompt.locations,
        (prompt.text,) if prompt.text else (),
        prompt.unnamed,
        told=tuple(told_call(form) for form in told),
    )


def _needs_question(facts: Facts, ruling: Ruling) -> bool:
    """Whether a call without a question should have had one."""
    if facts.kinds and not set(facts.kinds) & _WATCHED:
        # Reading and similar calls need no question, unless a rule is about just that, and certainly matches.
        rule = ruling.rule
        return ruling.effect != ALLOW and rule is not None and rule.pattern != "*" and ruling.is_certain
    return ruling.effect != ALLOW


def _alarm(text: str, question: CallQuestion | None, call: ToolCall) -> Alarm:
    return Alarm(text, None if question is None else question.shown, _shown_call(call))


def _shown_call(call: ToolCall) -> dict[str, Any]:
    return _shown(call.tool_name, call.kind, call.arguments, call.locations)


def _shown(tool: str, kind: str, arguments: Any, locations: tuple[str, ...]) -> dict[str, Any]:
    found = {"tool": tool, "kind": kind, "arguments": arguments, "locations": list(locations)}
    return {name: value for name, value in found.items() if value not in (None, [], "")}
