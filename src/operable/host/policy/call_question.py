"""The questions of a turn about tool calls, and which forms of a call each of them covers.

Theory of operation. A question covers one call: the one with its id, with its arguments, or, where it names no call that is
known, one of its kind that does not contradict it. It covers the forms of that call that do not contradict what the
question said, and that the rule which answered it would allow (`operable.host.policy.call_form` says what is a refinement).
A question that repeats an earlier one with more replaces it. What follows from that is for
`operable.host.policy.call_watch`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from operable.gate.approvals import Decision, argument_digest
from operable.gate.policy.pattern import ALLOW, DENY, parse
from operable.gate.policy.rules import Ruling
from operable.gate.policy.tool_call import Facts
from operable.host.policy.approved_content import is_same_edit
from operable.host.policy.call_form import TITLE, TOOL, Form
from operable.host.policy.judged_question import FactsOf, JudgedQuestion, reported_call
from operable.kernel.data_class import dataclass
from operable.wire.events import ToolCall

Judge = Callable[[Facts], Ruling]
"""What the rules of the session say about a call."""
_CONTENT = ("its argument", "its content")


@dataclass(slots=True)
class CallQuestion:
    """A question of this turn, and its answer once it has one."""

    judged: JudgedQuestion
    same: str  # the digest that a call has whose tool and arguments are those of the question
    elsewhere: bool  # it names no call that is known: some agents ask under another id than the call then has
    by_rule: bool  # a rule allowed it
    answer: Decision | None = None
    used: bool = False

    @property
    def call_id(self) -> str | None:
        return self.judged.prompt.call_id

    @property
    def form(self) -> Form:
        return self.judged.form

    @property
    def shown(self) -> dict[str, Any]:
        return self.judged.shown

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

    def __init__(self, facts: FactsOf) -> None:
        self._facts = facts
        self._questions: dict[str, CallQuestion] = {}  # by the id of the request

    def clear(self) -> None:
        self._questions.clear()

    def add(self, judged: JudgedQuestion, ruling: Ruling, *, elsewhere: bool) -> None:
        prompt = judged.prompt
        self._questions[prompt.tool_call_id] = CallQuestion(
            judged,
            argument_digest(prompt.tool_name, prompt.arguments),
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
        form = Form.of(self._facts(reported_call(call)))
        meant = (
            *(question for question in left if question.same == same),
            *(
                question
                for question in left
                if question.elsewhere
                and question.judged.prompt.kind == call.kind
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
        difference = question.form.difference(
            Form.of(self._facts(reported_call(call))), question.judged.known
        )
        if not difference.adds:
            return ""
        if ruling.effect == ALLOW and not (difference.extends and _is_by_argument(ruling)):
            return ""
        changed = [what for what in difference.contradictions if what not in ignored]
        if changed and not (
            all(what.startswith(_CONTENT) for what in changed)
            and is_same_edit(
                question.judged.facts, question.judged.prompt.diffs, self._facts(reported_call(call))
            )
        ):
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


def shown(about: ToolCall) -> dict[str, Any]:
    """A form of a call for the record."""
    members = {
        "tool": about.tool_name,
        "kind": about.kind,
        "arguments": about.arguments,
        "locations": list(about.locations),
        "diffs": list(about.diffs),
    }
    return {name: value for name, value in members.items() if value not in (None, [], "")}
