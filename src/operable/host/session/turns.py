"""The course of a turn: it begins once, ends once, and in bounded time, whatever the agent does.

Two facts are kept apart: whether the sender's turn runs (`turn`), and whether the arm is in a turn (`busy`). They differ
after a cancel that the agent has not answered: the turn has ended for its sender, the agent still works, and what it says
meanwhile is `stale`: left out, counted, and reported when it comes to rest. Until then the next message waits.
"""

import asyncio
from collections.abc import Callable

import msgspec

from operable.host.arm import Message
from operable.host.session.approvals import Ask
from operable.host.session.budget import Exceeded
from operable.host.session.context import Consequence, SessionContext
from operable.host.session.registry import timestamp
from operable.host.session.turn import Turn
from operable.kernel.errors import Fail
from operable.wire import events as e

_CHOICES = (e.Choice("allow", "Go on", "allow_once"), e.Choice("deny", "Stop", "reject_once"))


class TurnMachine:
    """The turns of one session, one after the other."""

    def __init__(self, works: SessionContext) -> None:
        self.turn: Turn | None = None
        self.busy = False
        self.stale = False
        self.ending: str | None = None  # why we are cancelling: the reason that the turn-end is to have
        self.dropped = 0
        self.last_heard = 0.0
        self._works = works
        self._is_quiet = False
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._settled: asyncio.Event | None = None

    def heard(self) -> None:
        self.last_heard = self._works.now
        self._is_quiet = False

    def rest(self) -> None:
        """No turn runs: from now on the session may be idle for so long."""
        limit = self._works.limits.idle
        if limit is not None and limit != float("inf"):
            self._set("idle", limit, lambda: self._idle(limit))

    def _idle(self, limit: float) -> None:
        if self.turn is None and self._works.alive:
            text = f"no turn for {limit:g} s: the session is ended"
            self._works.commit([e.Notice("idle_timeout", text, self._works.id)])
            self._works.on_idle()

    # --- beginning

    def begin(self, turn: Turn, message: Message) -> None:
        """Send the message now, or when the agent is at rest and the budget allows it."""
        self.turn = turn
        self._drop("idle")
        if self.busy or self._works.budget.exceeded(next_turn=True):
            self._works.spawn(self._begin_later(turn, message))
        else:
            self._begin_now(turn, message)

    def _begin_now(self, turn: Turn, message: Message) -> None:
        works = self._works
        self.ending = None
        self.dropped = 0
        works.budget.turn_began()
        works.home.meta.turns += 1
        turn.begun = self.busy = True
        self.heard()
        try:
            works.gate.begin_turn(message.text)
            works.link.send(message)
        except Fail as problem:
            self.busy = False
            self.end(e.ERROR, problem.code.lower(), problem.message)
            return
        self._set("watch", min(works.limits.quiet, works.limits.silence), self._watch)
        if turn.limit is not None:
            limit = turn.limit
            self._set("turn", limit, lambda: self._out_of_time(f"the turn took longer than {limit:g} s"))
        left = works.budget.seconds_left()
        if left is not None:
            self._set("budget", left, self.check_budget)

    async def _begin_later(self, turn: Turn, message: Message) -> None:
        works = self._works
        if self.busy:
            self._settled = self._settled or asyncio.Event()
            await self._settled.wait()
        while turn is self.turn and (over := works.budget.exceeded(next_turn=True)):
            if not await self._granted(over):
                if turn is self.turn:
                    reason = e.MAX_TURNS if over.what == "turns" else e.CANCELLED
                    self.end(reason, f"budget_{over.what}", over.text)
                return
        if turn is self.turn and works.alive:
            self._begin_now(turn, message)

    # --- ending

    def sort_end(self, end: e.TurnEnd, shown: list[e.AnyEvent], then: list[Consequence]) -> None:
        """What the arm's turn-end means: the end of the turn, or rest after one that has ended already."""
        if not self.busy:
            shown.append(e.Notice("late_turn_end", "a turn-end without a turn", self._works.id))
            return
        self.busy = False
        if self.stale:
            self.stale = False
            text = f"the agent is idle again; {self.dropped} events of the cancelled turn were left out"
            shown.append(e.Notice("turn_settled", text, self._works.id, {"dropped": self.dropped}))
            then.append((self._settle, None))
            return
        if self.ending is not None:
            end = msgspec.structs.replace(end, reason=self.ending)
        shown.append(end)
        then.append((self._over, end))

    def end(self, reason: str, code: str | None = None, text: str = "") -> None:
        """End the turn from this side: what is open is closed, the reason reported, then the turn-end."""
        works = self._works
        told = "the turn ended before this tool gave a result"
        results = [
            e.ToolResult(works.id, call.tool_call_id, told, is_error=True) for call in works.gate.open_calls()
        ]
        errors = [] if code is None else [works.fail(code, text)]
        end = e.TurnEnd(works.id, reason)
        self.stale = self.busy
        then: list[Consequence] = [(works.gate.tool_finished, result) for result in results]
        works.commit([*results, *errors, end], [*then, (self._over, end)])
        if self.stale:
            kill = works.link.opening.quirks.get("cancel") == "kill"
            self._set("settle", 0.0 if kill else works.limits.settle, self._never_settled)

    def process_ended(self, text: str) -> None:
        """The agent's process is gone, and with it whatever it was doing."""
        self.busy = self.stale = False
        self._settle()
        if self.turn is not None and (self.turn.begun or not self._works.link.arm.per_turn):
            self.end(e.ERROR, "agent_exited", text)

    def abandon(self) -> None:
        """The agent will never report the end of this turn: let its sender go."""
        turn, self.turn = self.turn, None
        self.clear()
        if turn is not None:
            turn.over.set()

    def _over(self, end: e.TurnEnd) -> None:
        """The turn-end is in the log: the sender may go on."""
        works = self._works
        turn, self.turn = self.turn, None
        self.clear()
        self.rest()
        works.gate.end_turn()
        works.desk.withdraw()
        works.methods.turn_ended(cancelled=end.reason != e.COMPLETED)
        works.budget.turn_ended(end)
        if turn is not None:
            turn.over.set()
            works.gate.record.end_turn(end, turn.text)
        works.home.save(last_output_at=timestamp())
        works.log.sync()

    # --- cancelling

    def cancel(self, reason: str) -> None:
        """Ask the agent to end the turn; if it does not within the grace, it ends for its sender anyway."""
        works, turn = self._works, self.turn
        if turn is None or self.ending is not None:
            return
        if not turn.begun:
            works.desk.withdraw(reason="the turn was cancelled")
            self.end(reason)
            return
        self.ending = reason
        works.link.resume_reading()
        self._set("cancel", works.limits.cancel_grace, self._unanswered)
        works.gate.cancel_turn()
        works.desk.withdraw(reason="the turn was cancelled")
        works.methods.turn_ended(cancelled=True)
        works.link.cancel()

    def _unanswered(self) -> None:
        if self.turn is not None:
            self.end(self.ending or e.CANCELLED)

    def _never_settled(self) -> None:
        text = "the agent did not stop after a cancelled turn and was ended"
        self._works.commit([self._works.fail("cancel_unanswered", text)])
        self._works.stop("cancel_unanswered", "cancel unanswered")

    def _settle(self, _: object = None) -> None:
        self._drop("settle")
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    # --- time and money

    def _watch(self) -> None:
        """Has the agent said anything? Waiting for an answer of ours is not silence."""
        works = self._works
        if works.desk.pending or works.methods.busy:
            self.last_heard = works.now
        idle = works.now - self.last_heard
        if idle >= works.limits.silence:
            self._out_of_time(f"the agent said nothing for {idle:.0f} s")
            return
        if idle >= works.limits.quiet and not self._is_quiet:
            self._is_quiet = True
            text = (
                f"the agent has said nothing for {idle:.0f} s; the turn ends after {works.limits.silence:g} s"
            )
            works.commit([e.Notice("quiet", text, works.id)])
        until = works.limits.silence if self._is_quiet else min(works.limits.quiet, works.limits.silence)
        self._set("watch", max(0.01, until - idle), self._watch)

    def _out_of_time(self, text: str) -> None:
        self._works.commit([self._works.fail("turn_timeout", text)])
        self.cancel(e.TIMEOUT)

    def check_budget(self) -> None:
        """Pause and ask when a limit is reached in the middle of a turn."""
        over = self._works.budget.exceeded()
        left = self._works.budget.seconds_left()
        if over is None and left is not None and self.turn is not None:
            self._set("budget", max(0.01, left), self.check_budget)  # a timer may be early by a hair
        if over is not None and self.turn is not None and self.turn.begun and self.ending is None:
            self._works.link.pause()
            self._works.spawn(self._over_budget(self.turn, over))

    async def _over_budget(self, turn: Turn, over: Exceeded) -> None:
        works = self._works
        if await self._granted(over):
            works.link.resume_reading()
            left = works.budget.seconds_left()
            if left is not None and turn is self.turn:
                self._set("budget", left, self.check_budget)
        elif turn is self.turn:
            works.commit([e.AgentError(e.Failure(over.text, f"budget_{over.what}"), works.id)])
            self.cancel(e.CANCELLED)

    async def _granted(self, over: Exceeded) -> bool:
        works = self._works
        found = works.gate.budget_ask(over.text)
        if isinstance(found, Ask):
            works.desk.put(found)
            works.commit([e.AgentPrompt(works.id, found.id, _CHOICES, found.text)])
            found = await works.desk.wait(found.id)
        works.gate.record.note("agent.budget", over.text, allowed=found.allowed, by=found.by)
        if found.allowed:
            works.budget.grant(over.what)
        return found.allowed

    def _set(self, name: str, delay: float, callback: Callable[[], object]) -> None:
        self._drop(name)
        self._timers[name] = self._works.later(delay, callback)

    def _drop(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def clear(self) -> None:
        """Wait for nothing any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
