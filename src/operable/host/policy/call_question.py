"""The questions of a turn about tool calls, and which forms of a call each of them covers.

Theory of operation. A question covers one call: the one with its id, with its arguments, or, where it names no call that is
known, one of its kind that does not contradict it. It covers the forms of that call that do not contradict what the
question said, and that the rule which answered it would allow (`operable.host.policy.call_form` says what is a refinement).
A question that repeats an earlier one with more replaces it. What follows from that is for
`operable.host.policy.call_watch`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from operable.host.policy.call_form import TITLE, TOOL, Form
from operable.host.policy.grants import Thing, things
from operable.host.policy.pattern import ALLOW, DENY, parse
from operable.host.policy.rules import Ruling
from operable.host.policy.tool_call import Facts, JudgedCall
from operable.host.session.approvals import Decision, argument_digest, prompt_digest
from operable.wire.events import AgentPrompt, ToolCall

Judge = Callable[[Facts], Ruling]
"""What the rules of the session say about a call."""


@dataclass(slots=True)
class CallQuestion:
    """A question of this turn, and its answer once it has one."""

    call_id: str | None
    sealed: str
    same: str  # the digest that a call has whose tool and arguments are those of the question
    kind: str
    form: Form  # what the question itself says
    known: Form  # and what was reported of its call before
    shown: Any  # the same for the record
    about: list[Thing]
    lasting: bool  # the agent reports enough to recognise the same call
    elsewhere: bool  # it names no call that is known: some agents ask under another id than the call then has
    by_rule: bool  # a rule allowed it
    answer: Decision | None = None
    used: bool = False

    @property
    def is_allowed(self) -> bool:
        return self.answer is not None and self.answer.allowed

    @property
    def is_denied(self) -> bool:
        return self.answer is not None and not self.answer.allowed

    @property
    def by(self) -> str:
        """Who answered."""
        return (self.answer.by if self.answer is not None else "") or "somebody"

    def refines(self, earlier: "CallQuestion") -> bool:
        """Whether it repeats an earlier question with more: then its answer is about all that is known."""
        change, before, after = earlier.form.difference(self.form), earlier.form, self.form
        adds = change.adds or after.members.keys() - before.members.keys() or after.diffs - before.diffs
        return bool(adds) and not {*change.contradictions} - {TITLE}


class CallQuestions:
    """The questions of one turn. `facts` works out what a call is about."""

    def __init__(self, facts: Callable[[JudgedCall], Facts]) -> None:
        self._facts = facts
        self._questions: dict[str, CallQuestion] = {}  # by the id of the request

    def clear(self) -> None:
        self._questions.clear()

    def add(self, prompt: AgentPrompt, facts: Facts, ruling: Ruling, *, elsewhere: bool) -> None:
        """Keep a question. `facts` also has what was reported of its call before."""
        self._questions[prompt.tool_call_id] = CallQuestion(
            prompt.call_id,
            prompt_digest(prompt),
            argument_digest(prompt.tool_name, prompt.arguments),
            prompt.kind,
            Form.of(self._facts(call_of(prompt))),
            Form.of(facts),
            shown(prompt),
            things(facts),
            facts.distinct,
            elsewhere=elsewhere,
            by_rule=ruling.effect == ALLOW,
        )

    def answer(self, request_id: str, decision: Decision) -> CallQuestion | None:
        question = self._questions.get(request_id)
        if question is not None:
            question.answer = decision
        return question

    def under_id(self, call: ToolCall) -> list[CallQuestion]:
        """The questions under the id of a call that were not answered with no."""
        questions = [each for each in self._questions.values() if each.call_id == call.tool_call_id]
        return [question for question in questions if not question.is_denied]

    def about(self, call: ToolCall) -> list[CallQuestion]:
        """The questions that a call uses: by its id, else one by its arguments, else one of its kind that names no call."""
        left = [question for question in self._questions.values() if not question.used]
        by_id = [question for question in left if question.call_id == call.tool_call_id]
        if by_id:
            return by_id
        same = argument_digest(call.tool_name, call.arguments)
        form = Form.of(self._facts(told_call(call)))
        meant = (
            *(question for question in left if question.same == same),
            *(
                question
                for question in left
                if question.elsewhere
                and question.kind == call.kind
                and not {*question.form.difference(form).contradictions} - {TOOL}
            ),
        )
        return list(meant[:1])

    def departure(
        self, questions: Sequence[CallQuestion], call: ToolCall, ruling: Ruling, ignored: Sequence[str] = ()
    ) -> str:
        """Why none of these questions covers this form of a call; empty if one does, or if no question is given.

        `ruling` is about the call with everything that was reported of it.
        """
        reasons = [self.objection(question, call, ruling, ignored) for question in current(questions)]
        return reasons[-1] if reasons and all(reasons) else ""

    def objection(
        self, question: CallQuestion, call: ToolCall, ruling: Ruling, ignored: Sequence[str]
    ) -> str:
        """Why a question does not cover this form of a call; nothing: it does."""
        difference = question.form.difference(Form.of(self._facts(told_call(call))), question.known)
        if not difference.adds:
            return ""
        if ruling.effect == ALLOW and not (difference.extends and _is_by_argument(ruling)):
            return ""
        changed = [what for what in difference.contradictions if what not in ignored]
        if changed:
            return f"the agent changed {' and '.join(changed)}"
        if question.by_rule or (ruling.effect == DENY and ruling.rule is not None and ruling.is_certain):
            return ruling.reason
        return ""


def current(questions: Sequence[CallQuestion]) -> list[CallQuestion]:
    """Without those that a later one refines.

    opencode asks about a folder outside of the workspace, and then about the content of the file there.
    """
    return [
        question
        for at, question in enumerate(questions)
        if not any(later.refines(question) for later in questions[at + 1 :])
    ]


def _is_by_argument(ruling: Ruling) -> bool:
    """Whether a rule decided that looks at one argument, and not at what is beside it."""
    return ruling.rule is not None and parse(ruling.rule.pattern).argument is not None


def told_call(call: ToolCall, *others: ToolCall) -> JudgedCall:
    """What the agent announced, for the rules; `others` are other forms of the same call."""
    shown = (call.title,) if call.title else ()
    return JudgedCall(
        call.tool_name,
        call.kind,
        call.arguments,
        call.locations,
        shown,
        call.unnamed,
        told=tuple(told_call(form) for form in others),
        diffs=call.diffs,
    )


def call_of(prompt: AgentPrompt, *told: ToolCall) -> JudgedCall:
    """What a question is about: what it says itself, and what was reported of its call before."""
    return JudgedCall(
        prompt.tool_name,
        prompt.kind,
        prompt.arguments,
        prompt.locations,
        (prompt.text,) if prompt.text else (),
        prompt.unnamed,
        told=tuple(told_call(form) for form in told),
        diffs=prompt.diffs,
    )


def shown(about: AgentPrompt | ToolCall) -> dict[str, Any]:
    """A form of a call for the record."""
    members = {
        "tool": about.tool_name,
        "kind": about.kind,
        "arguments": about.arguments,
        "locations": list(about.locations),
        "diffs": list(about.diffs),
    }
    return {name: value for name, value in members.items() if value not in (None, [], "")}
