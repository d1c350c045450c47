"""One conversation with one agent: turns in, events out, each durable before it is seen, under the rules that were given.

Theory of operation. The link gives everything that one chunk of the agent's output meant; `_took` sorts it into events and
consequences, appends the events with one write, then carries out the consequences (a question goes to the gate, a call of
the host's own methods is served, a turn's end is noted) and writes what the arm has to say. Readers, the sender included,
read the log. So nothing is shown, decided or answered that is not on disk.

The session, not the agent, guarantees the shape of a turn: one at a time, exactly one turn-end, within bounded time. A
cancel that the agent does not answer within `cancel_grace` ends the turn for its sender anyway; the agent is then given
`settle` seconds to come to rest before the next message, and is ended if it does not. Silence is told after `quiet` seconds
and ends the turn after `silence`. What the process does (exit, noise, lines without end) becomes events, never exceptions.

Lifecycle words are those of AIP-46: starting, running, then exited, killed or error.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import msgspec

from operable.host.approvals import Ask, Decision, Desk
from operable.host.arm import (
    Answer,
    CallWithdrawn,
    ClientCall,
    Happening,
    Message,
    NeedsAuth,
    Noise,
    Opened,
    PeerError,
)
from operable.host.budget import Budget, Exceeded
from operable.host.client_methods import ClientMethods
from operable.host.gate import Gate
from operable.host.link import Link
from operable.host.log import SessionLog
from operable.host.log_files import Record
from operable.host.registry import ALIVE, ERROR, EXITED, KILLED, RUNNING, SessionHome, timestamp
from operable.host.transport import Process
from operable.host.turn import Turn
from operable.kernel.errors import Fail
from operable.wire import events as e


@dataclass(frozen=True, slots=True)
class Limits:
    """Every wait of a session, in seconds. The reasons stand in docs/explain/the-session-log.md and governance.md."""

    handshake: float = 60.0  # real agents needed up to 46 s
    quiet: float = 60.0  # a notice that the agent says nothing
    silence: float = 900.0  # the turn ends as `timeout`; agents retry a busy model for minutes
    cancel_grace: float = 1.0  # AIP-45: a cancel surfaces within a second
    settle: float = 30.0  # agents were seen to wait 21 s for a running command
    turn: float | None = None  # of a whole turn, however busy


@dataclass(slots=True)
class Parts:
    """What a session is made of; put together by `operable.host.starting`."""

    home: SessionHome
    log: SessionLog
    gate: Gate
    desk: Desk
    budget: Budget
    methods: ClientMethods
    make_link: Callable[["Session"], Link]
    limits: Limits = field(default_factory=Limits)
    on_close: Callable[[], object] | None = None


class Session:
    """A running agent. Made by `AgentCliHandle.start`; all methods belong to the loop it was started on."""

    def __init__(self, parts: Parts) -> None:
        self.id = parts.home.meta.id
        self.home = parts.home
        self.log = parts.log
        self.opened: Opened | None = None
        self.limits = parts.limits
        self._gate = parts.gate
        self._desk = parts.desk
        self._budget = parts.budget
        self._methods = parts.methods
        self._on_close = parts.on_close
        self._link = parts.make_link(self)
        self._turn: Turn | None = None
        self._busy = False  # the arm is in a turn
        self._stale = False  # … which has ended for its sender already
        self._ending: str | None = None  # why we are cancelling: the reason that its turn-end is to have
        self._dropped = 0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready: asyncio.Future[None] | None = None
        self._settled: asyncio.Event | None = None
        self._failure: Fail | None = None
        self._closing: asyncio.Task[None] | None = None
        self._last_heard = 0.0
        self._is_quiet = False
        self._stopped: str | None = None  # why we ended the agent, where that is an error

    # --- what callers do

    @property
    def status(self) -> str:
        return self.home.meta.status

    @property
    def agent_session_id(self) -> str | None:
        """The agent's own id of this conversation, for `resume`."""
        return self.home.meta.agent_session_id

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._turn is not None

    @property
    def asks(self) -> list[Ask]:
        """The questions that wait for an answer."""
        return self._desk.pending

    async def open(self) -> None:
        """Start the agent and shake hands; Fail with the reason, and nothing left running, when that does not work."""
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        try:
            self._link.start()
            if self._link.arm.per_turn:
                self._ready.set_result(None)
            async with asyncio.timeout(self.limits.handshake):
                await self._ready
        except BaseException as problem:
            failure = self._handshake_failure(problem)
            self._stopped = failure.code if isinstance(failure, Fail) else type(failure).__name__
            self._link.kill("handshake failed")
            if self._link.process is not None:
                await self._link.process.ended()
            self._finish(ERROR, self._stopped)
            if failure is problem:
                raise
            raise failure from problem
        self.home.save(status=RUNNING, protocol=self._link.arm.name)

    def send(self, message: str | Message) -> Turn:
        """Begin a turn. Fail conflict/TURN_RUNNING while one runs, conflict/SESSION_ENDED when the agent is gone."""
        self.raise_failure()
        if self.status not in ALIVE or self._closing is not None:
            raise Fail(
                "conflict",
                "SESSION_ENDED",
                f"this session has ended ({self.status})",
                target=self.id,
                hint="start another; `resume` takes agent_session_id where the agent can",
            )
        if self._turn is not None:
            raise Fail(
                "conflict",
                "TURN_RUNNING",
                "a turn is running; agents take one message at a time",
                target=self.id,
                hint="wait for its turn-end, or cancel it",
            )
        message = Message(message) if isinstance(message, str) else message
        turn = self._turn = Turn(self, self.log.reader(self.log.last_id), message.text)
        if self._busy or self._budget.exceeded(next_turn=True):
            self._spawn(self._begin_later(turn, message))
        else:
            self._begin(turn, message)
        return turn

    async def cancel(self) -> bool:
        """End the running turn; returns when its turn-end is in the log. False: none was running."""
        turn = self._turn
        if turn is None:
            return False
        self._cancel_turn(e.CANCELLED)
        await turn.over.wait()
        return True

    def answer(
        self,
        request_id: str,
        allowed: bool = True,
        *,
        reason: str = "",
        option_id: str | None = None,
        content: Any = None,
        remember: str = "",
        digest: str = "",
        by: str = "caller",
    ) -> None:
        """Answer a question (`agent-prompt`). Fails as `Desk.answer` does; the first answer counts."""
        self._desk.answer(
            request_id, Decision(allowed, reason, by, option_id, content, remember, digest=digest)
        )

    def select(
        self, *, mode: str | None = None, model: str | None = None, option: tuple[str, Any] | None = None
    ) -> None:
        """Ask the agent for another mode, model or option value; Fail usage/NOT_SELECTABLE when its protocol cannot."""
        if not self._link.select(mode=mode, model=model, option=option):
            raise Fail("usage", "NOT_SELECTABLE", "this protocol cannot change that in a running session")

    async def events(self, after: int = 0) -> AsyncIterator[Record]:
        """Everything in the log behind this number, and what comes, until the session is closed."""
        async for record in self.log.reader(after):
            yield record

    async def close(self) -> None:
        """End the agent: its protocol's goodbye, end of input, SIGTERM, 5 s, SIGKILL. Any number of times."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._shut())
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._link.kill("cancelled")
            await self._closing
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def raise_failure(self) -> None:
        """What the session itself could not do (write its log, its audit): told to whoever waits for events."""
        if self._failure is not None:
            raise self._failure

    # --- what the agent does

    def took(self, happenings: list[Happening]) -> None:
        """Everything that one chunk of the agent's output meant."""
        self._last_heard = asyncio.get_running_loop().time()
        self._is_quiet = False
        shown: list[e.AnyEvent] = []
        consequences: list[tuple[Callable[[Any], object], Any]] = []
        stale = self._stale
        for happening in happenings:
            if type(happening) is e.TextDelta and not stale:
                shown.append(happening)
            else:
                self._sort(happening, shown, consequences)
                stale = self._stale
        self._commit(shown, consequences)

    def ended(self, process: Process) -> None:
        """A process is gone: the agent's, or that of one turn."""
        end = process.end
        status = None if end is None else end.status
        if process.too_long is not None:
            self.took([e.AgentError(e.Failure(process.too_long, "line_too_long"), self.id)])
        self.took([self._with_stderr(happening, process) for happening in self._link.eof(status)])
        self._busy = self._stale = False
        self._settle()
        if self._turn is not None and (self._turn.begun or not self._link.arm.per_turn):
            self._end_turn(e.ERROR, "agent_exited", f"the agent ended{_how(status)} in the middle of a turn")
        if self._link.arm.per_turn:
            return
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(self._exited(status))
        elif self._stopped is not None:
            self._finish(ERROR, self._stopped)
        elif self._closing is None:
            self._finish(EXITED if status == 0 else KILLED if (status or 0) < 0 else ERROR)

    def broke(self, error: PeerError) -> None:
        """The agent broke its protocol: the session cannot go on."""
        failure = Fail(
            "io", "AGENT_PROTOCOL_ERROR", error.message, target=error.code, stderr=self._link.stderr()
        )
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(failure)
        elif self._turn is not None and self._turn.begun:
            self._end_turn(e.ERROR, error.code, error.message)
        else:
            self._commit([e.AgentError(e.Failure(error.message, error.code), self.id)], [])
        self._stopped = error.code
        self._link.kill("protocol error")

    def _sort(
        self, happening: Happening, shown: list[e.AnyEvent], then: list[tuple[Callable[[Any], object], Any]]
    ) -> None:
        """Where a happening belongs: among the events, among the consequences, or both."""
        kind = type(happening)
        if isinstance(happening, Noise):
            notice = self._link.told_noise(happening)
            if notice is not None:
                shown.append(notice)
        elif kind in _SILENT:
            then.append((getattr(self, _SILENT[kind]), happening))
        elif isinstance(happening, e.TurnEnd):
            self._sort_end(happening, shown, then)
        elif self._stale and kind in _OF_A_TURN:
            self._dropped += 1
            if isinstance(
                happening, e.AgentPrompt
            ):  # nobody will answer it, and the agent would wait for ever
                then.append((self._refuse, happening))
        elif isinstance(happening, e.AnyEvent):
            shown.append(happening)
            if kind in _CONSEQUENCES:
                then.append((getattr(self, _CONSEQUENCES[kind]), happening))

    def _sort_end(
        self, end: e.TurnEnd, shown: list[e.AnyEvent], then: list[tuple[Callable[[Any], object], Any]]
    ) -> None:
        if not self._busy:
            shown.append(e.Notice("late_turn_end", "a turn-end without a turn", self.id))
            return
        self._busy = False
        if self._stale:
            self._stale = False
            text = f"the agent came to rest; {self._dropped} events of the cancelled turn were left out"
            shown.append(e.Notice("turn_settled", text, self.id, {"dropped": self._dropped}))
            then.append((self._settle, None))
            return
        if self._ending is not None:
            end = msgspec.structs.replace(end, reason=self._ending)
        shown.append(end)
        then.append((self._turn_over, end))

    def _commit(self, shown: list[e.AnyEvent], then: list[tuple[Callable[[Any], object], Any]]) -> None:
        try:
            if shown and not self.log.closed:
                self.log.append(shown)
            for consequence, happening in then:
                consequence(happening)
        except Fail as problem:
            self._collapse(problem)
        self._link.flush()

    # --- the course of a turn

    def _begin(self, turn: Turn, message: Message) -> None:
        loop = asyncio.get_running_loop()
        self._ending = None
        self._dropped = 0
        self._budget.turn_began()
        self._gate.begin_turn()
        self.home.meta.turns += 1
        turn.begun = self._busy = True
        self._last_heard = loop.time()
        self._is_quiet = False
        try:
            self._link.send(message)
        except Fail as problem:
            self._busy = False
            self._end_turn(e.ERROR, problem.code.lower(), problem.message)
            return
        self._timers["watch"] = loop.call_later(min(self.limits.quiet, self.limits.silence), self._watch)
        if self.limits.turn is not None:
            self._timers["turn"] = loop.call_later(self.limits.turn, self._too_long)
        left = self._budget.seconds_left()
        if left is not None:
            self._timers["budget"] = loop.call_later(left, self._check_budget)

    async def _begin_later(self, turn: Turn, message: Message) -> None:
        """Once the agent is at rest and the budget allows it."""
        if self._busy:
            self._settled = self._settled or asyncio.Event()
            await self._settled.wait()
        while turn is self._turn and (over := self._budget.exceeded(next_turn=True)):
            if not await self._granted(over):
                reason = e.MAX_TURNS if over.what == "turns" else e.CANCELLED
                if turn is self._turn:
                    self._end_turn(reason, f"budget_{over.what}", over.text)
                return
        if turn is self._turn and self.status in ALIVE:
            self._begin(turn, message)

    def _turn_over(self, end: e.TurnEnd) -> None:
        """The turn-end is in the log: the sender may go on."""
        turn, self._turn = self._turn, None
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._desk.withdraw()
        self._methods.turn_ended(cancelled=end.reason != e.COMPLETED)
        self._budget.turn_ended(end)
        if turn is not None:
            turn.over.set()
            self._gate.turn_ended(end, turn.text)
        self.home.save(last_output_at=timestamp())
        self.log.sync()

    def _end_turn(self, reason: str, code: str | None = None, text: str = "") -> None:
        """End the turn from this side: what is open is closed, the reason told, then the turn-end."""
        ends: list[e.AnyEvent] = [
            e.ToolResult(self.id, call.tool_call_id, "the turn ended before this tool gave a result", True)
            for call in self._gate.open_calls()
        ]
        then: list[tuple[Callable[[Any], object], Any]] = [(self._gate.tool_finished, end) for end in ends]
        if code is not None:
            stderr = self._link.stderr()
            data = {"stderr": stderr} if stderr else None
            ends.append(e.AgentError(e.Failure(text, code, data=data), self.id))
        end = e.TurnEnd(self.id, reason)
        self._stale = self._busy
        self._commit([*ends, end], [*then, (self._turn_over, end)])
        if self._stale:
            grace = self.limits.settle if self._link.opening.quirks.get("cancel") != "kill" else 0.0
            loop = asyncio.get_running_loop()
            self._timers["settle"] = loop.call_later(grace, self._never_settled)

    def _cancel_turn(self, reason: str) -> None:
        turn = self._turn
        if turn is None or self._ending is not None:
            return
        self._ending = reason
        if not turn.begun:
            self._desk.withdraw(reason="the turn was cancelled")
            self._ending = None
            self._end_turn(reason)
            return
        self._link.resume_reading()
        self._timers["cancel"] = asyncio.get_running_loop().call_later(
            self.limits.cancel_grace, self._unanswered
        )
        self._desk.withdraw(reason="the turn was cancelled")
        self._methods.turn_ended(cancelled=True)
        self.took(self._link.cancel())

    def _unanswered(self) -> None:
        if self._turn is not None:
            self._end_turn(self._ending or e.CANCELLED)

    def _never_settled(self) -> None:
        text = "the agent did not come to rest after a cancelled turn and was ended"
        self._commit([e.AgentError(e.Failure(text, "cancel_unanswered"), self.id)], [])
        self._stopped = "cancel_unanswered"
        self._link.kill("cancel unanswered")

    def _settle(self, _: object = None) -> None:
        timer = self._timers.pop("settle", None)
        if timer is not None:
            timer.cancel()
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    def _watch(self) -> None:
        """Has the agent said anything? Waiting for an answer of ours is no silence."""
        loop = asyncio.get_running_loop()
        if self._desk.pending or self._methods.busy:
            self._last_heard = loop.time()
        idle = loop.time() - self._last_heard
        if idle >= self.limits.silence:
            self._out_of_time("turn_timeout", f"the agent said nothing for {idle:.0f} s")
            return
        if idle >= self.limits.quiet and not self._is_quiet:
            self._is_quiet = True
            text = (
                f"the agent has said nothing for {idle:.0f} s; the turn ends after {self.limits.silence:g} s"
            )
            self._commit([e.Notice("quiet", text, self.id)], [])
        until = self.limits.silence if self._is_quiet else min(self.limits.quiet, self.limits.silence)
        self._timers["watch"] = loop.call_later(max(0.01, until - idle), self._watch)

    def _too_long(self) -> None:
        self._out_of_time("turn_timeout", f"the turn took longer than {self.limits.turn:g} s")

    def _out_of_time(self, code: str, text: str) -> None:
        stderr = self._link.stderr()
        data = {"stderr": stderr} if stderr else None
        self._commit([e.AgentError(e.Failure(text, code, data=data), self.id)], [])
        self._cancel_turn(e.TIMEOUT)

    # --- consequences

    def _prompted(self, prompt: e.AgentPrompt) -> None:
        found = self._gate.rule(prompt)
        if isinstance(found, Decision):
            self._answer(prompt, found)
        else:
            self._desk.put(found)  # now: whoever sees the event can answer it
            self._spawn(self._ask(prompt, found))

    async def _ask(self, prompt: e.AgentPrompt, ask: Ask) -> None:
        decision = await self._desk.wait(ask.id)
        # A cancel answers what is open itself; an approval after it must never reach the agent.
        if not decision.cancelled and self._ending is None and self.status in ALIVE:
            self._last_heard = asyncio.get_running_loop().time()
            self._answer(prompt, decision)

    def _answer(self, prompt: e.AgentPrompt, decision: Decision) -> None:
        try:
            self._gate.decided(prompt, decision)
        except Fail as problem:
            self._collapse(problem)
            return
        answer = Answer(decision.allowed, decision.option_id, decision.reason, decision.content)
        self.took(self._link.answer(prompt.tool_call_id, answer))

    def _refuse(self, prompt: e.AgentPrompt) -> None:
        self.took(self._link.answer(prompt.tool_call_id, Answer(allowed=False, cancelled=True)))

    def _withdrawn(self, withdrawn: CallWithdrawn) -> None:
        self._desk.withdraw(withdrawn.call_id)
        self._methods.withdraw(withdrawn.call_id)

    def _tool_called(self, call: e.ToolCall) -> None:
        self._gate.tool_called(call)

    def _finished(self, result: e.ToolResult) -> None:
        alarm = self._gate.tool_finished(result)
        if alarm is not None and self._turn is not None:
            self._gate.note("agent.alarm", alarm)
            self._stopped = "unasked_tool_call"
            self._link.kill("alarm")
            self._end_turn(e.ERROR, "unasked_tool_call", alarm)

    def _used(self, usage: e.UsageUpdate) -> None:
        self._budget.told(usage)
        self._check_budget()

    def _check_budget(self) -> None:
        over = self._budget.exceeded()
        if over is not None and self._turn is not None and self._turn.begun and self._ending is None:
            self._link.pause()
            self._spawn(self._over_budget(self._turn, over))

    async def _over_budget(self, turn: Turn, over: Exceeded) -> None:
        if await self._granted(over):
            self._link.resume_reading()
            left = self._budget.seconds_left()
            if left is not None and turn is self._turn:
                loop = asyncio.get_running_loop()
                self._timers["budget"] = loop.call_later(left, self._check_budget)
        elif turn is self._turn:
            failure = e.Failure(over.text, f"budget_{over.what}")
            self._commit([e.AgentError(failure, self.id)], [])
            self._cancel_turn(e.CANCELLED)

    async def _granted(self, over: Exceeded) -> bool:
        found = self._gate.budget_ask(over.what, over.text)
        if isinstance(found, Ask):
            choices = (e.Choice("allow", "Go on", "allow_once"), e.Choice("deny", "Stop", "reject_once"))
            prompt = e.AgentPrompt(self.id, found.id, choices, found.text)
            self._commit([prompt], [])
            found = await self._desk.ask(found)
        self._gate.note("agent.budget", over.text, allowed=found.allowed, by=found.by)
        if found.allowed:
            self._budget.grant(over.what)
        return found.allowed

    def _opened(self, opened: Opened) -> None:
        self.opened = opened if self.opened is None else _merged(self.opened, opened)
        known = self.opened
        self._link.resume = known.agent_session_id
        self.home.save(
            agent_session_id=known.agent_session_id,
            agent_name=known.agent_name,
            agent_version=known.agent_version,
        )
        if self._ready is not None and not self._ready.done():
            self._ready.set_result(None)

    def _needs_auth(self, needs: NeedsAuth) -> None:
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(
                Fail(
                    "authn",
                    "AUTH_REQUIRED",
                    needs.message or "the agent wants a login first",
                    target=self.home.meta.adapter_slug,
                    hint="log in to the agent, then start again",
                    aip_code="auth_required",
                    methods=list(needs.methods),
                )
            )
        else:
            self._commit([e.AgentError(e.Failure(needs.message, "auth_required"), self.id)], [])

    def _called(self, call: ClientCall) -> None:
        self._spawn(self._serve(call))

    async def _serve(self, call: ClientCall) -> None:
        result, error = await self._methods.serve(call, self._desk)
        if self.status in ALIVE and not (error or {}).get("withdrawn"):
            self._link.reply(call.call_id, result, error)

    # --- ends

    async def _shut(self) -> None:
        if self._turn is not None:
            await self.cancel()
        await self._methods.close()
        if self.status in ALIVE:
            await self._link.leave()
        end = None if self._link.process is None else self._link.process.end
        forced = end is not None and (end.cause is not None or (end.status or 0) < 0)
        self._finish(KILLED if forced else EXITED)

    def _finish(self, status: str, error: str | None = None) -> None:
        """The last word of the session, once: in the log, in the registry, in the audit chain."""
        if self.status not in ALIVE:
            return
        end = None if self._link.process is None else self._link.process.end
        code = None if end is None else end.status
        for task in self._tasks:
            task.cancel()
        self._methods.abandon()
        text = f"the session has ended ({status})"
        data = {
            "status": status,
            "exitStatus": code,
            "noise": self._link.noise,
            "stderr": self._link.stderr(),
        }
        try:
            if not self.log.closed:
                self.log.append([e.Notice("session_closed", text, self.id, data)])
            self._gate.note("session.end", text, status=status, exit=code)
        except Fail as problem:
            self._failure = self._failure or problem
        self.home.save(status=status, ended_at=timestamp(), exit_code=code, error=error)
        self.log.close()
        if self._on_close is not None:
            self._on_close()

    def _collapse(self, problem: Fail) -> None:
        """What must be kept cannot be kept: stop, and tell whoever waits."""
        if self._failure is not None:
            return
        self._failure = problem
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.over.set()
        self._link.kill("host failure")
        self._finish(ERROR, problem.code)

    def _handshake_failure(self, problem: BaseException) -> BaseException:
        if isinstance(problem, TimeoutError):
            return Fail(
                "timeout",
                "HANDSHAKE_TIMEOUT",
                f"the agent did not answer within {self.limits.handshake:g} s",
                target=self.home.meta.adapter_slug,
                hint="is it waiting for a login or an update? run it by hand to see",
                stderr=self._link.stderr(),
            )
        return problem

    def _exited(self, status: int | None) -> Fail:
        stderr = self._link.stderr()
        last = stderr.splitlines()[-1] if stderr else "it said nothing on stderr"
        return Fail(
            "io",
            "AGENT_EXITED",
            f"the agent ended{_how(status)} before it was ready: {last}",
            target=self.home.meta.adapter_slug,
            stderr=stderr,
        )

    def _with_stderr(self, happening: Happening, process: Process) -> Happening:
        if not isinstance(happening, e.AgentError):
            return happening
        stderr = self._link.stderr()
        end = process.end
        known = happening.error.data if isinstance(happening.error.data, dict) else {}
        data = {**known, "exitStatus": None if end is None else end.status}
        if stderr:
            data["stderr"] = stderr
        return msgspec.structs.replace(happening, error=msgspec.structs.replace(happening.error, data=data))

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


# happening -> the method that deals with it, which is no event, and those of events
_SILENT: dict[type, str] = {
    Opened: "_opened",
    NeedsAuth: "_needs_auth",
    ClientCall: "_called",
    CallWithdrawn: "_withdrawn",
}
_CONSEQUENCES: dict[type, str] = {
    e.AgentPrompt: "_prompted",
    e.ToolCall: "_tool_called",
    e.ToolResult: "_finished",
    e.UsageUpdate: "_used",
}
_OF_A_TURN = frozenset({e.TextDelta, e.Thought, e.ToolCall, e.ToolResult, e.AgentPrompt, e.Plan})


def _how(status: int | None) -> str:
    if status is None:
        return ""
    return f" with status {status}" if status >= 0 else f" by signal {-status}"


def _merged(before: Opened, after: Opened) -> Opened:
    """What a later Opened leaves empty is unchanged."""
    names = before.__dataclass_fields__
    return Opened(**{name: getattr(after, name) or getattr(before, name) for name in names})
