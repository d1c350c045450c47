"""What a session does about what its agent says: questions are decided, tool calls followed, requests served.

Called with events that are in the log already. A decision is in the audit chain before the agent receives it; an approval
is never sent after a cancel (real agents were seen to run a command that was allowed after its turn had been cancelled).
"""

from collections.abc import Callable
from typing import Any

from operable.gate.approvals import Ask, Decision
from operable.host.arm import Answer, CallRevised, CallWithdrawn, ClientCall, LateCall
from operable.host.policy.call_watch import Alarm
from operable.host.policy.gate import unjudged
from operable.host.session.client_methods import DENIED
from operable.host.session.context import SessionContext
from operable.host.session.turn_table import TurnInput
from operable.host.session.turns import Cause, Turns
from operable.kernel.errors import Fail
from operable.wire import events as e

UNASKED = "unasked_tool_call"
# Agents were seen to make a dozen calls at a time. Each one that is open holds a lock of the audit, which is a descriptor.
OPEN_CALLS = 256
OPEN_QUESTIONS = 32  # more than a person would look through


class Answering:
    """The consequences of events, for one session."""

    def __init__(self, context: SessionContext, turns: Turns) -> None:
        self._context = context
        self._turns = turns

    def act(self, happening: Any) -> None:
        """Carry out what follows from one of the ACTS; Fail: the session must end."""
        try:
            ACTS[type(happening)](self, happening)
        except Fail:
            raise
        except Exception as error:
            raise unjudged(error) from error

    def prompted(self, prompt: e.AgentPrompt) -> None:
        ruling = self._context.gate.rule(prompt)
        if isinstance(ruling, Ask) and len(self._context.approvals.pending) >= OPEN_QUESTIONS:
            ruling = Decision(False, f"{OPEN_QUESTIONS} questions wait for an answer already", by="host")
        if isinstance(ruling, Decision):
            self._answer(prompt, ruling)
        else:
            self._context.approvals.put(ruling)  # now: a reader of the event can answer it
            self._context.spawn(self._wait(prompt, ruling))

    def refuse(self, prompt: e.AgentPrompt) -> None:
        """A question of a turn that has ended: it will not be answered, and the agent would wait forever."""
        self._context.link.answer(prompt.tool_call_id, Answer(allowed=False, cancelled=True))

    def withdrawn(self, withdrawn: CallWithdrawn) -> None:
        self._context.approvals.withdraw(withdrawn.call_id)
        self._context.methods.withdraw(withdrawn.call_id)

    def called(self, call: e.ToolCall) -> None:
        if len(self._context.gate.open_calls()) >= OPEN_CALLS:
            text = f"the agent began {OPEN_CALLS} calls and ended none of them"
            self._alarm(Alarm(text, None, None), "too_many_calls")
            return
        self._alarm(self._context.gate.tool_called(call))

    def revised(self, revised: CallRevised) -> None:
        self._alarm(self._context.gate.tool_called(revised.call))

    def finished(self, result: e.ToolResult) -> None:
        self._alarm(self._context.gate.tool_finished(result))
        for path, reason in self._context.gate.take_unasked():
            text = f"{path} was changed without a question, and becomes execution: {reason}"
            self._context.commit([e.Notice("execution_file_changed", text, self._context.id, {"path": path})])

    def came_late(self, late: LateCall) -> None:
        """No turn runs, or the call had ended already: the rules are the same."""
        self.act(late.about)

    def _alarm(self, alarm: Alarm | None, code: str = UNASKED) -> None:
        """The agent does not do what it says: it is ended, and with it its turn. The first alarm counts."""
        if alarm is None or self._context.stopped is not None:
            return
        self._context.gate.record.alarm(alarm.text, alarm.asked, alarm.reported)
        self._turns.feed(TurnInput.ALARMED, Cause(e.ERROR, code, alarm.text))

    def used(self, usage: e.UsageUpdate) -> None:
        self._context.budget.report(usage)
        self._turns.check_limits()

    def requested(self, call: ClientCall) -> None:
        self._context.spawn(self._serve(call))

    async def _wait(self, prompt: e.AgentPrompt, ask: Ask) -> None:
        decision = await self._context.approvals.wait(ask.id)
        if not decision.cancelled and self._context.machine.may_answer:
            self._turns.heard()
            self._context.commit([], [(lambda answer: self._answer(prompt, answer), decision)])

    def _answer(self, prompt: e.AgentPrompt, decision: Decision) -> None:
        self._context.gate.decided(prompt, decision)
        answer = Answer(decision.allowed, decision.option_id, decision.reason, decision.content)
        self._context.link.answer(prompt.tool_call_id, answer)

    async def _serve(self, call: ClientCall) -> None:
        result, error = await self._context.methods.serve(call, self._context.approvals)
        if self._context.machine.is_closed:
            return
        if error is not None and error["code"] == DENIED:
            facts = {"method": call.method, "path": call.params.get("path") or call.params.get("cwd")}
            data = {name: value for name, value in facts.items() if isinstance(value, str)}
            text = f"{call.method} was refused: {error['message']}"
            self._context.commit([e.Notice("access_denied", text, self._context.id, data)])
        self._context.link.reply(call.call_id, result, error)


ACTS: dict[type, Callable[[Answering, Any], None]] = {
    e.AgentPrompt: Answering.prompted,
    e.ToolCall: Answering.called,
    e.ToolResult: Answering.finished,
    e.UsageUpdate: Answering.used,
    CallRevised: Answering.revised,
    CallWithdrawn: Answering.withdrawn,
    ClientCall: Answering.requested,
    LateCall: Answering.came_late,
}
