"""What the parts of one session share: its place on disk, its rules, its link to the agent, and how something is reported.

`commit` is the only way in which anything happens to a session: events go to the log first, then their consequences are
carried out, then what the arm has to say is written. What must be kept and cannot be (a full disk) stops the session.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from operable.host.policy.gate import Gate
from operable.host.session.approvals import ApprovalQueue
from operable.host.session.budget import Budget
from operable.host.session.client_methods import ClientMethods
from operable.host.session.link import AgentLink
from operable.host.session.log import SessionLog
from operable.host.session.registry import SessionHome, timestamp
from operable.host.session.turn_table import TurnMachine
from operable.kernel.errors import Fail
from operable.wire import events as e

Consequence = tuple[Callable[[Any], object], Any]
"""What is done, and with what, once the event that caused it is in the log."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Every wait of a session, in seconds. The reasons are in docs/explain/governance.md."""

    handshake: float = 60.0  # real agents needed up to 46 s
    quiet: float = 60.0  # a notice that the agent says nothing
    silence: float = 900.0  # the turn ends as `timeout`; agents retry a busy model for minutes
    cancel_grace: float = 1.0  # AIP-45: a cancel surfaces within a second
    settle: float = 30.0  # agents were seen to wait 21 s for a running command
    turn: float | None = None  # of a whole turn, however busy
    idle: float | None = None  # without a turn, then the session ends; None: as its manifest says; inf: never


@dataclass(slots=True)
class SessionContext:
    """The shared parts. `link`, `ready` and the callbacks are set by the session that they belong to."""

    home: SessionHome
    log: SessionLog
    gate: Gate
    approvals: ApprovalQueue
    budget: Budget
    methods: ClientMethods
    limits: Limits = field(default_factory=Limits)
    learn: Callable[[], object] = lambda: None  # called before each turn
    machine: TurnMachine = field(default_factory=TurnMachine)
    link: AgentLink = field(init=False)
    ready: asyncio.Future[None] = field(init=False)  # the end of the handshake
    on_collapse: Callable[[Fail], object] = field(init=False)
    on_idle: Callable[[], object] = field(init=False)
    on_exit: Callable[[], object] = field(init=False)  # the process of the session is gone
    failure: Fail | None = None  # what the host itself could not do
    stopped: str | None = None  # why we ended the agent, where that is an error
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def id(self) -> str:
        return self.home.meta.id

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def commit(self, shown: Sequence[e.AnyEvent], then: Iterable[Consequence] = ()) -> None:
        """Log the events, then carry out their consequences, then write what the arm has to say."""
        try:
            if shown and not self.log.closed:
                self.log.append(shown)
            for consequence, cause in then:
                consequence(cause)
            self.gate.record.flush()  # what the agent announced, before it gets another word of us
        except Fail as problem:
            self._collapse(problem)
        self.link.flush()

    def fail(self, code: str, text: str) -> e.AgentError:
        """An error event, with what the agent said on stderr."""
        stderr = self.link.stderr()
        return e.AgentError(e.Failure(text, code, data={"stderr": stderr} if stderr else None), self.id)

    def stop(self, code: str, cause: str) -> None:
        """End the agent for a reason that makes the session an error."""
        self.stopped = self.stopped or code
        self.link.kill(cause)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the conversation; if it fails, the session does: it would be reported in no other way."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is None:
            return
        if not isinstance(problem, Fail):
            problem = Fail(
                "internal", "SESSION_FAILED", f"{type(problem).__name__}: {problem}", target=self.id
            )
        self._collapse(problem)

    def _collapse(self, problem: Fail) -> None:
        if self.failure is None:
            self.failure = problem
            self.stop(problem.code, "host failure")
            self.on_collapse(problem)

    def last_word(self, status: str, error: str | None) -> None:
        """The session is over: in the log, in the audit chain, in the registry. No caller waits any more."""
        process = self.link.process
        code = None if process is None or process.end is None else process.end.status
        for task in self.tasks:
            task.cancel()
        self.methods.abandon()
        self.approvals.close()
        text = f"the session has ended ({status})"
        data = {
            "status": status,
            "exitStatus": code,
            "noise": self.link.noise,
            "stderr": self.link.stderr(),
        }
        try:
            if not self.log.closed:
                self.log.append([e.Notice("session_closed", text, self.id, data)])
            self.gate.record.end_session(text, status=status, exit=code)
        except Fail as problem:
            self.failure = self.failure or problem
        try:
            self.home.save(status=status, ended_at=timestamp(), exit_code=code, error=error)
        except Fail as problem:  # the next process that lists the sessions sees that the owner is gone
            self.failure = self.failure or problem
        self.log.close()
