"""What the parts of one session share: its place on disk, its rules, its link to the agent, and how something is reported.

`commit` is the only way in which anything happens to a session: events go to the log first, then their consequences are
carried out, then what the arm has to say is written. What must be kept and cannot be (a full disk) stops the session, and
so does every other error in between: it is recorded as an alarm.

`Budget` counts turns, tokens, money and time, and says when a limit is reached.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import Any, Final

from operable.gate.approvals import ApprovalQueue
from operable.host.policy.gate import UNJUDGED, Gate
from operable.host.session.client_methods import ClientMethods
from operable.host.session.link import AgentLink
from operable.host.session.log import SessionLog
from operable.host.session.registry import SessionHome, timestamp
from operable.host.session.turn_table import TurnMachine
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.wire import events as e
from operable.wire.events import TurnEnd, UsageUpdate

FAILED: Final = "SESSION_FAILED"
ALARMING: Final = frozenset(
    {FAILED, UNJUDGED}
)  # what the agent does is not known any more: it ends with an alarm

TURNS, TOKENS, USD, SECONDS = "turns", "tokens", "usd", "seconds"
_UNITS = {TURNS: "turns", TOKENS: "tokens", USD: "US dollars", SECONDS: "seconds"}
Consequence = tuple[Callable[[Any], object], Any]


# Budgets of a session: turns, tokens, money, time. Counts what was used and says when a limit is reached.
# A session over a limit is paused, and the user is asked (the session does both); an approval grants the same amount
# again, a denial cancels the turn. Tokens and money are what the agent itself reports: an agent that reports nothing
# spends nothing that could be counted. `unreported` says so, so that silence is not mistaken for a low cost.
@dataclass(frozen=True, slots=True)
class Exceeded:
    """A limit that is reached."""

    what: str
    used: float
    limit: float

    @property
    def text(self) -> str:
        return f"the session has used {self.used:g} of {self.limit:g} {_UNITS[self.what]}"


class Budget:
    """What a session may use, and has used. Limits are absolute; `grant` raises one by its own size."""

    def __init__(self, limits: Mapping[str, float], clock: Callable[[], float]) -> None:
        self._sizes = dict(limits)
        self._limits = dict(limits)
        self._clock = clock
        self._started = clock()
        self._used: dict[str, float] = {TURNS: 0, TOKENS: 0, USD: 0.0}
        self._turn_tokens = (0, 0)  # of the running turn: in, out
        self._session_cost = 0.0
        self.tokens_in = self.tokens_out = 0
        self.context = (0, 0)  # tokens in the window of the model, its size
        self.unreported = True

    @property
    def limited(self) -> bool:
        return bool(self._limits)

    def used(self, what: str) -> float:
        return self._clock() - self._started if what == SECONDS else self._used[what]

    def exceeded(self, *, next_turn: bool = False) -> Exceeded | None:
        """The first limit that is reached; a turn that is about to begin counts as one that must still fit."""
        for what, limit in self._limits.items():
            used = self.used(what)
            if (what == TURNS and next_turn and used >= limit) or (what != TURNS and used >= limit):
                return Exceeded(what, used, limit)
        return None

    def seconds_left(self) -> float | None:
        limit = self._limits.get(SECONDS)
        return None if limit is None else max(0.0, limit - self.used(SECONDS))

    def grant(self, what: str) -> None:
        """The same amount again, from the current state of the session."""
        self._limits[what] = max(self._limits[what], self.used(what)) + self._sizes[what]

    def turn_began(self) -> None:
        self._used[TURNS] += 1
        self._turn_tokens = (0, 0)

    def report(self, event: UsageUpdate) -> None:
        """What the agent says in the middle of a turn: totals of the turn for tokens, of the session for money."""
        self.unreported = False
        self._count(event.tokens_in, event.tokens_out)
        if event.used or event.size:
            self.context = event.used, event.size
        if event.cost is not None and event.cost > self._session_cost:
            self._used[USD] += event.cost - self._session_cost
            self._session_cost = event.cost

    def turn_ended(self, event: TurnEnd) -> None:
        """The agent's account of the whole turn; what was reported before is part of it."""
        if event.usage is None:
            return
        self.unreported = False
        self._count(event.usage.input_tokens, event.usage.output_tokens)
        self._turn_tokens = (0, 0)
        if event.usage.cost_usd is not None and self._session_cost == 0.0:
            self._used[USD] += event.usage.cost_usd

    def _count(self, tokens_in: int, tokens_out: int) -> None:
        """Totals of the running turn: what they exceed the last ones by is new."""
        before = self._turn_tokens
        self._turn_tokens = max(before[0], tokens_in), max(before[1], tokens_out)
        self.tokens_in += self._turn_tokens[0] - before[0]
        self.tokens_out += self._turn_tokens[1] - before[1]
        self._used[TOKENS] = float(self.tokens_in + self.tokens_out)

    def account(self) -> dict[str, Any]:
        """What was used so far, as fields of a session's meta data."""
        return {
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cost_usd": self._used[USD] or None,
            "context_used": self.context[0],
            "context_size": self.context[1],
        }


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
    on_change: Callable[[], object] = lambda: None  # a turn begins or ends, a question comes or goes, the end
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
        before = self.failure
        with self.closing():
            if shown and not self.log.closed:
                self.log.append(shown)
            for consequence, cause in then:
                consequence(cause)
                if (
                    self.failure is not before
                ):  # the session collapsed in there: nothing more is done for the agent
                    return
            self.gate.record.flush()  # what the agent announced, before it gets another word of us
            self.link.flush()

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Whatever fails inside ends the session, with an alarm: a callback of the event loop would lose the error."""
        try:
            yield
        except Fail as problem:
            self._collapse(problem)
        except Exception as error:  # noqa: BLE001 - what is not known must end the session too
            self._collapse(self._failed(error))

    def changed(self) -> None:
        """A turn began or ended, a question came or went, or the session is over."""
        self.on_change()

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
        if problem is not None:
            self._collapse(problem if isinstance(problem, Fail) else self._failed(problem))

    def _failed(self, error: BaseException) -> Fail:
        return Fail("internal", "SESSION_FAILED", f"{type(error).__name__}: {error}", target=self.id)

    def _collapse(self, problem: Fail) -> None:
        if self.failure is None:
            self.failure = problem
            self.stop(problem.code, "host failure")
            if problem.code in ALARMING:
                with suppress(Fail):  # the session ends in any case
                    self.gate.record.alarm(problem.message, None, None)
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
        self.changed()
