"""Carries out what the table of turns says: a turn begins once, ends once, and in bounded time, whatever the agent does.

`feed` gives `operable.host.session.turn_table` what happened. Each action of the row adds events to the batch, which is
logged first, or a consequence, which follows. So nothing is shown, answered or sent that is not on disk; only to end the
agent or to stop reading it needs no record. The timers of a state are started and stopped here.
"""

import asyncio
from collections.abc import Callable
from dataclasses import field

import msgspec

from operable.gate.approvals import Ask
from operable.host.arm import Message
from operable.host.session.context import Consequence, Exceeded, SessionContext
from operable.host.session.registry import timestamp
from operable.host.session.turn import Turn, TurnContent
from operable.host.session.turn_table import TIMERS, TurnAction, TurnInput, TurnTimer
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.wire import events as e

_CHOICES = (e.Choice("allow", "Go on", "allow_once"), e.Choice("deny", "Stop", "reject_once"))


@dataclass(frozen=True, slots=True)
class Cause:
    """What an input is about: the reason of a turn-end, an error, the agent's turn-end, a limit, a failed start."""

    reason: str = e.ERROR
    code: str | None = None
    text: str = ""
    end: e.TurnEnd | None = None
    exceeded: Exceeded | None = None
    failure: Fail | None = None


_NO_CAUSE = Cause()


@dataclass(frozen=True, slots=True)
class Batch:
    """Events for the log, and what is done once they are in it."""

    shown: list[e.AnyEvent] = field(default_factory=list)
    then: list[Consequence] = field(default_factory=list)


class Turns:
    """The turns of one session, one after the other."""

    def __init__(self, context: SessionContext) -> None:
        self.turn: Turn | None = None
        self.content = TurnContent({})
        self.dropped = 0
        self._context = context
        self._message = Message("")  # of `turn`, until it is sent
        self._ending: str | None = None  # why we are cancelling: the reason that the turn-end is to have
        self._last_heard = 0.0
        self._is_quiet = False
        self._timers: dict[TurnTimer, asyncio.TimerHandle] = {}
        self._actions: dict[TurnAction, Callable[[Cause, Batch], None]] = {
            TurnAction.READY: self._ready,
            TurnAction.REFUSE_START: self._refuse_start,
            TurnAction.CHECK_BUDGET: self._check_budget,
            TurnAction.ASK_BUDGET: self._ask_budget,
            TurnAction.BEGIN: self._begin,
            TurnAction.PAUSE: self._pause,
            TurnAction.RESUME: self._resume,
            TurnAction.STOP_TURN: self._stop_turn,
            TurnAction.REPORT: self._report,
            TurnAction.SHOW_END: self._show_end,
            TurnAction.SHOW_SETTLED: self._show_settled,
            TurnAction.SHOW_LATE: self._show_late,
            TurnAction.END: self._end,
            TurnAction.LET_GO: self._let_go,
            TurnAction.RESTART: self._restart,
            TurnAction.KILL: self._kill,
            TurnAction.LEAVE: self._leave,
            TurnAction.FINISH: self._finish,
            TurnAction.ABANDON: self._abandon,
        }
        self._rings: dict[TurnTimer, Callable[[], None]] = {
            TurnTimer.IDLE: self._idle_over,
            TurnTimer.WATCH: self._watch,
            TurnTimer.TURN: self._turn_over,
            TurnTimer.BUDGET: self.check_limits,
            TurnTimer.GRACE: self._grace_over,
            TurnTimer.SETTLE: self._settle_over,
        }

    def begin(self, turn: Turn, message: Message) -> None:
        """Send the message now, or when the agent is at rest and the budget allows it."""
        self.turn, self._message = turn, message
        self.feed(TurnInput.SENT)
        self._context.changed()

    def feed(self, happened: TurnInput, cause: Cause = _NO_CAUSE) -> None:
        """Do what the table says about it."""
        batch = Batch()
        self.sort(happened, cause, batch)
        self._context.commit(batch.shown, batch.then)

    def sort(self, happened: TurnInput, cause: Cause, batch: Batch) -> None:
        """Add what the table says about it to a batch that the caller commits."""
        actions = self._context.machine.feed(happened)
        self._set_timers()
        for action in actions:
            self._actions[action](cause, batch)

    def collapse(self, problem: Fail) -> None:
        """The session cannot go on: say why, and end the turn if there is one. Nothing is judged any more."""
        batch, cause = Batch(), Cause(e.ERROR, problem.code.lower(), problem.message)
        if self.turn is None:
            self._report(cause, batch)
        else:
            self._close(cause, batch, self._context.gate.tool_lost)
        self._context.commit(batch.shown, batch.then)

    def left(self) -> None:
        """The agent left after a stop, and can be started again."""
        self.feed(TurnInput.LEFT, Cause(self._ending or e.CANCELLED))

    def heard(self) -> None:
        self._last_heard = self._context.now
        self._is_quiet = False

    def check_limits(self) -> None:
        """Pause and ask when a budget is used up in the middle of a turn."""
        exceeded = self._context.budget.exceeded()
        if exceeded is not None:
            self.feed(TurnInput.LIMIT_REACHED, _over(exceeded))
        else:  # a timer may be early by a hair
            self._set_timers()

    # --- actions: beginning

    def _ready(self, _cause: Cause, _batch: Batch) -> None:
        if not self._context.ready.done():
            self._context.ready.set_result(None)

    def _refuse_start(self, cause: Cause, _batch: Batch) -> None:
        if not self._context.ready.done() and cause.failure is not None:
            self._context.ready.set_exception(cause.failure)

    def _check_budget(self, _cause: Cause, batch: Batch) -> None:
        batch.then.append((self._weigh, None))

    def _weigh(self, _: None) -> None:
        exceeded = self._context.budget.exceeded(next_turn=True)
        self.feed(TurnInput.WITHIN_BUDGET if exceeded is None else TurnInput.OVER_BUDGET, _over(exceeded))

    def _ask_budget(self, cause: Cause, _batch: Batch) -> None:
        if self.turn is not None and cause.exceeded is not None:
            self._context.spawn(self._ask(self.turn, cause.exceeded))

    async def _ask(self, turn: Turn, exceeded: Exceeded) -> None:
        context = self._context
        if turn is not self.turn:  # it has ended in the same chunk: the next turn asks
            return
        answer = context.gate.budget_ask(exceeded.text)
        if isinstance(answer, Ask):
            context.approvals.put(answer)
            context.commit([e.AgentPrompt(context.id, answer.id, _CHOICES, answer.text)])
            answer = await context.approvals.wait(answer.id)
        context.gate.record.note("agent.budget", exceeded.text, allowed=answer.allowed, by=answer.by)
        if answer.allowed:
            context.budget.grant(exceeded.what)
        if turn is self.turn:
            self.feed(TurnInput.GRANTED if answer.allowed else TurnInput.DENIED, _over(exceeded))

    def _begin(self, _cause: Cause, batch: Batch) -> None:
        batch.then.append((self._send, self._message))

    def _send(self, message: Message) -> None:
        context = self._context
        self.dropped = 0
        self.content = TurnContent(context.link.opening.quirks)
        context.budget.turn_began()
        context.home.meta.turns += 1
        self.heard()
        try:
            context.gate.begin_turn(message.text)
            context.link.send(message)
        except Fail as failure:
            self.feed(TurnInput.UNSENDABLE, Cause(e.ERROR, failure.code.lower(), failure.message))

    # --- actions: the way to an end

    def _pause(self, _cause: Cause, _batch: Batch) -> None:
        self._context.link.pause()

    def _resume(self, _cause: Cause, _batch: Batch) -> None:
        self._context.link.resume_reading()

    def _stop_turn(self, cause: Cause, batch: Batch) -> None:
        self._ending = cause.reason
        batch.then.append((self._cancel, None))

    def _cancel(self, _: None) -> None:
        context = self._context
        context.gate.cancel_turn()
        context.approvals.withdraw(reason="the turn was cancelled")
        context.methods.abandon()
        context.link.cancel()

    def _report(self, cause: Cause, batch: Batch) -> None:
        if cause.code is not None:
            batch.shown.append(self._context.fail(cause.code, cause.text))

    def _show_end(self, cause: Cause, batch: Batch) -> None:
        end = cause.end or e.TurnEnd(self._context.id, cause.reason)
        if self._ending is not None:
            end = msgspec.structs.replace(end, reason=self._ending)
        doubt = self.content.doubt(end)
        if doubt is not None:
            batch.shown.append(doubt)
        batch.shown.append(end)
        batch.then.append((self._conclude, end))

    def _show_settled(self, _cause: Cause, batch: Batch) -> None:
        text = f"the agent is idle again; {self.dropped} events of the cancelled turn were left out"
        batch.shown.append(e.Notice("turn_settled", text, self._context.id, {"dropped": self.dropped}))

    def _show_late(self, _cause: Cause, batch: Batch) -> None:
        batch.shown.append(e.Notice("late_turn_end", "a turn-end without a turn", self._context.id))

    def _end(self, cause: Cause, batch: Batch) -> None:
        """End the turn from this side: what is open is closed, the reason reported, then the turn-end."""
        self._close(cause, batch, self._context.gate.tool_finished)

    def _close(self, cause: Cause, batch: Batch, finish: Callable[[e.ToolResult], object]) -> None:
        context = self._context
        text = "the turn ended before this tool gave a result"
        results = [
            e.ToolResult(context.id, call.tool_call_id, text, is_error=True)
            for call in context.gate.open_calls()
        ]
        batch.shown.extend(results)
        batch.then.extend((finish, result) for result in results)
        self._report(cause, batch)
        end = e.TurnEnd(context.id, cause.reason)
        batch.shown.append(end)
        batch.then.append((self._conclude, end))

    def _conclude(self, end: e.TurnEnd) -> None:
        """The turn-end is in the log: the sender may go on."""
        context = self._context
        turn, self.turn = self.turn, None
        self._ending = None
        context.gate.end_turn()
        context.approvals.withdraw()
        context.methods.abandon()
        context.budget.turn_ended(end)
        if turn is not None:
            turn.over.set()
            context.gate.record.end_turn(end, turn.text)
        context.home.save(last_output_at=timestamp(), **context.budget.account())
        context.log.sync()
        context.changed()

    def _let_go(self, _cause: Cause, batch: Batch) -> None:
        batch.then.append((lambda _: self._context.link.let_go(), None))

    def _restart(self, _cause: Cause, batch: Batch) -> None:
        text = "the agent left after the cancelled turn; it is started again with its session"
        batch.shown.append(e.Notice("agent_restarted", text, self._context.id))
        batch.then.append((self._start_again, None))

    def _start_again(self, _: None) -> None:
        try:
            self._context.link.restart()
        except Fail as failure:
            self.feed(TurnInput.EXITED, Cause(e.ERROR, failure.code.lower(), failure.message))

    def _kill(self, cause: Cause, _batch: Batch) -> None:
        code = cause.code or cause.reason
        self._context.stop(code, code.replace("_", " "))

    def _leave(self, cause: Cause, batch: Batch) -> None:
        batch.shown.append(e.Notice("idle_timeout", cause.text, self._context.id))
        batch.then.append((lambda _: self._context.on_idle(), None))

    def _finish(self, _cause: Cause, batch: Batch) -> None:
        batch.then.append((lambda _: self._context.on_exit(), None))

    def _abandon(self, _cause: Cause, _batch: Batch) -> None:
        self._context.ready.cancel()  # the caller of a start gets `failure`
        turn, self.turn = self.turn, None
        if turn is not None:
            turn.over.set()

    # --- time

    def _set_timers(self) -> None:
        """Stop the timers that the state does not have, and start those that do not run yet."""
        wanted = TIMERS[self._context.machine.state]
        for timer in [timer for timer in self._timers if timer not in wanted]:
            self._timers.pop(timer).cancel()
        for timer in wanted - self._timers.keys():
            delay = self._delay(timer)
            if delay is not None:
                self._start(timer, delay)

    def _start(self, timer: TurnTimer, delay: float) -> None:
        if timer in self._timers:
            self._timers[timer].cancel()

        def ring() -> None:
            self._timers.pop(timer, None)
            with self._context.closing():
                self._rings[timer]()

        self._timers[timer] = asyncio.get_running_loop().call_later(delay, ring)

    def _delay(self, timer: TurnTimer) -> float | None:
        """Seconds; None: it never rings."""
        limits = self._context.limits
        match timer:
            case TurnTimer.IDLE:
                return None if limits.idle == float("inf") else limits.idle
            case TurnTimer.WATCH:
                return min(limits.quiet, limits.silence)
            case TurnTimer.TURN:
                return None if self.turn is None else self.turn.limit
            case TurnTimer.BUDGET:
                left = self._context.budget.seconds_left()
                return None if left is None else max(0.01, left)
            case TurnTimer.GRACE:
                return limits.cancel_grace
            case TurnTimer.SETTLE:
                return 0.0 if self._context.link.opening.quirks.get("cancel") == "kill" else limits.settle

    def _watch(self) -> None:
        """Has the agent said anything? Waiting for an answer of ours is not silence."""
        context, limits = self._context, self._context.limits
        if context.approvals.pending or context.methods.busy:
            self._last_heard = context.now
        idle = context.now - self._last_heard
        if idle >= limits.silence:
            self._out_of_time(f"the agent said nothing for {idle:.0f} s")
            return
        if idle >= limits.quiet and not self._is_quiet:
            self._is_quiet = True
            text = f"the agent has said nothing for {idle:.0f} s; the turn ends after {limits.silence:g} s"
            context.commit([e.Notice("quiet", text, context.id)])
        until = limits.silence if self._is_quiet else min(limits.quiet, limits.silence)
        if TurnTimer.WATCH in TIMERS[context.machine.state]:
            self._start(TurnTimer.WATCH, max(0.01, until - idle))

    def _turn_over(self) -> None:
        if self.turn is not None:
            self._out_of_time(f"the turn took longer than {self.turn.limit:g} s")

    def _out_of_time(self, text: str) -> None:
        self.feed(TurnInput.TIMED_OUT, Cause(e.TIMEOUT, "turn_timeout", text))

    def _grace_over(self) -> None:
        self.feed(TurnInput.GRACE_OVER, Cause(self._ending or e.CANCELLED))

    def _settle_over(self) -> None:
        text = "the agent did not stop after a cancelled turn and was ended"
        self.feed(TurnInput.SETTLE_OVER, Cause(e.ERROR, "cancel_unanswered", text))

    def _idle_over(self) -> None:
        text = f"no turn for {self._context.limits.idle:g} s: the session is ended"
        self.feed(TurnInput.IDLE_OVER, Cause(text=text))


def _over(exceeded: Exceeded | None) -> Cause:
    if exceeded is None:
        return Cause()
    reason = e.MAX_TURNS if exceeded.what == "turns" else e.CANCELLED
    return Cause(reason, f"budget_{exceeded.what}", exceeded.text, exceeded=exceeded)
