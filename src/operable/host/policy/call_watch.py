"""Follows the tool calls of a session, from their announcement to their result, and raises the alarm.

Theory of operation. Every announcement of a call is kept. Three things raise the alarm. A call of a mutating kind, or of an
unknown kind, succeeded without a question, and the rules do not allow it. A call succeeded although its question was denied
or not answered. A call was rewritten: no question about it covers the later form (`operable.host.policy.call_question`). A
rewritten call raises the alarm as soon as it is announced, since the agent can perhaps still be stopped. A question that
still waits covers what is announced meanwhile, but no success: then each form needs an approval of its own. Questions
end with their turn, calls do not: what an agent does between turns is judged in the same way.

A failed result does not raise it: agents check arguments before they ask, and report that as a failed call. The alarm that
a success would have raised is kept: it is raised if the agent reports the success later.
"""

from dataclasses import field
from typing import Any, Final

from operable.gate.approvals import Decision
from operable.gate.policy.pattern import ALLOW
from operable.gate.policy.rules import Ruling
from operable.gate.policy.tool_call import Facts, JudgedCall
from operable.host.policy.call_form import TITLE, Form
from operable.host.policy.call_question import (
    CallQuestion,
    CallQuestions,
    Judge,
    current,
    shown,
)
from operable.host.policy.judged_question import FactsOf, JudgedQuestion, reported_call
from operable.kernel.data_class import dataclass
from operable.wire.events import MUTATING_KINDS, ToolCall, ToolResult

# What changes something, and what is unknown.
_WATCHED = MUTATING_KINDS | {"other"}
UNASKED, UNANSWERED = "unasked", "unanswered"
_LATE: Final = 256
"""Calls of earlier turns whose success would be an alarm: agents report results minutes after a turn, not days."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why a session must stop; `asked` and `reported` are the two forms of the call. `asked` None: nothing was asked."""

    text: str
    asked: Any
    reported: Any


@dataclass(slots=True)
class _Followed:
    """A call in every form in which it was announced."""

    forms: list[ToolCall] = field(default_factory=list)
    awaited: list[ToolCall] = field(
        default_factory=list
    )  # forms that only a question without an answer covers
    is_open: bool = True
    late_alarm: Alarm | None = None  # what a success after its end would be


class CallWatch:
    """The calls of one session and the questions of one turn. `facts` works out what a call is about."""

    def __init__(self, facts: FactsOf, judge: Judge) -> None:
        self._facts = facts
        self._judge = judge
        self._calls: dict[str, _Followed] = {}
        self._questions = CallQuestions(facts)
        self._late: dict[str, Alarm] = {}  # of calls of earlier turns, by their ids

    def begin_turn(self) -> None:
        """Nothing of an earlier turn counts any more; calls that are still open stay known."""
        for call_id, call in self._calls.items():
            if call.late_alarm is not None:
                self._late[call_id] = call.late_alarm
        for call_id in list(self._late)[:-_LATE]:
            del self._late[call_id]
        self._calls = {call_id: call for call_id, call in self._calls.items() if call.is_open}
        self.end_turn()

    def end_turn(self) -> None:
        """No answer of this turn covers what is announced from now on."""
        self._questions.clear()

    # --- questions

    def asked(self, judged: JudgedQuestion, ruling: Ruling) -> None:
        """Keep a question."""
        elsewhere = not self.is_open(judged.prompt.call_id or "")
        self._questions.add(judged, ruling, elsewhere=elsewhere)

    def answered(self, request_id: str, decision: Decision) -> CallQuestion | None:
        return self._questions.answer(request_id, decision)

    # --- calls

    @property
    def open_calls(self) -> list[ToolCall]:
        return [call.forms[-1] for call in self._calls.values() if call.is_open]

    def is_open(self, call_id: str) -> bool:
        return call_id in self._calls and self._calls[call_id].is_open

    def forms(self, call_id: str) -> list[ToolCall]:
        """Every form in which a call was announced; the last one is how it ends."""
        return self._calls[call_id].forms if call_id in self._calls else []

    def reported(self, call: ToolCall) -> Alarm | None:
        """The agent says what a call is: for the first time, or again."""
        self._late.pop(call.tool_call_id, None)
        known = self._calls.get(call.tool_call_id)
        if known is not None and not known.is_open:
            return self._told_after_its_end(known, call)
        known = self._calls.setdefault(call.tool_call_id, _Followed())
        known.forms.append(call)
        questions = self._questions.under_id(call)
        allowed = [question for question in questions if question.is_allowed]
        if questions and (not allowed or self._rewritten(call, allowed) is not None):
            known.awaited.append(call)
        return self._rewritten(call, questions)

    def finished(
        self, result: ToolResult, *, expects_questions: bool
    ) -> tuple[tuple[str, str], Alarm | None]:
        """Who decided and what, for the record; and the alarm, if it must be raised."""
        known = self._calls[result.tool_call_id]
        known.is_open = False
        call = known.forms[-1]
        questions = self._questions.about(call)
        for question in questions:
            question.used = True
        succeeded = _is_success(result)
        if questions:
            decision, alarm = self._judge_asked(call, questions, known.awaited, succeeded=succeeded)
        else:
            decision, alarm = self._judge_unasked(call, expects_questions=expects_questions)
            decision = ("agent", "deny") if result.denied else decision
        if not succeeded:
            known.late_alarm, alarm = alarm, None
        return decision, alarm

    def finished_late(self, result: ToolResult) -> Alarm | None:
        """A result of a call that has ended already: the alarm, if the call may not have succeeded."""
        if not _is_success(result):
            return None
        known = self._calls.get(result.tool_call_id)
        if known is None:
            return self._late.pop(result.tool_call_id, None)
        alarm, known.late_alarm = known.late_alarm, None
        return alarm

    # --- inside

    def _judge_unasked(
        self, call: ToolCall, *, expects_questions: bool
    ) -> tuple[tuple[str, str], Alarm | None]:
        facts = self._facts(self._all_of(call))
        ruling = self._judge(facts)
        alarm = None
        if expects_questions and _needs_question(facts, ruling):
            kind = "of unknown kind" if call.kind == "other" else call.kind
            text = f"{call.tool_name} ({kind}) ran without having asked, in a mode that asks"
            alarm = Alarm(text, None, shown(call))
        return (ruling.reference, UNASKED), alarm

    def _judge_asked(
        self,
        call: ToolCall,
        questions: list[CallQuestion],
        awaited: list[ToolCall],
        *,
        succeeded: bool,
    ) -> tuple[tuple[str, str], Alarm | None]:
        """Who decided and what; and the alarm for the success of this call."""
        denied = [question for question in questions if question.is_denied]
        allowed = [question for question in questions if question.is_allowed]
        ruling = self._judge(self._facts(self._all_of(call)))
        if not denied and not allowed:
            text = f"{call.tool_name} ran before its question was answered"
            alarm = None if ruling.effect == ALLOW else Alarm(text, questions[-1].shown, shown(call))
            return ("nobody", UNANSWERED), alarm
        if denied:
            text = f"{call.tool_name} ran although it was denied"
            return (denied[-1].by, "deny"), Alarm(text, denied[-1].shown, shown(call))
        # Agents ask under another title than the one that they announced before.
        ignored = (TITLE,)
        covering = [
            question
            for question in current(allowed)
            if not self._questions.objection(question, call, ruling, ignored)
        ]
        by = (covering or allowed)[-1].by
        own = [question for question in allowed if question.call_id == call.tool_call_id]
        alarms = [self._rewritten(form, own, *ignored) for form in (*awaited, call)]
        alarm = next((alarm for alarm in alarms if alarm is not None), None)
        if succeeded and alarm is not None and not covering and len(allowed) < len(questions):
            return ("nobody", UNANSWERED), alarm
        return (by, "allow"), alarm

    def _rewritten(self, call: ToolCall, questions: list[CallQuestion], *ignored: str) -> Alarm | None:
        """The alarm for a call that is no longer what any of these questions about it was."""
        if not questions:
            return None
        ruling = self._judge(self._facts(self._all_of(call)))
        reason = self._questions.departure(questions, call, ruling, ignored)
        if not reason:
            return None
        return Alarm(
            f"{call.tool_name} is not what was asked about: {reason}", questions[-1].shown, shown(call)
        )

    def _told_after_its_end(self, known: _Followed, call: ToolCall) -> Alarm | None:
        """An agent may repeat itself. Another call under the id of one that has ended is one that was not asked about."""
        before = Form.of(self._facts(reported_call(known.forms[-1])))
        facts = self._facts(reported_call(call))
        if not before.difference(Form.of(facts)).contradictions or not _needs_question(
            facts, self._judge(facts)
        ):
            return None
        return Alarm(
            f"{call.tool_name} was announced as another call after its end",
            shown(known.forms[-1]),
            shown(call),
        )

    def _all_of(self, call: ToolCall) -> JudgedCall:
        """The call with everything that was reported of it."""
        return reported_call(call, *(form for form in self.forms(call.tool_call_id) if form is not call))


def _is_success(result: ToolResult) -> bool:
    return not result.is_error and not result.denied


def _needs_question(facts: Facts, ruling: Ruling) -> bool:
    """Whether a call without a question should have had one."""
    if facts.kinds and not set(facts.kinds) & _WATCHED:
        # Reading and similar calls need no question, unless a rule is about just that, and certainly matches.
        rule = ruling.rule
        return ruling.effect != ALLOW and rule is not None and rule.pattern != "*" and ruling.is_certain
    return ruling.effect != ALLOW
