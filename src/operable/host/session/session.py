"""One conversation with one agent: turns in, events out, each durable before it is seen, under the rules that were given.

Theory of operation. The link gives everything that one chunk of the agent's output meant; `receive` sorts it into events and
consequences, and `SessionContext.commit` appends the events with one write, then carries out the consequences: a question
goes to the gate, a request is served, a turn's end is noted. Readers, the sender included, read the log. So nothing is
shown, decided or answered that is not on disk.

The session, not the agent, guarantees the shape of a turn (`operable.host.session.turn_table`). What the process does (exit,
noise, lines without end) becomes events, never exceptions. Lifecycle words are those of AIP-46: starting, running, then
exited, killed or error.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Any, Self

from operable.gate.approvals import Ask, Decision
from operable.host.arm import CallRevised, Happening, Message, NeedsAuth, Noise, Opened, PeerError
from operable.host.session.answers import ACTS, Answering
from operable.host.session.context import ALARMING, SessionContext
from operable.host.session.link import (
    AgentLink,
    check_message,
    exited,
    how,
    mute,
    needs_auth,
    session_ended,
    turn_running,
)
from operable.host.session.log import SessionLog
from operable.host.session.log_files import USER_MESSAGE, Record
from operable.host.session.registry import ERROR, EXITED, KILLED, RUNNING, SessionHome
from operable.host.session.session_requests import RequestWatch, SessionRequest
from operable.host.session.transport import Transport
from operable.host.session.turn import Turn
from operable.host.session.turn_table import TurnInput
from operable.host.session.turns import Batch, Cause, Turns
from operable.kernel.errors import Fail
from operable.wire import events as e


class Session:
    """A running agent. Made by `AgentCliHandle.start`; all methods belong to the loop it was started on."""

    def __init__(
        self,
        context: SessionContext,
        make_link: Callable[["Session"], AgentLink],
        on_close: Callable[[], object] | None = None,
    ) -> None:
        self.opened: Opened | None = None
        self._context = context
        self._machine = context.machine
        context.link = self._link = make_link(self)
        context.on_collapse = self._collapse
        context.on_idle = self._leave
        context.on_exit = self._exited
        context.ready = asyncio.get_running_loop().create_future()
        self._turns = Turns(context)
        self._answering = Answering(context, self._turns)
        self._on_close = on_close
        self._closing: asyncio.Task[None] | None = None
        self._is_killed = False
        self._requests = RequestWatch(context.home.folder, self._requested)
        self._complaint = ""  # the last error that the agent reported in its protocol

    # --- what callers do

    @property
    def id(self) -> str:
        return self._context.id

    @property
    def home(self) -> SessionHome:
        """Its folder, and what is known about it."""
        return self._context.home

    @property
    def log(self) -> SessionLog:
        return self._context.log

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
        return self._machine.has_turn

    @property
    def asks(self) -> list[Ask]:
        """The questions that wait for an answer."""
        return self._context.approvals.pending

    def watch(self, on_change: Callable[[], object]) -> None:
        """Call this when a turn begins or ends, a question comes or goes, and at the end of the session."""
        self._context.on_change = on_change

    async def open(self) -> None:
        """Start the agent and shake hands; Fail with the reason, and nothing left running, when that does not work."""
        limit = self._context.limits.handshake
        try:
            self._link.start()
            if self._link.arm.per_turn:
                self._turns.feed(TurnInput.OPENED)
            async with asyncio.timeout(limit):
                await self._context.ready
            if self._machine.is_closed:  # it ended with the word that it is ready
                raise self._exit_failure(self.home.meta.exit_code)
            self.home.save(status=RUNNING, protocol=self._link.arm.name)
            self._requests.start()
        except BaseException as problem:
            failure = self._context.failure or problem  # why we ended the agent, not that it has ended
            if isinstance(problem, TimeoutError):
                failure = mute(self.home.meta.adapter_slug, limit, self._link.stderr())
            code = failure.code if isinstance(failure, Fail) else type(failure).__name__
            self._context.stop(code, "handshake failed")
            if self._link.process is not None:
                await self._link.process.ended()
            self._finish(ERROR, self._context.stopped)
            if failure is problem:
                raise
            raise failure from problem

    def send(self, message: str | Message, *, timeout: float | None = None) -> Turn:
        """Begin a turn. Fail conflict/TURN_RUNNING while one runs, conflict/SESSION_ENDED when the agent is gone,
        usage/MESSAGE_INVALID for a text that is not Unicode.

        `timeout` is for this turn, in place of `limits.turn`: beyond it the turn ends as `timeout`.
        """
        self.raise_failure()
        if self._machine.is_closed or self._closing is not None:
            raise session_ended(self.id, self.status)
        if self.running:
            raise turn_running(self.id)
        message = Message(message) if isinstance(message, str) else message
        check_message(self.id, message.text)
        self._context.learn()
        self._context.commit([e.Notice(USER_MESSAGE, "the user's message", self.id, {"text": message.text})])
        self.raise_failure()
        limit = self._context.limits.turn if timeout is None else timeout
        turn = Turn(self, self.log.reader(self.log.last_id), message.text, limit)
        self._turns.begin(turn, message)
        return turn

    async def cancel(self) -> bool:
        """End the running turn; returns when its turn-end is in the log. False: none was running."""
        turn = self._turns.turn
        if turn is None:
            return False
        self._turns.feed(TurnInput.CANCELLED, Cause(e.CANCELLED))
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
        """Answer a question (`agent-prompt`). Fails as `ApprovalQueue.answer` does; the first answer counts."""
        self._context.approvals.answer(
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
        closing = self._leave()
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            self._link.kill("cancelled")
            await closing
            raise

    async def kill(self) -> None:
        """The same because a caller wants it gone: the session ends as `killed`, however the agent takes it."""
        self._is_killed = True
        await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def raise_failure(self) -> None:
        """What the session itself could not do (write its log, its audit): reported to callers that wait for events."""
        if self._context.failure is not None:
            raise self._context.failure

    # --- what the agent does

    def receive(self, happenings: list[Happening]) -> None:
        """Everything that one chunk of the agent's output meant."""
        with self._context.closing():
            if not self._machine.is_closed:
                self._turns.heard()
                batch = self._sorted(happenings)
                self._context.commit(batch.shown, batch.then)

    def _sorted(self, happenings: list[Happening]) -> Batch:
        """What the happenings mean, to be committed by the caller."""
        machine, batch, content = self._machine, Batch(), self._turns.content
        for happening in happenings:
            if type(happening) is e.TextDelta and not machine.is_stale:  # most of everything, by far
                batch.shown.append(happening)
                content.text = happening
                continue
            if batch.then and isinstance(happening, e.TurnEnd):
                # What came before may end the turn in another way (the alarm): a turn has one end, and that one.
                self._context.commit(batch.shown, batch.then)
                batch = Batch()
            self._sort(happening, batch)
        return batch

    def ended(self, process: Transport) -> None:
        """A process is gone: the agent's, or that of one turn."""
        with self._context.closing():
            if not self._machine.is_closed:
                self._ended(process)

    def _ended(self, process: Transport) -> None:
        status = None if process.end is None else process.end.status
        if self._has_left(process, status):
            return
        last = [self._link.with_stderr(happening, status) for happening in self._link.eof(status)]
        if process.fault is not None:
            # The reason is ours: what the arm makes of the end of its process would hide it.
            code, text = process.fault
            error = e.AgentError(e.Failure(text, code), self.id)
            last = [error, *(happening for happening in last if not isinstance(happening, e.AgentError))]
        batch = self._sorted(last)
        text = f"the agent ended{how(status)} in the middle of a turn"
        code, text = ("agent_exited", text) if process.fault is None else process.fault
        cause = Cause(e.ERROR, code, text, failure=self._exit_failure(status))
        if self._link.arm.per_turn:
            self._context.stopped = None  # the process that we ended is gone; the next turn has its own
        # Before the commit: a turn that waits for the rest of this one may begin there, with a process of its own.
        happened = TurnInput.TURN_EXITED if self._link.arm.per_turn else TurnInput.EXITED
        self._turns.sort(happened, cause, batch)
        self._context.commit(batch.shown, batch.then)

    def _has_left(self, process: Transport, status: int | None) -> bool:
        """An agent that left because it was stopped: the turn is cancelled, the agent goes on in another process."""
        is_done = self._context.stopped is not None or self._closing is not None or process.fault is not None
        was_stopped = self._machine.is_stale or self._machine.is_cancelling
        if is_done or not was_stopped or not self._link.may_restart(status):
            return False
        rest: list[Happening] = [each for each in self._link.eof(status) if not isinstance(each, e.TurnEnd)]
        batch = self._sorted(rest)
        self._context.commit(batch.shown, batch.then)
        self._turns.left()
        return True

    def _exit_failure(self, status: int | None) -> Fail:
        complaint = self._link.masked(self._complaint)
        return exited(self.home.meta.adapter_slug, status, self._link.stderr(), complaint)

    def broke(self, error: PeerError) -> None:
        """The agent broke its protocol: the session cannot go on."""
        with self._context.closing():
            self._broke(error)

    def _broke(self, error: PeerError) -> None:
        stderr = self._link.stderr()
        failure = Fail("io", "AGENT_PROTOCOL_ERROR", error.message, target=error.code, stderr=stderr)
        self._turns.feed(TurnInput.BROKEN, Cause(e.ERROR, error.code, error.message, failure=failure))

    def _sort(self, happening: Happening, batch: Batch) -> None:
        """Where a happening belongs: among the events, among the consequences, or both."""
        kind = type(happening)
        if isinstance(happening, Noise):
            notice = self._link.noise_notice(happening)
            if notice is not None:
                batch.shown.append(notice)
        elif isinstance(happening, e.TurnEnd):
            self._turns.sort(TurnInput.ENDED, Cause(happening.reason, end=happening), batch)
        elif self._machine.is_stale and kind in _OF_A_TURN:
            self._turns.dropped += 1
            if kind in ACTS:  # it is not shown, but the rules are the same
                act = self._answering.refuse if kind is e.AgentPrompt else self._answering.act
                batch.then.append((act, happening))
        else:
            if isinstance(happening, e.AnyEvent):
                batch.shown.append(happening)
                self._turns.content.add(happening)
            elif isinstance(happening, CallRevised):
                batch.shown.append(happening.notice)
            if isinstance(happening, e.AgentError):
                self._complaint = happening.error.message
            if kind in ACTS:
                batch.then.append((self._answering.act, happening))
            elif kind is Opened:
                batch.then.append((self._opened, happening))
            elif kind is NeedsAuth:
                batch.then.append((self._needs_auth, happening))

    def _opened(self, opened: Opened) -> None:
        known = self.opened = opened if self.opened is None else self.opened.then(opened)
        is_again = self._link.opened(known.agent_session_id)
        self.home.save(
            agent_session_id=known.agent_session_id,
            agent_name=known.agent_name,
            agent_version=known.agent_version,
        )
        self._turns.feed(TurnInput.RESTARTED if is_again else TurnInput.OPENED)

    def _needs_auth(self, needs: NeedsAuth) -> None:
        failure = needs_auth(self.home.meta.adapter_slug, needs.message, needs.methods)
        self._turns.feed(
            TurnInput.AUTH_NEEDED, Cause(e.ERROR, "auth_required", needs.message, failure=failure)
        )

    # --- ends

    async def _shut(self) -> None:
        if self.running:
            await self.cancel()
        await self._context.methods.close()
        if not self._machine.is_closed:
            # An agent that did not answer a cancel will not leave because its input ends.
            await self._link.leave(politely=not self._machine.is_stale)
        elif self._link.process is not None:
            await self._link.process.ended()  # it was asked to end, or is gone
        end = None if self._link.process is None else self._link.process.end
        forced = end is not None and (end.cause is not None or (end.status or 0) < 0)
        self._finish(KILLED if forced or self._is_killed else EXITED)

    def _requested(self, request: SessionRequest) -> None:
        """Another process of this user wants the turn, or the session, to end."""
        text = f"another process asked to {request} this session"
        self._context.commit([e.Notice("requested", text, self.id, {"request": request})])
        if request == "kill":
            self._is_killed = True
            self._leave()
        elif self.running:
            self._turns.feed(TurnInput.CANCELLED, Cause(e.CANCELLED))

    def _leave(self) -> asyncio.Task[None]:
        """Begin to close it, once."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._shut())
        return self._closing

    def _exited(self) -> None:
        """The process of the session is gone."""
        process = self._link.process
        status = None if process is None or process.end is None else process.end.status
        if self._context.stopped is not None:
            self._finish(ERROR, self._context.stopped)
        elif self._closing is None:
            self._finish(EXITED if status == 0 else KILLED if (status or 0) < 0 else ERROR)

    def _finish(self, status: str, error: str | None = None) -> None:
        """The session is over, once."""
        if self._machine.is_closed:
            return
        self._requests.close()
        self._turns.feed(TurnInput.CLOSED)
        self._context.last_word(status, error)
        if self._on_close is not None:
            self._on_close()

    def _collapse(self, problem: Fail) -> None:
        """What must be kept cannot be kept, or something cannot be judged: release waiting callers."""
        if problem.code in ALARMING:
            self._turns.collapse(problem)
        self._finish(ERROR, problem.code)


# What has no place behind the end of its turn.
_OF_A_TURN = frozenset(
    {e.TextDelta, e.Thought, e.ToolCall, e.ToolResult, e.AgentPrompt, e.AgentPlan, CallRevised}
)
